package main

import (
	"bytes"
	"fmt"
	"strings"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// runtimeReveals says in words what a runtime model tells its readers.
const runtimeReveals = `  It tells about how long your runs of this algorithm take in seconds, on which kinds of
  machine (vCPUs and memory), numbers of nodes, input sizes and arguments, with the
  arguments' names; a number that is the same in all runs leaves as it is. It holds no
  job, data set, machine type's name, text value or run.
`

// printRuntime prints a general runtime model and what it tells.
func printRuntime(w *bytes.Buffer, m *karasuv1.RuntimeModel, e *karasuv1.RuntimeExtent) {
	fmt.Fprintf(w, "  %s of about %s and %s: %s, %s\n", clean(m.GetFamily()), counted(1<<m.GetContextsLog2(), "context"), counted(1<<m.GetRunsLog2(), "run"),
		counted(int(e.GetPoints()), "made-up point"), counted(len(m.GetValues()), "value"))
	fmt.Fprintf(w, "  inputs of %s to %s, %.4g to %.4g nodes, runtimes of %s to %s\n",
		size(e.GetLeastInputBytes()), size(e.GetLargestInputBytes()), e.GetLeastScaleOut(), e.GetLargestScaleOut(),
		seconds(e.GetLeastRuntimeSeconds()), seconds(e.GetLargestRuntimeSeconds()))
	var arguments []string
	for i, a := range m.GetArguments() {
		text := clean(a.GetName())
		switch extent := e.GetArguments(); {
		case a.GetText():
			text += " (a text)"
		case i < len(extent):
			text += fmt.Sprintf(" from %.3g to %.3g", extent[i].GetLeast(), extent[i].GetLargest())
		}
		if a.GetOptional() {
			text += ", optional"
		}
		arguments = append(arguments, text)
	}
	fmt.Fprintf(w, "  arguments %s\n\n%s  All values: --json.\n", dash(strings.Join(arguments, "; ")), runtimeReveals)
}
