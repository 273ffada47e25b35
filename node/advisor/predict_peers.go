package advisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/store/commons"
)

// RuntimeModels is what the advisor needs of the general models that peers share:
// those that can be used for a question and, with the reason, those that cannot.
type RuntimeModels interface {
	For(topic model.Topic, self commons.Writer, fits func(*predict.Weights) error) (usable, skipped []commons.RuntimeModel, err error)
}

// peerModel is a general model that a peer trained.
type peerModel struct {
	organisation, author, id string
	// weights may be nil, and general is, where err says why it cannot be used.
	weights *predict.Weights
	general predict.General
	err     error
}

// runtimeModels returns the models that peers share of a workload's topic, usable ones first, and
// the infrastructures of those that they share of the same algorithm elsewhere. Levels
// there are others, so that these models are not used.
func (a *Advisor) runtimeModels(w model.Workload) (models []*peerModel, elsewhere []string, err error) {
	topic := w.Topic()
	usable, skipped, err := a.RuntimeModels.For(topic, a.Self, func(m *predict.Weights) error { return lackingFor(w, m) })
	if err != nil {
		return nil, nil, err
	}
	for _, m := range slices.Concat(usable, skipped) {
		if m.Topic != topic {
			if m.Err == nil {
				elsewhere = append(elsewhere, m.Topic.Infrastructure)
			}
			continue
		}
		models = append(models, &peerModel{
			organisation: m.Organisation, author: m.Author.String(), id: m.ID.String(), weights: m.Weights, general: m.General, err: m.Err,
		})
	}
	slices.Sort(elsewhere)
	return models, slices.Compact(elsewhere), nil
}

// onElsewhere hints at infrastructures of which models are shared; "" for none.
func onElsewhere(infrastructures []string) string {
	if len(infrastructures) == 0 {
		return ""
	}
	return fmt.Sprintf(" (but of %s)", strings.Join(infrastructures, ", "))
}
