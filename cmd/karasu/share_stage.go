package main

import (
	"bytes"
	"fmt"
	"strings"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// stageReveals says in words what a stage model tells its readers.
const stageReveals = `  It tells about how long stages of your jobs take and how much they write, in seconds and
  bytes, by the public operators of their plans, the shape of their graphs, the sizes of
  what they read, task slots and hosts. It holds no job, plan, table, path, call site,
  operator of your own or run; each number is a mean over at least five stages, or a
  threshold drawn at random between two of them.
`

// printStage prints a general predictor of stages and what it tells.
func printStage(w *bytes.Buffer, m *karasuv1.StageModel, e *karasuv1.StageExtent) {
	fmt.Fprintf(w, "  %s of about %s and %s: %s, %s\n", clean(m.GetFamily()), counted(1<<m.GetJobsLog2(), "job"), counted(1<<m.GetStagesLog2(), "stage"),
		counted(int(e.GetTrees()), "tree"), counted(int(e.GetNumbers()), "number"))
	output := "no outputs"
	if e.GetLargestOutputBytes() > 0 {
		output = fmt.Sprintf("outputs of %s to %s", size(e.GetLeastOutputBytes()), size(e.GetLargestOutputBytes()))
	}
	fmt.Fprintf(w, "  durations of %s to %s, task times of %s to %s, %s\n",
		seconds(e.GetLeastDurationSeconds()), seconds(e.GetLargestDurationSeconds()),
		seconds(e.GetLeastTaskSeconds()), seconds(e.GetLargestTaskSeconds()), output)
	fmt.Fprintf(w, "  operators %s\n\n%s  All values: --json.\n", dash(strings.Join(e.GetOperators(), ", ")), stageReveals)
}
