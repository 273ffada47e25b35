package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// endsOf are the times at which stages ended, rising.
func endsOf(g *model.StageGraph) []float64 {
	var out []float64
	for _, s := range g.Stages {
		out = append(out, s.EndSeconds)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// atTime is an execution as its log told it at a time, in seconds: stages that had begun,
// those that ran without what they did later. It has no graph before the first stage.
func atTime(e *model.Execution, at float64) *model.Execution {
	out := *e
	out.Graph, out.Outcome, out.EndEstimated, out.InputBytes = nil, 0, true, 0
	// Logs are in milliseconds: 67.121 s must not become 67120 ms.
	out.End = e.Start.Add(time.Duration(math.Round(at*1e3)) * time.Millisecond)
	out.Executors = nil
	for _, x := range e.Executors {
		if x.AddedSeconds > at {
			continue
		}
		if x.RemovedSeconds > at {
			x.RemovedSeconds, x.Removed, x.Reason = at, false, ""
		}
		out.Executors = append(out.Executors, x)
	}
	var stages []model.Stage
	began := make(map[int]bool)
	for _, s := range e.Graph.Stages {
		if s.StartSeconds <= at {
			began[s.ID] = true
		}
	}
	for _, s := range e.Graph.Stages {
		if s.StartSeconds > at {
			continue
		}
		s.Parents = slices.DeleteFunc(slices.Clone(s.Parents), func(p int) bool { return !began[p] })
		if s.EndSeconds > at {
			s = model.Stage{
				ID: s.ID, Attempt: s.Attempt, Name: s.Name, Details: s.Details, Operators: s.Operators, Parents: s.Parents, Query: s.Query,
				Tasks: s.Tasks, StartSeconds: s.StartSeconds, EndSeconds: at, EndEstimated: true,
			}
		}
		out.InputBytes += s.InputBytes
		stages = append(stages, s)
	}
	if len(stages) > 0 {
		out.Graph = &model.StageGraph{Stages: stages}
	}
	return &out
}

// print says what was decided, where it is not what was said last.
func (f *follower) print(m *karasuv1.FollowCheckpointResponse) error {
	if f.json {
		raw, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
		if err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		var line bytes.Buffer
		// protojson varies its spaces on purpose; Compact settles them.
		if err := json.Compact(&line, raw); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		line.WriteByte('\n')
		_, err = f.app.stdout.Write(line.Bytes())
		return err
	}
	planned := plannedText(m, len(f.committed))
	if planned == f.said {
		return nil
	}
	text := followLine(m, planned)
	if f.decisions == 1 {
		text = "Sizes and times of what has not ended are from " + clean(m.GetBasis().GetSummary()) + ".\n" + text
		for _, n := range slices.Concat(m.GetBasis().GetAssumptions(), m.GetNotes()) {
			text += "Note: " + clean(n) + ".\n"
		}
	}
	f.said = planned
	if m.GetCommit() {
		for _, s := range m.GetPersist() {
			text += fmt.Sprintf("  Stage %d. %s\n", s.GetId(), clean(s.GetHow()))
			for line := range strings.SplitSeq(s.GetSnippet(), "\n") {
				if line != "" {
					text += "      " + clean(line) + "\n"
				}
			}
		}
	}
	_, err := fmt.Fprint(f.app.stdout, text)
	return err
}

func followLine(m *karasuv1.FollowCheckpointResponse, text string) string {
	return fmt.Sprintf("%-8s %d/%d stages  %s\n", instant(m.GetNowSeconds()), m.GetFinished(), m.GetStages(), text)
}

// plannedText is the decision in a line.
func plannedText(m *karasuv1.FollowCheckpointResponse, committed int) string {
	p := m.GetPlanned()
	if p == nil {
		if committed > 0 {
			return "nothing more to persist"
		}
		return "nothing to persist as of now"
	}
	var ids []uint32
	bytes := 0.0
	for _, s := range m.GetPersist() {
		ids = append(ids, s.GetId())
		bytes += s.GetBytes()
	}
	what := "nothing"
	if len(ids) > 0 {
		what = stageNumbers(ids) + " (" + amount(bytes) + ")"
	}
	worth := fmt.Sprintf("frees %s, restart %s instead of %s", percent(m.GetWorth().GetFreedShare()), instant(m.GetWorth().GetRestartSeconds()), instant(m.GetWorth().GetRestartWithoutSeconds()))
	switch {
	case m.GetCommit() && len(ids) == 0:
		return "PERSIST NOW nothing: no later stage reads what has ended, or it is persisted already; " + worth
	case m.GetCommit():
		return "PERSIST NOW " + what + "; " + worth
	}
	return fmt.Sprintf("plan: persist %s at the end of %s; %s", what, stageNumbers(m.GetMissing()), worth)
}
