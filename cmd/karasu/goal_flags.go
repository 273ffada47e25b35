package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/optimizer/search"
)

// goals are one to three objectives, separated by commas.
type goals string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (g *goals) UnmarshalText(text []byte) error {
	objectives, err := search.ParseObjectives(string(text))
	switch {
	case errors.Is(err, search.ErrUnknownObjective):
		return fmt.Errorf("must be one of cost, runtime, energy, carbon, or two or three of them separated by commas: %q", text)
	case err != nil:
		return fmt.Errorf("must be up to %d different ones: %q", search.MaxObjectives, text)
	}
	names := make([]string, len(objectives))
	for i, o := range objectives {
		names[i] = string(o)
	}
	*g = goals(strings.Join(names, ","))
	return nil
}

// usd is an amount above zero: 2.50 or $2.50.
type usd float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (u *usd) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(string(text)), "$"), 64)
	if err != nil || !(v > 0 && v < 1e9) {
		return fmt.Errorf("must be an amount in USD above zero, such as 2.50: %q", text)
	}
	*u = usd(v)
	return nil
}

// share is a probability of a half or more: 0.95 or 95%.
type share float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= .5 && v < 1) {
		return fmt.Errorf("must be at least 0.5 and below 1, such as 0.95 or 95%%: %q", text)
	}
	*s = share(v)
	return nil
}

// primary is the first of a search's objectives: the one that its best run is best at.
func primary(objectives string) string {
	first, _, _ := strings.Cut(objectives, ",")
	return first
}

// several says whether a search is for more than one objective.
func several(objectives string) bool { return strings.Contains(objectives, ",") }
