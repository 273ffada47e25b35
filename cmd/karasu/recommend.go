package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

type recommendCmd struct {
	Job     string      `help:"Your own name of the job; its stored runs are used then." placeholder:"NAME"`
	Current *configFlag `help:"What the job runs on today, to compare with." placeholder:"CONFIG"`
	workloadFlags
	settingsFlags
	jsonFlag
}

// Help implements kong's interface for examples.
func (recommendCmd) Help() string {
	return `Answers at once from your runs and from what peers share. Without
--infrastructure, the one on which the algorithm is known is taken.

Examples:

  karasu recommend --framework spark --algorithm pagerank --target 15m
  karasu recommend --infrastructure aws-ec2 --framework spark --algorithm join \
      --input 200GB --objective energy --json`
}

// Run asks for a recommendation.
func (c recommendCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	w := c.workloadFlags.message(c.Job)
	if w.GetInfrastructure() == "" {
		if w.Infrastructure, err = knownInfrastructure(a, client, c.Framework, c.Algorithm); err != nil {
			return err
		}
		a.note("taking --infrastructure %s, on which this is known", clean(w.GetInfrastructure()))
	}
	settings, err := c.settingsFlags.message(a, w)
	if err != nil {
		return err
	}
	res, err := client.Recommend(a.ctx, connect.NewRequest(&karasuv1.RecommendRequest{Settings: settings, Current: c.current()}))
	if err != nil {
		return err
	}
	a.notePrices(settings, res.Msg.GetPredictions()...)
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		if res.Msg.GetLevelKnown() {
			printPredictions(w, settings, res.Msg.GetPredictions(), res.Msg.GetCurrent())
		} else {
			printRatios(w, res.Msg.GetPredictions(), res.Msg.GetCurrent())
		}
		printReasons(w, settings, res.Msg)
		if basis := res.Msg.GetBasis(); basis != "" {
			fmt.Fprintf(w, "\nRests on %s.\n", clean(strings.TrimSuffix(basis, ".")))
		}
		printWeights(w, res.Msg.GetWeights())
	})
}

func (c recommendCmd) current() *karasuv1.Configuration {
	if c.Current == nil {
		return nil
	}
	return c.Current.message()
}

// ranked numbers the predictions; the current configuration comes last, if any.
func ranked(predictions []*karasuv1.Prediction, current *karasuv1.Prediction, add func(rank string, p *karasuv1.Prediction)) {
	for i, p := range predictions {
		add(fmt.Sprint(i+1), p)
	}
	if current != nil {
		add("now", current)
	}
}

func printPredictions(w *bytes.Buffer, settings *karasuv1.SearchSettings, predictions []*karasuv1.Prediction, current *karasuv1.Prediction) {
	kept := "KEEPS " + strings.ToUpper(limitsOf(settings))
	t := newTable(">#", "CONFIGURATION", ">RUNTIME", ">80% FROM", ">TO", ">COST", ">ENERGY", ">CARBON", ">"+kept)
	ranked(predictions, current, func(rank string, p *karasuv1.Prediction) {
		t.add(rank, configuration(p.GetConfiguration()), seconds(p.GetRuntimeSeconds()),
			seconds(p.GetRuntimeLowSeconds()), seconds(p.GetRuntimeHighSeconds()),
			optional(p.CostUsd, dollars), optional(p.EnergyWh, energy), optional(p.CarbonG, carbon), optional(p.ProbabilityOfMeetingTarget, chance))
	})
	t.hideUnknown("COST", "ENERGY", "CARBON", kept).print(w, "No configuration can be recommended.")
}

// printRatios shows predictions relative to the first: all that means something while
// nothing says how long the job takes.
func printRatios(w *bytes.Buffer, predictions []*karasuv1.Prediction, current *karasuv1.Prediction) {
	t := newTable(">#", "CONFIGURATION", ">RUNTIME", ">COST")
	ranked(predictions, current, func(rank string, p *karasuv1.Prediction) {
		cost := unknown
		if best := predictions[0].CostUsd; best != nil && p.CostUsd != nil && *best > 0 {
			cost = times(p.GetCostUsd() / *best)
		}
		t.add(rank, configuration(p.GetConfiguration()), times(p.GetRuntimeSeconds()/predictions[0].GetRuntimeSeconds()), cost)
	})
	t.hideUnknown("COST").print(w, "No configuration can be recommended.")
}

// knownInfrastructure returns the only infrastructure on which the daemon knows
// the algorithm, or else the framework.
func knownInfrastructure(a *app, client karasuv1connect.KarasuServiceClient, framework, algorithm string) (string, error) {
	res, err := client.ListTopics(a.ctx, connect.NewRequest(&karasuv1.ListTopicsRequest{}))
	if err != nil {
		return "", err
	}
	same, alike := map[string]bool{}, map[string]bool{}
	for _, m := range res.Msg.GetTopics() {
		t, err := model.ParseTopic(m.GetName())
		if err != nil || !strings.EqualFold(t.Framework, framework) {
			continue
		}
		alike[t.Infrastructure] = true
		if strings.EqualFold(t.Algorithm, algorithm) {
			same[t.Infrastructure] = true
		}
	}
	for _, found := range []map[string]bool{same, alike} {
		switch names := slices.Sorted(maps.Keys(found)); len(names) {
		case 0:
		case 1:
			return names[0], nil
		default:
			return "", usagef("--infrastructure is missing, and several are known: %s", strings.Join(names, ", "))
		}
	}
	return "", &usageError{errors.New("--infrastructure is missing, such as aws-ec2, and nothing is known yet that would tell it")}
}
