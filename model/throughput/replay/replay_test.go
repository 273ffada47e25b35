package replay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model/throughput"
)

func TestFiguresOnPublicMeasurements(t *testing.T) {
	curves := measured(t)
	if len(curves) != 32 {
		t.Fatalf("%d curves, want 32", len(curves))
	}
	rows, err := Run(curves, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		protocol, prior string
		points          int
		most            float64
	}{
		{Smallest, NoPrior, 3, .07}, {Smallest, CapPrior, 1, .12},
		{Pooled, NoPrior, 3, .09}, {Pooled, NoPrior, 5, .06}, {Pooled, NoPrior, 8, .05},
	} {
		found := false
		for _, r := range rows {
			if r.Job == All && r.MachineType == Larger && r.Protocol == want.protocol && r.Points == want.points && r.Prior == want.prior {
				found = true
				if !(r.MedianAPE <= want.most) {
					t.Errorf("%s %d, prior %s: median error %.3f, want at most %.2f", r.Protocol, r.Points, r.Prior, r.MedianAPE, want.most)
				}
			}
		}
		if !found {
			t.Errorf("no row of %+v", want)
		}
	}
	again, err := Run(curves, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, again); diff != "" {
		t.Errorf("the same seed gives other figures:\n%s", diff)
	}
}

const header = "n_workers,batch_size,synchronism,training_time,vm_flavor,total_iterations\n"

func TestReadTakesMediansAndNamesWhatIsWrong(t *testing.T) {
	curves, err := readCurves(strings.NewReader(header+"4,16,sync,100,t2.xlarge,50\n4,16,sync,100,t2.xlarge,25\n4,16,sync,100,t2.xlarge,20\n2,16,sync,10,t2.xlarge,10\n2,16,async,10,t2.xlarge,10\n"), "net")
	if err != nil {
		t.Fatal(err)
	}
	want := []Curve{
		{Network: "net", Mode: throughput.Async, Batch: 16, MachineType: "t2.xlarge", Cores: 4, Points: []CurvePoint{{2, 2}}},
		{Network: "net", Mode: throughput.Sync, Batch: 16, MachineType: "t2.xlarge", Cores: 4, Points: []CurvePoint{{2, 1}, {4, 4}}},
	}
	if diff := cmp.Diff(want, curves); diff != "" {
		t.Error(diff)
	}
	for row, where := range map[string]string{
		"0,16,sync,100,t2.xlarge,50":   "line 2: n_workers",
		"4,x,sync,100,t2.xlarge,50":    "line 2: batch_size",
		"4,16,ring,100,t2.xlarge,50":   "line 2: synchronism",
		"4,16,sync,NaN,t2.xlarge,50":   "line 2: training_time",
		"4,16,sync,100,c5.xlarge,50":   "line 2: vm_flavor",
		"4,16,sync,100,t2.xlarge,0":    "line 2: total_iterations",
		"4,16,sync,100,t2.xlarge,1e99": "line 2: total_iterations",
	} {
		if _, err := readCurves(strings.NewReader(header+row), "net"); !errors.Is(err, throughput.ErrInvalid) || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: %v, want %s", row, err, where)
		}
	}
	if _, err := readCurves(strings.NewReader("a,b\n"), "net"); !errors.Is(err, throughput.ErrInvalid) {
		t.Errorf("no columns: %v", err)
	}
	if _, err := ReadCurves(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tensorflow"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tensorflow", "cnn.csv"), []byte(header+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCurves(dir); err == nil || !strings.Contains(err.Error(), "cnn.csv") {
		t.Errorf("a broken table: %v", err)
	}
}

func FuzzReadCurves(f *testing.F) {
	f.Add(header + "4,16,sync,100,t2.xlarge,50\n8,16,async,600.5,t2.small,12\n")
	f.Add(header + "4,16,sync\n")
	f.Fuzz(func(t *testing.T, table string) {
		curves, err := readCurves(strings.NewReader(table), "net")
		if err != nil {
			return
		}
		for _, c := range curves {
			for _, p := range c.Points {
				if !(p.StepSeconds > 0) || !(p.Pushes() > 0) {
					t.Fatalf("%s: %+v", c.Job(), p)
				}
			}
		}
	})
}
