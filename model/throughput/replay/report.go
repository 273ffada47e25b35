package replay

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Row is how far off predictions of one job on one machine type are.
type Row struct {
	// Job is "network/mode/batch", without the batch where they are pooled, or All.
	Job string `json:"job"`
	// MachineType, or Larger or Small.
	MachineType string `json:"machine_type"`
	Protocol    string `json:"protocol"`
	// Points that were seen.
	Points int    `json:"points"`
	Prior  string `json:"prior"`
	// MedianAPE is the median of absolute errors of predicted speed, as a share of it.
	MedianAPE float64 `json:"median_ape"`
	// Predictions that it is the median of.
	Predictions int `json:"predictions"`
}

// scores collects errors by row, in the order in which rows came first.
type scores struct {
	order  []scoreKey
	errors map[scoreKey][]float64
}

type scoreKey struct {
	trial
	job, machineType string
}

func (s *scores) add(t trial, g group, err float64) {
	half := Small
	if cores[g.machineType] >= cores["t2.xlarge"] {
		half = Larger
	}
	for _, k := range []scoreKey{{t, All, half}, {t, All, g.machineType}, {t, g.job, g.machineType}} {
		if s.errors == nil {
			s.errors = map[scoreKey][]float64{}
		}
		if _, ok := s.errors[k]; !ok {
			s.order = append(s.order, k)
		}
		s.errors[k] = append(s.errors[k], err)
	}
}

func (s *scores) rows() []Row {
	out := make([]Row, 0, len(s.order))
	for _, k := range s.order {
		out = append(out, Row{k.job, k.machineType, k.protocol, k.points, k.prior, median(s.errors[k]), len(s.errors[k])})
	}
	return out
}

// Print writes the rows over all jobs, one line a protocol, errors in percent.
func Print(w io.Writer, rows []Row) error {
	machines := []string{"t2.2xlarge", "t2.xlarge", "t2.medium", "t2.small", Larger, Small}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(t, "points seen\tprior\t")
	for _, m := range machines {
		_, _ = fmt.Fprintf(t, "%s\t", m)
	}
	_, _ = fmt.Fprintln(t)
	for _, x := range trials {
		_, _ = fmt.Fprintf(t, "%s %d\t%s\t", x.protocol, x.points, x.prior)
		for _, m := range machines {
			cell := "-"
			for _, r := range rows {
				if r.Job == All && r.MachineType == m && r.Protocol == x.protocol && r.Points == x.points && r.Prior == x.prior {
					cell = fmt.Sprintf("%.1f%%", 100*r.MedianAPE)
				}
			}
			_, _ = fmt.Fprintf(t, "%s\t", cell)
		}
		_, _ = fmt.Fprintln(t)
	}
	return t.Flush()
}
