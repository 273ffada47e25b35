package replay

import (
	"github.com/karasu-project/karasu/model/runtime/bell"
	"github.com/karasu-project/karasu/model/runtime/bellamy"
	"github.com/karasu-project/karasu/model/runtime/c3o"
	"github.com/karasu-project/karasu/model/runtime/ernest"
	"github.com/karasu-project/karasu/model/runtime/structured"
)

// Default is the name of the default model in reports.
const Default = "default"

const (
	// sharedFolds of models of which a fit takes seconds: their targets in the full
	// protocol see nine tenths of the contexts.
	sharedFolds = 10
	// slowSplits of C3O's protocols for C3O, which cross-validates four models in each.
	slowSplits = 30
)

// Models returns all models, the default first.
func Models() []Model {
	contexts := []string{Full, Filtered, Bell}
	models := []Model{
		{Learner: structured.New(Default, structured.Options{})},
		{Learner: structured.New("local", structured.Options{LocalOnly: true}), Protocols: contexts},
		{Learner: ernest.Learner{}, Protocols: contexts},
		{Learner: ernest.Learner{Relative: true}, Protocols: contexts},
		{Learner: bell.Learner{}, Protocols: contexts},
		{Learner: c3o.Learner{}, Folds: sharedFolds, Splits: slowSplits},
	}
	for _, v := range bellamy.Variants {
		models = append(models, Model{Learner: bellamy.Learner{Variant: v}, Folds: sharedFolds, Protocols: contexts})
	}
	return models
}
