package main

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Size of a terminal scatter chart, in characters.
const (
	scatterWidth  = 60
	scatterHeight = 12
)

// Marks of runs, the one that is drawn over others last.
const (
	markInvalid = '×'
	markValid   = '○'
	markFront   = '●'
)

// scatter draws runs by two objectives, both axes logarithmic: configurations
// differ by factors. n >= 1.
func scatter(runs []plotted, x, y string) string {
	xs, ys := make([]float64, len(runs)), make([]float64, len(runs))
	for i, r := range runs {
		xs[i], ys[i] = r.x, r.y
	}
	h, v := newAxis(xs, scatterWidth), newAxis(ys, scatterHeight)
	grid := make([][]rune, scatterHeight)
	for row := range grid {
		grid[row] = []rune(strings.Repeat(" ", scatterWidth))
	}
	for _, mark := range []rune{markInvalid, markValid, markFront} {
		for _, r := range runs {
			if r.mark() == mark {
				grid[scatterHeight-1-v.place(r.y)][h.place(r.x)] = mark
			}
		}
	}
	low, high := objective(y, v.low), objective(y, v.high)
	label := max(utf8.RuneCountInString(low), utf8.RuneCountInString(high))
	var b strings.Builder
	for row, line := range grid {
		text := ""
		switch row {
		case 0:
			text = high
		case scatterHeight - 1:
			text = low
		}
		fmt.Fprintf(&b, " %*s ┤%s\n", label, text, strings.TrimRight(string(line), " "))
	}
	left, right := objective(x, h.low), objective(x, h.high)
	fmt.Fprintf(&b, " %*s └%s\n", label, "", strings.Repeat("─", scatterWidth))
	fmt.Fprintf(&b, " %*s  %s%*s\n", label, "", left, scatterWidth-utf8.RuneCountInString(left), right)
	fmt.Fprintf(&b, " %*s  %s against %s: %c front, %c valid, %c not valid\n", label, "", y, x, markFront, markValid, markInvalid)
	return b.String()
}

func (p plotted) mark() rune {
	switch {
	case p.front:
		return markFront
	case p.valid:
		return markValid
	}
	return markInvalid
}

// axis maps values above zero to cells, evenly by their logarithm.
type axis struct {
	low, high float64
	cells     int
}

func newAxis(values []float64, cells int) axis {
	a := axis{math.Inf(1), math.Inf(-1), cells}
	for _, v := range values {
		a.low, a.high = min(a.low, v), max(a.high, v)
	}
	return a
}

// place returns the cell of a value within the axis; the middle one where all are equal.
func (a axis) place(v float64) int {
	if !(a.high > a.low) {
		return a.cells / 2
	}
	share := math.Log(v/a.low) / math.Log(a.high/a.low)
	return min(max(int(math.Round(share*float64(a.cells-1))), 0), a.cells-1)
}
