package utilisation_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/utilisation"
)

// The same four samples of one node in the three forms, as sysstat 12 writes them. The
// speed of eth1 is unknown.
const sadfCSV = `# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
n1;10;2026-03-01 12:00:10 UTC;-1;10.00;0.00;10.00;5.00;5.00;70.00
n1;10;2026-03-01 12:00:10 UTC;0;99.00;0.00;1.00;0.00;0.00;0.00
n1;10;2026-03-01 12:00:20 UTC;-1;30.00;0.00;10.00;0.00;0.00;60.00
n1;10;2026-03-01 12:00:30 UTC;-1;50.00;0.00;10.00;0.00;0.00;40.00
n1;10;2026-03-01 12:00:40 UTC;-1;70.00;0.00;10.00;0.00;0.00;20.00
# hostname;interval;timestamp;kbmemfree;kbavail;kbmemused;%memused;kbbuffers;kbcached
n1;10;2026-03-01 12:00:10 UTC;500;900;100;10.00;100;300
n1;10;2026-03-01 12:00:20 UTC;400;800;200;20.00;100;300
n1;10;2026-03-01 12:00:30 UTC;300;700;300;30.00;100;300
n1;10;2026-03-01 12:00:40 UTC;200;600;400;40.00;100;300
# hostname;interval;timestamp;INTR;CPU*
n1;10;2026-03-01 12:00:10 UTC;sum;1;2;3
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;%util
n1;10;2026-03-01 12:00:10 UTC;loop0;0.00;0.00;0.00;99.00
n1;10;2026-03-01 12:00:10 UTC;vda;0.00;0.00;0.00;5.00
n1;10;2026-03-01 12:00:10 UTC;vdb;0.00;0.00;0.00;50.00
n1;10;2026-03-01 12:00:20 UTC;vda;0.00;0.00;0.00;60.00
n1;10;2026-03-01 12:00:20 UTC;vdb;0.00;0.00;0.00;0.00
n1;10;2026-03-01 12:00:30 UTC;vda;0.00;0.00;0.00;70.00
n1;10;2026-03-01 12:00:40 UTC;vda;0.00;0.00;0.00;100.40
# hostname;interval;timestamp;IFACE;rxkB/s;txkB/s;%ifutil
n1;10;2026-03-01 12:00:10 UTC;lo;9.00;9.00;9.00
n1;10;2026-03-01 12:00:10 UTC;eth0;9.00;9.00;1.00
n1;10;2026-03-01 12:00:10 UTC;eth1;9.00;9.00;0.00
n1;10;2026-03-01 12:00:20 UTC;eth0;9.00;9.00;2.00
n1;10;2026-03-01 12:00:30 UTC;eth0;9.00;9.00;3.00
n1;10;2026-03-01 12:00:40 UTC;eth0;9.00;9.00;4.00
n1;-1;2026-03-01 12:00:50 UTC;LINUX-RESTART	(2 CPU)
`

const sadfJSON = `{"sysstat": {"hosts": [{"nodename": "n1", "sysname": "Linux", "number-of-cpus": 2, "timezone": "UTC", "statistics": [
{"timestamp": {"date": "2026-03-01", "time": "12:00:10", "utc": 1, "interval": 10}, "cpu-load": [{"cpu": "all", "user": 10.00, "iowait": 5.00, "steal": 5.00, "idle": 70.00}, {"cpu": "0", "idle": 0.0}],
 "memory": {"memfree": 500, "avail": 900, "memused": 100, "memused-percent": 10.00, "buffers": 100, "cached": 300},
 "disk": [{"disk-device": "loop0", "util-percent": 99.00}, {"disk-device": "vda", "util-percent": 5.00}, {"disk-device": "vdb", "util-percent": 50.00}],
 "network": {"net-dev": [{"iface": "lo", "ifutil-percent": 9.00}, {"iface": "eth0", "ifutil-percent": 1.00}, {"iface": "eth1", "rxkB": 9, "ifutil-percent": 0.00}], "net-edev": []}},
{"timestamp": {"date": "2026-03-01", "time": "12:00:20", "utc": 1, "interval": 10}, "cpu-load": [{"cpu": "all", "idle": 60.00}],
 "memory": {"memfree": 400, "memused": 200, "memused-percent": 20.00, "buffers": 100, "cached": 300}, "disk": [{"disk-device": "vda", "util-percent": 60.00}], "network": {"net-dev": [{"iface": "eth0", "ifutil-percent": 2.00}]}},
{"timestamp": {"date": "2026-03-01", "time": "12:00:30", "utc": 1, "interval": 10}, "cpu-load-all": [{"cpu": "all", "usr": 50, "idle": 40.00}],
 "memory": {"memfree": 300, "memused": 300, "memused-percent": 30.00, "buffers": 100, "cached": 300}, "disk": [{"disk-device": "vda", "util-percent": 70.00}], "network": {"net-dev": [{"iface": "eth0", "ifutil-percent": 3.00}]}},
{"timestamp": {"date": "2026-03-01", "time": "12:00:40", "utc": 1, "interval": 10}, "cpu-load": [{"cpu": "all", "idle": 20.00}],
 "memory": {"memfree": 200, "memused": 400, "memused-percent": 40.00, "buffers": 100, "cached": 300}, "disk": [{"disk-device": "vda", "util-percent": 100.40}], "network": {"net-dev": [{"iface": "eth0", "ifutil-percent": 4.00}]}}
], "restarts": []}]}}`

const sarText = `Linux 6.1.0 (n1) 	03/01/26 	_x86_64_	(2 CPU)

12:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle
12:00:10        all     10.00      0.00     10.00      5.00      5.00     70.00
12:00:20        all     30.00      0.00     10.00      0.00      0.00     60.00

12:00:20        CPU     %user     %nice   %system   %iowait    %steal     %idle
12:00:30        all     50.00      0.00     10.00      0.00      0.00     40.00
12:00:40        all     70.00      0.00     10.00      0.00      0.00     20.00
Average:        all     40.00      0.00     10.00      1.25      1.25     47.50

12:00:00    kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached
12:00:10          500       900       100     10.00       100       300
12:00:20          400       800       200     20.00       100       300
12:00:30          300       700       300     30.00       100       300
12:00:40          200       600       400     40.00       100       300

12:00:00       totsck    tcpsck    udpsck    rawsck   ip-frag    tcp-tw
12:00:10          500       900       100        10       100       300

12:00:00          tps     rkB/s     wkB/s     %util DEV
12:00:10         0.00      0.00      0.00     50.00 vda
12:00:20         0.00      0.00      0.00     60.00 vda
12:00:30         0.00      0.00      0.00     70.00 vda
12:00:40         0.00      0.00      0.00    100.40 vda

12:00:00        IFACE    rxkB/s    txkB/s   %ifutil
12:00:10         eth0      9.00      9.00      1.00
12:00:10         eth1      9.00      9.00      0.00
12:00:20         eth0      9.00      9.00      2.00
12:00:30         eth0      9.00      9.00      3.00
12:00:40         eth0      9.00      9.00      4.00

12:00:45     LINUX RESTART	(2 CPU)
`

func noon(seconds int) time.Time { return time.Date(2026, 3, 1, 12, 0, seconds, 0, time.UTC) }

func window(from, to int) utilisation.Window {
	return utilisation.Window{Start: noon(from), End: noon(to)}
}

func readSar(t *testing.T, text string) *utilisation.Usage {
	t.Helper()
	u, err := utilisation.ReadSar(t.Context(), strings.NewReader(text), "n1.sar", utilisation.SarOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var approx = cmpopts.EquateApprox(0, 1e-6)

func TestSar(t *testing.T) {
	want := utilisation.Summary{Nodes: 1, Samples: 16, Metrics: model.Metrics{
		CPU: &model.Percentiles{P10: .2, P50: .4, P90: .8}, Memory: &model.Percentiles{P10: .1, P50: .2, P90: .4},
		Disk: &model.Percentiles{P10: .5, P50: .6, P90: 1}, Network: &model.Percentiles{P10: .01, P50: .02, P90: .04},
	}}
	for name, text := range map[string]string{
		"CSV": sadfCSV, "JSON": sadfJSON, "text": sarText,
		"local": strings.ReplaceAll(sadfCSV, " UTC;", ";"),
		"epoch": strings.NewReplacer("2026-03-01 12:00:10 UTC", "1772366410", "2026-03-01 12:00:20 UTC", "1772366420", "2026-03-01 12:00:30 UTC", "1772366430", "2026-03-01 12:00:40 UTC", "1772366440").Replace(sadfCSV),
		"CRLF":  strings.ReplaceAll(sarText, "\n", "\r\n"),
		"PM":    strings.NewReplacer("12:00:00", "12:00:00 PM", "12:00:10", "12:00:10 PM", "12:00:20", "12:00:20 PM", "12:00:30", "12:00:30 PM", "12:00:40", "12:00:40 PM", "12:00:45", "12:00:45 PM", "03/01/26", "2026-03-01").Replace(sarText),
	} {
		t.Run(name, func(t *testing.T) {
			u := readSar(t, text)
			if d := cmp.Diff(want, u.Of(window(0, 40)), approx); d != "" || u.BadLines > 0 || u.Cut {
				t.Errorf("%d bad lines, cut %v, %s", u.BadLines, u.Cut, d)
			}
			if d := cmp.Diff([]string{"n1"}, u.Nodes()); d != "" {
				t.Error(d)
			}
		})
	}
}

// Samples count where most of them lies in the run, and only if they cover it.
func TestWindows(t *testing.T) {
	u := readSar(t, sadfCSV)
	for _, c := range []struct {
		from, to int
		want     *model.Percentiles
	}{
		{0, 40, &model.Percentiles{P10: .2, P50: .4, P90: .8}},
		{10, 30, &model.Percentiles{P10: .4, P50: .4, P90: .6}},
		{14, 30, &model.Percentiles{P10: .4, P50: .6, P90: .6}}, // 6 s of the first and 10 s of the second
		{16, 30, &model.Percentiles{P10: .6, P50: .6, P90: .6}}, // the first lies mostly outside
		{20, 39, &model.Percentiles{P10: .6, P50: .6, P90: .8}},
		{30, 100, nil}, // a seventh of it
		{100, 140, nil},
		{22, 24, nil}, // a fifth of a sample
	} {
		if d := cmp.Diff(c.want, u.Of(window(c.from, c.to)).Metrics.CPU, approx); d != "" {
			t.Errorf("%d to %d: %s", c.from, c.to, d)
		}
	}
	s := u.Of(window(30, 100))
	if s.Nodes != 0 || len(s.Missing) != 4 || s.Missing[0] != "cpu covers 14% of the run, less than half" {
		t.Errorf("%+v", s)
	}
}

func TestNodes(t *testing.T) {
	u := readSar(t, sadfCSV+strings.ReplaceAll(strings.ReplaceAll(sadfCSV, "n1;", "n2;"), ";60.00\n", ";10.00\n"))
	if s := u.Of(window(0, 40)); s.Nodes != 2 || s.Samples != 32 {
		t.Errorf("%+v", s)
	}
	if s := u.Of(window(0, 40), "n2"); s.Nodes != 1 || s.Samples != 16 || s.Metrics.CPU.P90 < .89 {
		t.Errorf("%+v", s)
	}
	if s := u.Of(window(0, 40), "n3"); s.Nodes != 0 || s.Metrics.CPU != nil {
		t.Errorf("%+v", s)
	}
}

// What sysstat before 12 counted as used memory has buffers and caches in it.
func TestOldMemory(t *testing.T) {
	u := readSar(t, `# hostname;interval;timestamp;kbmemfree;kbmemused;%memused;kbbuffers;kbcached
n1;10;2026-03-01 12:00:10 UTC;500;500;50.00;100;300
`)
	if d := cmp.Diff(&model.Percentiles{P10: .1, P50: .1, P90: .1}, u.Of(window(0, 10)).Metrics.Memory, approx); d != "" {
		t.Error(d)
	}
}

// Interfaces without a known speed, which always report 0%, leave the network unset.
func TestUnknownSpeed(t *testing.T) {
	u := readSar(t, strings.NewReplacer(";1.00\n", ";0.00\n", ";2.00\n", ";0.00\n", ";3.00\n", ";0.00\n", ";4.00\n", ";0.00\n").Replace(sadfCSV))
	s := u.Of(window(0, 40))
	if s.Metrics.Network != nil || len(s.Missing) != 1 || !strings.HasPrefix(s.Missing[0], "network is not in the source") {
		t.Errorf("%+v", s)
	}
}

func TestMidnightAndZone(t *testing.T) {
	text := "Linux 6.1.0 (n1) 	03/01/26 	_x86_64_	(2 CPU)\n\n" +
		"23:59:50        CPU     %user   %idle\n00:00:00        all     50.00   50.00\n00:00:10        all     50.00   50.00\n"
	zone := time.FixedZone("", 3600)
	u, err := utilisation.ReadSar(t.Context(), strings.NewReader(text), "", utilisation.SarOptions{Location: zone})
	if err != nil {
		t.Fatal(err)
	}
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, zone)
	if s := u.Of(utilisation.Window{Start: midnight.Add(-10 * time.Second), End: midnight.Add(10 * time.Second)}); s.Samples != 2 {
		t.Errorf("%+v", s)
	}
}

func TestBadLines(t *testing.T) {
	row := "n1;10;2026-03-01 12:00:40 UTC;-1;70.00;0.00;10.00;0.00;0.00;20.00\n"
	bad := "# hostname;x\nn1;10\nn1;10;yesterday;-1;1;1;1;1;1;1\nn1;x;2026-03-01 12:00:40 UTC;-1;1;1;1;1;1;1\n" +
		strings.Split(sadfCSV, "\n")[0] + "\n" + strings.Replace(row, "20.00", "NaN", 1) + strings.Replace(row, "20.00", "-3", 1) + "some words\n" + strings.Repeat("x", 1<<17) + "\n"
	u := readSar(t, strings.Split(sadfCSV, "\n")[0]+"\n"+row+bad+row)
	if u.BadLines != 8 {
		t.Errorf("%d bad lines", u.BadLines)
	}
	if u = readSar(t, sadfCSV[:len(sadfCSV)-100]); !u.Cut {
		t.Error("not cut")
	}
	if u = readSar(t, sadfJSON[:len(sadfJSON)-100]); !u.Cut || u.Of(window(0, 40)).Metrics.CPU == nil {
		t.Error("not cut, or nothing kept")
	}
}

func TestRefusesExports(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "f: holds no utilisation of CPU"},
		{"words", "hello\nworld\n", "f: holds no utilisation of CPU"},
		{"binary", "\x96\xd5\x75\x21\x00\x00", "f: is sar's binary data or no text: export it as sadf -d FILE"},
		{"other JSON", `{"a":1}`, "f: holds no utilisation of CPU"},
		{"no JSON", `{"sysstat": 3}`, "f: is not JSON as sadf -j writes it"},
		{"JSON cut early", sadfJSON[:80], "f: is not JSON as sadf -j writes it"},
	} {
		_, err := utilisation.ReadSar(t.Context(), strings.NewReader(c.text), "f", utilisation.SarOptions{})
		var p *ingest.Problem
		if !errors.As(err, &p) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	broken := errors.New("disk on fire")
	for _, text := range []string{"", sadfCSV, sadfJSON[:300]} {
		if _, err := utilisation.ReadSar(t.Context(), io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "f", utilisation.SarOptions{}); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := utilisation.ReadSar(ctx, strings.NewReader(sadfCSV), "f", utilisation.SarOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFillAndWindow(t *testing.T) {
	have := model.Metrics{CPU: &model.Percentiles{P90: .9}}
	found := model.Metrics{CPU: &model.Percentiles{P90: .1}, Disk: &model.Percentiles{P90: .2}}
	if n := utilisation.Fill(&have, found); n != 1 || have.CPU.P90 != .9 || have.Disk.P90 != .2 || have.Disk == found.Disk {
		t.Errorf("%d, %+v", n, have)
	}
	if _, err := utilisation.WindowOf(model.Run{RuntimeSeconds: 3}); !errors.Is(err, utilisation.ErrWindow) {
		t.Error(err)
	}
	if _, err := utilisation.WindowOf(model.Run{Start: noon(0)}); !errors.Is(err, utilisation.ErrWindow) {
		t.Error(err)
	}
	if w, err := utilisation.WindowOf(model.Run{Start: noon(0), RuntimeSeconds: 40}); err != nil || w != window(0, 40) {
		t.Error(w, err)
	}
}

func FuzzSar(f *testing.F) {
	f.Add(sadfCSV)
	f.Add(sadfJSON)
	f.Add(sarText)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := utilisation.ReadSar(t.Context(), strings.NewReader(text), "f", utilisation.SarOptions{})
		if err != nil {
			var p *ingest.Problem
			if !errors.As(err, &p) {
				t.Fatal(err)
			}
			return
		}
		for _, w := range []utilisation.Window{window(0, 40), window(10, 11), {Start: time.Unix(0, 0), End: time.Unix(1<<33, 0)}} {
			if err := u.Of(w).Metrics.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
