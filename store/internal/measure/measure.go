// Package measure converts resource metrics to and from their wire form, for
// private runs and shared summaries alike.
package measure

import (
	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// ToProto returns nil where nothing was measured.
func ToProto(m model.Metrics) *karasuv1.ResourceMetrics {
	if m == (model.Metrics{}) {
		return nil
	}
	return &karasuv1.ResourceMetrics{
		Cpu: toProto(m.CPU), Memory: toProto(m.Memory), Disk: toProto(m.Disk), Network: toProto(m.Network),
	}
}

// FromProto reverses [ToProto]. It checks nothing: model.Metrics.Validate does.
func FromProto(m *karasuv1.ResourceMetrics) model.Metrics {
	return model.Metrics{
		CPU: fromProto(m.GetCpu()), Memory: fromProto(m.GetMemory()),
		Disk: fromProto(m.GetDisk()), Network: fromProto(m.GetNetwork()),
	}
}

func toProto(p *model.Percentiles) *karasuv1.Percentiles {
	if p == nil {
		return nil
	}
	return &karasuv1.Percentiles{P10: p.P10, P50: p.P50, P90: p.P90}
}

func fromProto(p *karasuv1.Percentiles) *model.Percentiles {
	if p == nil {
		return nil
	}
	return &model.Percentiles{P10: p.GetP10(), P50: p.GetP50(), P90: p.GetP90()}
}
