package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// unknown stands in tables for what nobody knows.
const unknown = "-"

// seconds prints a time for people: 13m20s, 45.2s, 350ms; 0 is unknown.
func seconds(s float64) string {
	switch {
	case s == 0:
		return unknown
	case s < 1:
		return strconv.FormatFloat(math.Round(s*1e6)/1e3, 'g', 3, 64) + "ms"
	case s < 59.95:
		return strconv.FormatFloat(math.Round(s*10)/10, 'f', -1, 64) + "s"
	case s > time.Duration(math.MaxInt64).Seconds():
		return fmt.Sprintf("%.3gy", s/(365*24*3600))
	}
	return time.Duration(math.Round(s) * 1e9).String()
}

// dollars prints an amount in cents from a dollar on, in tenths of a cent from a cent on,
// and below with two digits that mean something, down to a millionth.
func dollars(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return "$" + humanize.CommafWithDigits(math.Round(v), 0)
	case a >= 0.9995:
		return fmt.Sprintf("$%.2f", v)
	case a >= 0.00995:
		return fmt.Sprintf("$%.3f", v)
	case a == 0:
		return "$0"
	case a < 1e-6:
		return "<$0.000001"
	}
	digits := 1 - int(math.Floor(math.Log10(math.Abs(v)))) // two that are not zero
	return "$" + strconv.FormatFloat(v, 'f', digits, 64)
}

// energy prints watt-hours.
func energy(wh float64) string {
	if wh >= 1000 {
		return fmt.Sprintf("%.2f kWh", wh/1000)
	}
	return fmt.Sprintf("%.3g Wh", wh)
}

// carbon prints grams of CO2 equivalent.
func carbon(g float64) string {
	if g >= 1000 {
		return fmt.Sprintf("%.2f kg", g/1000)
	}
	return fmt.Sprintf("%.3g g", g)
}

// objective prints a value of an objective in its unit.
func objective(name string, v float64) string {
	switch name {
	case "runtime":
		return seconds(v)
	case "energy":
		return energy(v)
	case "carbon":
		return carbon(v)
	}
	return dollars(v)
}

// size prints bytes; 0 is unknown.
func size(bytes float64) string {
	if !(bytes > 0 && bytes < math.MaxUint64) {
		return unknown
	}
	return humanize.Bytes(uint64(bytes))
}

// percent prints a share; what is not all of it, or nothing, is not called so.
func percent(share float64) string {
	switch {
	case share > 0 && share < 0.01:
		return "<1%"
	case share > 0.99 && share < 1:
		return ">99%"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// chance prints a probability, which is never certain.
func chance(p float64) string { return percent(min(max(p, math.SmallestNonzeroFloat64), 1-1e-9)) }

// times prints a ratio: x 0.97, x 0.0012.
func times(ratio float64) string {
	if ratio > 0 && ratio < 0.1 {
		return fmt.Sprintf("x %.2g", ratio)
	}
	return fmt.Sprintf("x %.2f", ratio)
}

// listed is "cost, runtime and energy".
func listed(names []string) string {
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

func configuration(c *karasuv1.Configuration) string {
	return fmt.Sprintf("%dx%s", c.GetScaleOut(), c.GetMachineType())
}

// optional prints a value that may be absent.
func optional(v *float64, print func(float64) string) string {
	if v == nil {
		return unknown
	}
	return print(*v)
}

func outcome(o karasuv1.Outcome) string {
	switch o {
	case karasuv1.Outcome_OUTCOME_OK:
		return "ok"
	case karasuv1.Outcome_OUTCOME_FAILED:
		return "failed"
	case karasuv1.Outcome_OUTCOME_TIMEOUT:
		return "timeout"
	}
	return unknown
}

func number(n uint32) string { return humanize.Comma(int64(n)) }

// counted is "1 run", "2 runs".
func counted[N int | uint32](n N, one string) string { return plural(n, one, one+"s") }

// plural is "1 search", "2 searches".
func plural[N int | uint32](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(int64(n)) + " " + many
}
