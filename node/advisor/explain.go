package advisor

import (
	"errors"
	"fmt"

	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// explained adds to an error of a search what to do about it, where that is known.
func explained(err error) error {
	switch {
	case errors.Is(err, search.ErrUnknownPrice):
		return fmt.Errorf("%w; search with --objective runtime and without a budget, or give prices in a catalog file ([catalog] in config.toml)", err)
	case errors.Is(err, search.ErrUnknownPower):
		return fmt.Errorf("%w; search with --objective cost or runtime, or give idle and full watts in a catalog file ([catalog] in config.toml)", err)
	case errors.Is(err, search.ErrUnknownGrid):
		return fmt.Errorf("%w; name one with --region, or search with --objective energy", err)
	case errors.Is(err, search.ErrUnsupported):
		return err // its words are for users
	}
	return fmt.Errorf("evaluate search: %w", err)
}

// noneOf says what no run did: "none of 3 runs " and the past, or "the only run has
// not " and the participle.
func noneOf(runs int, past, participle string) string {
	if runs == 1 {
		return "the only run has not " + participle
	}
	return fmt.Sprintf("none of %d runs %s", runs, past)
}

// restsOn says how much of a suggestion other workloads' runs decide, and whose.
func restsOn(weights []*karasuv1.Weight) string {
	own, peers, predicted := 0.0, 0.0, 0.0
	for _, w := range weights {
		switch w.GetOrigin() {
		case ownPrior, othersLevel: // the level is told apart
		case ownHistory:
			own += w.GetShare()
		case foresight:
			predicted += w.GetShare()
		default:
			peers += w.GetShare()
		}
	}
	whose := "other workloads' knowledge"
	if own > 0 && peers == 0 {
		whose = "knowledge of your own other workloads"
	}
	text := fmt.Sprintf("%.0f%% of the weight is %s", 100*(own+peers), whose)
	if predicted > 0 {
		text += fmt.Sprintf(" and %.0f%% a prediction of the job's runtimes", 100*predicted)
	}
	return text
}

// smallWeight is not worth mentioning.
const smallWeight = 0.005
