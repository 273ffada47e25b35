package advisor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
)

// ErrMachinesGone means that the catalog no longer knows any machine type of a stored
// search.
var ErrMachinesGone = errors.New("no machine type of the search is in the catalog any more")

// unknownMachine reports whether the catalog does not know a machine type (or all of
// its infrastructure).
func unknownMachine(err error) bool {
	return errors.Is(err, catalog.ErrUnknownMachineType) || errors.Is(err, catalog.ErrUnknownInfrastructure)
}

// gone lists the machine types of a stored search that the catalog no longer knows, of
// its candidates and of its runs.
func (a *Advisor) gone(t *task) []string {
	if !t.stored {
		return nil
	}
	names := slices.Clone(t.settings.GetMachineTypes())
	for _, c := range t.settings.GetConfigurations() {
		names = append(names, c.GetMachineType())
	}
	for i := range t.runs {
		names = append(names, t.runs[i].Configuration.MachineType)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		_, err := a.Catalog.Lookup(t.workload.Infrastructure, name)
		return !unknownMachine(err)
	})
}

// present leaves out what is on machine types that are gone.
func present[T any](gone []string, all []T, machine func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool { return slices.Contains(gone, machine(x)) })
}

// machinesGone is the error of a search of which no candidate is left.
func machinesGone(t *task, gone []string) error {
	return fmt.Errorf("%w (%s): put them back into the catalog file ([catalog] in config.toml), or give the search up with `karasu search delete --job %s`",
		ErrMachinesGone, strings.Join(gone, ", "), shellWord(t.workload.Job))
}

// withoutGone says that a search goes on without some machine types; "" where it has all.
func withoutGone(gone []string) string {
	if len(gone) == 0 {
		return ""
	}
	return "not in the catalog any more, so the search goes on without them: " + strings.Join(gone, ", ") + "; a catalog file ([catalog] in config.toml) can bring them back"
}

// notes says what else is to be known of a search.
func (a *Advisor) notes(t *task, e *search.Evaluation, p *search.Problem) []string {
	var out []string
	if text := withoutGone(a.gone(t)); text != "" {
		out = append(out, text)
	}
	if e.Incumbent >= 0 {
		if text := mixedOutcomes(t.runs, p.Candidates[e.Incumbent].Configuration); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// mixedOutcomes says that some runs of the incumbent gave no result.
func mixedOutcomes(runs []model.Run, c model.Configuration) string {
	bad, all := 0, 0
	for i := range runs {
		if runs[i].Configuration != c {
			continue
		}
		all++
		if runs[i].Outcome != model.OK {
			bad++
		}
	}
	if bad == 0 {
		return ""
	}
	return fmt.Sprintf("%s, the best so far, gave no result in %d of its %d runs; it counts as long as more runs end well than do not, so repeat it before you rely on it", c, bad, all)
}
