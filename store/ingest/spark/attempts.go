package spark

import (
	"strconv"

	"github.com/karasu-project/karasu/model"
)

// MarkSuperseded sets the outcome of attempts that a later one followed: a resource
// manager starts an application again only where it failed. The log of such an attempt
// does not tell that, as the driver ends in order after its program has thrown. It
// returns those that it changed.
func MarkSuperseded(list []*model.Execution) []*model.Execution {
	latest := make(map[string]int)
	for _, e := range list {
		if n, ok := attemptNumber(e); ok {
			latest[e.ApplicationID] = max(latest[e.ApplicationID], n)
		}
	}
	var changed []*model.Execution
	for _, e := range list {
		if n, ok := attemptNumber(e); ok && n < latest[e.ApplicationID] && e.Outcome != model.Failed {
			e.Outcome = model.Failed
			changed = append(changed, e)
		}
	}
	return changed
}

// attemptNumber returns the number of an attempt; false where the application has none.
func attemptNumber(e *model.Execution) (int, bool) {
	n, err := strconv.Atoi(e.Attempt)
	return n, err == nil && e.Framework == "spark"
}
