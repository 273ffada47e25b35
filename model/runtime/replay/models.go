package replay

import (
	"github.com/karasu-project/karasu/model/runtime"
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
	pretrained := Model{Learner: bellamy.Learner{}, Folds: sharedFolds, Protocols: contexts}
	for _, v := range bellamy.Variants {
		if name := (bellamy.Learner{Variant: v}).Name(); name != pretrained.Learner.Name() && v != bellamy.Local {
			pretrained.Derived = append(pretrained.Derived, Derived{name, func(g predict.General) predict.General {
				return g.(*bellamy.General).With(v)
			}})
		}
	}
	return []Model{
		{Learner: structured.New(Default, structured.Options{}), Import: load},
		{Learner: structured.New("local", structured.Options{LocalOnly: true}), Protocols: contexts},
		{Learner: ernest.Learner{}, Protocols: contexts},
		{Learner: ernest.Learner{Relative: true}, Protocols: contexts},
		{Learner: bell.Learner{}, Protocols: contexts},
		{Learner: c3o.Learner{}, Folds: sharedFolds, Splits: slowSplits},
		pretrained,
		{Learner: bellamy.Learner{Variant: bellamy.Local}, Folds: sharedFolds, Protocols: contexts},
	}
}

// load turns the default's weights into a general model.
func load(w *predict.Weights) (predict.General, error) {
	g, err := structured.FromWeights(w, structured.Options{})
	if err != nil {
		return nil, err
	}
	return g, nil
}
