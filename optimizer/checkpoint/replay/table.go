package replay

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable prints the report: what plans from predictions free beside the optimum, how
// close cuts come to the best known one, what they save of lost work, and how long they take.
func (r Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(format string, values ...any) { _, _ = fmt.Fprintf(t, format, values...) } // Flush reports it
	if len(r.Predicted) > 0 {
		row("data\tbudget\tplan from predictions\tmean ratio\tmedian\tbroken\tno plan\tgraphs\t\n")
	}
	for _, p := range r.Predicted {
		row("%s\t%s\t%s\t%.3f\t%.3f\t%.0f%%\t%.0f%%\t%d\t\n", p.Data, budgetName(p.Budget), p.Plan, p.MeanRatio, p.MedianRatio, 100*p.Broken, 100*p.Without, p.Graphs)
	}
	if len(r.Optimality) > 0 {
		if len(r.Predicted) > 0 {
			row("\n")
		}
		row("data\tbudget\tmethod\tmean ratio\tleast\tfreed\tproven\tlargest gap\tmean ms\tmost\t\n")
	}
	for _, o := range r.Optimality {
		row("%s\t%s\t%s\t%.4f\t%.3f\t%.3f\t%.0f%%\t%.4f\t%.2f\t%.1f\t\n", o.Data, budgetName(o.Budget), o.Method, o.MeanRatio, o.MinRatio, o.Freed, 100*o.Proven, o.MaxGap, o.MeanMS, o.MaxMS)
	}
	if len(r.Restart) > 0 {
		row("\ndata\tfailures\tpolicy\tlost s\tsaved\tspeed-up\toverhead\t\n")
	}
	for _, s := range r.Restart {
		row("%s\t%s\t%s\t%.1f\t%.0f%%\t%.2f\t%.1f%%\t\n", s.Data, s.Failures, s.Policy, s.RestartSeconds, 100*s.Reduction, s.Speedup, 100*s.Overhead)
	}
	if len(r.Latency) > 0 {
		row("\nstages\tmethod\tms\tgap\t\n")
	}
	for _, l := range r.Latency {
		row("%d\t%s\t%.2f\t%.4f\t\n", l.Stages, l.Method, l.MS, l.Gap)
	}
	return t.Flush()
}

func budgetName(share float64) string {
	if share < 0 {
		return "none"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}
