package percentile

import (
	"math"
	"testing"

	"github.com/karasu-project/karasu/model"
)

func TestShares(t *testing.T) {
	var ten []Sample
	for i := 10; i > 0; i-- {
		ten = append(ten, Sample{float64(i) / 10, 2})
	}
	if got := Shares(ten); *got != (model.Percentiles{P10: .1, P50: .5, P90: .9}) {
		t.Errorf("%+v", got)
	}
	if ten[0].Value != 1 {
		t.Error("sorts what is the caller's")
	}
	// Half of the weight is below a half.
	if got := Shares([]Sample{{.2, 5}, {.9, 1}, {1.5, 4}, {math.NaN(), 100}, {.5, 0}, {math.Inf(1), 3}}); *got != (model.Percentiles{P10: .2, P50: .2, P90: 1}) {
		t.Errorf("%+v", got)
	}
	if Shares(nil) != nil || Shares([]Sample{{math.NaN(), 1}}) != nil || Distribution(nil) != (model.Distribution{}) {
		t.Error("percentiles of nothing")
	}
	if got := Distribution([]Sample{{300, 1}, {100, 1}, {200, 1}}); got != (model.Distribution{P10: 100, P50: 200, P90: 300, Max: 300}) {
		t.Errorf("%+v", got)
	}
}
