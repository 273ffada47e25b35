package share

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// maxBody is what an envelope leaves for the body: topic, key and organisation
	// have at most 160 + 128 + 64 bytes, public key, type and signature some 130,
	// numbers and lengths some 60.
	maxBody = commons.MaxEnvelope - 1<<10
	// configurationsField is the number of RunSummary.configurations.
	configurationsField = protowire.Number(3)
	// summaryRest bounds the bytes of a summary beside its configurations.
	summaryRest = 128
)

// fit makes a summary small enough for a record: without metrics, and where that
// does not do with the configurations that have most runs.
func fit(s *model.Summary) {
	if proto.Size(commons.EncodeSummary(*s)) <= maxBody {
		return
	}
	dropMetrics(s)
	encoded := map[model.Configuration]int{}
	for _, c := range commons.EncodeSummary(*s).GetConfigurations() {
		encoded[configurationOf(c)] = protowire.SizeTag(configurationsField) + protowire.SizeBytes(proto.Size(c))
	}
	size := summaryRest
	before := len(s.Points)
	keepMost(s, func(_ int, p model.Point) bool {
		size += encoded[p.Configuration]
		return size <= maxBody
	})
	if len(s.Points) < before {
		center(s)
	}
}

func configurationOf(c *karasuv1.ConfigurationSummary) model.Configuration {
	return model.Configuration{MachineType: c.GetMachineType(), ScaleOut: int(c.GetScaleOut())}
}

func dropMetrics(s *model.Summary) {
	for i := range s.Points {
		s.Points[i].Metrics = model.Metrics{}
	}
}

// keepMost keeps the points with most runs, by name among equals, for as long as
// fits says so, and leaves them in the order of their names. Each call has the number
// of points before it.
func keepMost(s *model.Summary, fits func(i int, p model.Point) bool) {
	runs := func(p model.Point) int { return p.OK + p.Timeout + p.Failed }
	points := slices.Clone(s.Points)
	slices.SortFunc(points, func(a, b model.Point) int { return cmp.Or(cmp.Compare(runs(b), runs(a)), byName(a, b)) })
	for i, p := range points {
		if !fits(i, p) {
			points = points[:i]
			break
		}
	}
	slices.SortFunc(points, byName)
	s.Points = points
}
