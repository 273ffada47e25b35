package wire

import (
	"fmt"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// fromGraph keeps each text once.
func fromGraph(g *model.StageGraph) *karasuv1.StageGraph {
	if g == nil {
		return nil
	}
	m := &karasuv1.StageGraph{}
	at := map[string]uint32{"": 0}
	text := func(s string) uint32 {
		i, known := at[s]
		if !known {
			m.Texts = append(m.Texts, s)
			i = uint32(len(m.Texts))
			at[s] = i
		}
		return i
	}
	for _, s := range g.Stages {
		out := &karasuv1.Stage{
			Id: uint64(s.ID), Attempt: uint32(s.Attempt), Name: text(s.Name), Details: text(s.Details), Query: uint64(s.Query + 1),
			Tasks: uint64(s.Tasks), Finished: uint64(s.Finished), FailedTasks: uint64(s.FailedTasks),
			StartSeconds: s.StartSeconds, EndSeconds: s.EndSeconds, EndEstimated: s.EndEstimated, Outcome: outcomeText(s.Outcome),
			TaskSeconds: s.TaskSeconds, RunSeconds: s.RunSeconds, CpuSeconds: s.CPUSeconds, GcSeconds: s.GCSeconds,
			InputBytes: s.InputBytes, InputRecords: s.InputRecords, OutputBytes: s.OutputBytes, OutputRecords: s.OutputRecords,
			ShuffleReadBytes: s.ShuffleReadBytes, ShuffleReadRecords: s.ShuffleReadRecords,
			ShuffleWriteBytes: s.ShuffleWriteBytes, ShuffleWriteRecords: s.ShuffleWriteRecords,
			SpillMemoryBytes: s.SpillMemoryBytes, SpillDiskBytes: s.SpillDiskBytes,
		}
		for _, o := range s.Operators {
			out.Operators = append(out.Operators, text(o))
		}
		for _, p := range s.Parents {
			out.Parents = append(out.Parents, uint64(p))
		}
		m.Stages = append(m.Stages, out)
	}
	return m
}

// toGraph checks what has no place in the model; the rest is for its Validate.
func toGraph(m *karasuv1.StageGraph) (*model.StageGraph, error) {
	if m == nil {
		return nil, nil
	}
	if len(m.GetStages()) > model.MaxStages {
		return nil, &model.FieldError{Field: "stages", Problem: fmt.Sprintf("are more than %d: %d", model.MaxStages, len(m.GetStages()))}
	}
	text := func(i uint32) (string, error) {
		if int(i) > len(m.GetTexts()) {
			return "", &model.FieldError{Field: "stages", Problem: fmt.Sprintf("point at text %d of %d", i, len(m.GetTexts()))}
		}
		if i == 0 {
			return "", nil
		}
		return m.GetTexts()[i-1], nil
	}
	g := &model.StageGraph{Stages: make([]model.Stage, 0, len(m.GetStages()))}
	for _, s := range m.GetStages() {
		err := counts(map[string]uint64{"stage": s.GetId(), "query": s.GetQuery(), "tasks": s.GetTasks(), "finished tasks": s.GetFinished(), "failed tasks": s.GetFailedTasks()})
		if err != nil {
			return nil, err
		}
		out := model.Stage{
			ID: int(s.GetId()), Attempt: int(s.GetAttempt()), Query: int(s.GetQuery()) - 1,
			Tasks: int(s.GetTasks()), Finished: int(s.GetFinished()), FailedTasks: int(s.GetFailedTasks()),
			StartSeconds: s.GetStartSeconds(), EndSeconds: s.GetEndSeconds(), EndEstimated: s.GetEndEstimated(),
			TaskSeconds: s.GetTaskSeconds(), RunSeconds: s.GetRunSeconds(), CPUSeconds: s.GetCpuSeconds(), GCSeconds: s.GetGcSeconds(),
			InputBytes: s.GetInputBytes(), InputRecords: s.GetInputRecords(), OutputBytes: s.GetOutputBytes(), OutputRecords: s.GetOutputRecords(),
			ShuffleReadBytes: s.GetShuffleReadBytes(), ShuffleReadRecords: s.GetShuffleReadRecords(),
			ShuffleWriteBytes: s.GetShuffleWriteBytes(), ShuffleWriteRecords: s.GetShuffleWriteRecords(),
			SpillMemoryBytes: s.GetSpillMemoryBytes(), SpillDiskBytes: s.GetSpillDiskBytes(),
		}
		if out.Outcome, err = parseOutcome(s.GetOutcome()); err != nil {
			return nil, err
		}
		if out.Name, err = text(s.GetName()); err != nil {
			return nil, err
		}
		if out.Details, err = text(s.GetDetails()); err != nil {
			return nil, err
		}
		for _, o := range s.GetOperators() {
			name, err := text(o)
			if err != nil {
				return nil, err
			}
			out.Operators = append(out.Operators, name)
		}
		for _, p := range s.GetParents() {
			if err := counts(map[string]uint64{"parent": p}); err != nil {
				return nil, err
			}
			out.Parents = append(out.Parents, int(p))
		}
		g.Stages = append(g.Stages, out)
	}
	return g, nil
}
