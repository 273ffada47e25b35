package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const ownTOML = `# ours
[[machine]]
cloud = "aws"
machine_type = "m4.xlarge"
usd_per_hour = 0.15

[[machine]]
cloud = "aws-emr"
machine_type = "m4.xlarge"
usd_per_hour = 0.26
price_date = 2026-09-01

[[machine]]
cloud = "On-Prem"
machine_type = "R740"
vcpus = 32
memory_gib = 128
idle_watts = 120
full_watts = 400
`

const ownCSV = "\xef\xbb\xbfmachine_type,cloud,usd_per_hour,price_date,vcpus,memory_gib,idle_watts,full_watts\r\n" +
	"m4.xlarge,aws,0.15,,,,,\r\n# ours\r\nm4.xlarge,aws-emr,0.26,2026-09-01,,,,\r\n\"R740\",On-Prem,,,32,128,120,400\r\n"

func TestLoad(t *testing.T) {
	for name, content := range map[string]string{"own.toml": ownTOML, "own.csv": ownCSV} {
		t.Run(name, func(t *testing.T) {
			base := Builtin()
			c, err := Load(base, write(t, name, content))
			if err != nil {
				t.Fatal(err)
			}
			ec2, err := c.Lookup("aws-ec2", "m4.xlarge")
			if err != nil {
				t.Fatal(err)
			}
			if ec2.USDPerHour != .15 || !ec2.PriceDate.IsZero() || ec2.VCPUs != 4 || ec2.IdleWatts == 0 || ec2.Source != name {
				t.Errorf("override is %+v: want the new price without the old date, the rest kept, source %s", ec2, name)
			}
			emr, err := c.Lookup("aws-emr", "m4.xlarge")
			if err != nil {
				t.Fatal(err)
			}
			if emr.USDPerHour != .26 || emr.PriceDate.Format(dateForm) != "2026-09-01" || emr.MemoryGiB != 16 {
				t.Errorf("price of one service is %+v", emr)
			}
			if other, err := c.Lookup("aws-emr", "r4.large"); err != nil || other.USDPerHour != .133 {
				t.Errorf("the rest of aws is gone for aws-emr: %+v, %v", other, err)
			}
			own, err := c.Lookup("on-prem", "r740")
			if err != nil {
				t.Fatal(err)
			}
			if own.Name != "R740" || own.USDPerHour != 0 || own.VCPUs != 32 || own.FullWatts != 400 {
				t.Errorf("own machine is %+v", own)
			}
			if berlin, err := c.Lookup("on-prem-berlin", "r740"); err != nil || berlin != own {
				t.Errorf("a longer infrastructure does not find it: %v", err)
			}
			if m, _ := base.Lookup("aws", "m4.xlarge"); m.USDPerHour != .2 || len(base.Clouds()) != 2 {
				t.Error("Load changed its base")
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	row := func(s string) string {
		return "[[machine]]\ncloud = \"lab\"\nmachine_type = \"a\"\nvcpus = 4\nmemory_gib = 8\n" + s + "\n"
	}
	header := "cloud,machine_type,vcpus,memory_gib,usd_per_hour,price_date,idle_watts,full_watts\n"
	for _, tt := range []struct{ name, file, content, says string }{
		{"price zero", "f.toml", row("usd_per_hour = 0.0"), "f.toml:6: usd_per_hour: must be above 0"},
		{"price zero, integer", "f.toml", row("usd_per_hour = 0"), "f.toml:6: usd_per_hour: must be above 0"},
		{"price negative", "f.toml", row("usd_per_hour = -1.5"), "f.toml:6: usd_per_hour:"},
		{"price nan", "f.toml", row("usd_per_hour = nan"), "f.toml:6: usd_per_hour:"},
		{"price inf", "f.toml", row("usd_per_hour = inf"), "f.toml:6: usd_per_hour:"},
		{"price text", "f.toml", row(`usd_per_hour = "1"`), "f.toml"},
		{"unknown key", "f.toml", row("price = 1.0"), `f.toml:6: unknown key "machine.price"`},
		{"unknown table", "f.toml", row("") + "[space]\nx = 1\n", "unknown key"},
		{"twice", "f.toml", row("") + row(""), "f.toml:7: lab/a is given twice, first at f.toml:1"},
		{"twice in another case", "f.toml", row("") + strings.Replace(row(""), `"a"`, `"A"`, 1), "given twice"},
		{"key twice", "f.toml", row("vcpus = 5"), "f.toml:6:"},
		{"no vcpus", "f.toml", "[[machine]]\ncloud = \"lab\"\nmachine_type = \"a\"\n", "f.toml:1: vcpus: is missing"},
		{"no cloud", "f.toml", "[[machine]]\nmachine_type = \"a\"\n", "f.toml:1: cloud: is missing"},
		{"cloud with a space", "f.toml", strings.Replace(row(""), "lab", "my lab", 1), "f.toml:2: cloud:"},
		{"name with a slash", "f.toml", strings.Replace(row(""), `"a"`, `"a/b"`, 1), "f.toml:3: machine_type:"},
		{"idle alone", "f.toml", row("idle_watts = 5"), "f.toml:6: idle_watts:"},
		{"idle above full", "f.toml", row("idle_watts = 5\nfull_watts = 4"), "idle_watts: is above full_watts"},
		{"date without price", "f.toml", row("price_date = 2026-01-01"), "f.toml:6: price_date:"},
		{"syntax", "f.toml", "[[machine\n", "f.toml:"},
		{"empty toml", "f.toml", "", "holds no machine type"},
		{"empty csv", "f.csv", "", "f.csv: is empty"},
		{"only a header", "f.csv", header, "holds no machine type"},
		{"unknown column", "f.csv", "cloud,machine_type,cores\n", `f.csv:1: unknown column "cores"`},
		{"column twice", "f.csv", "cloud,machine_type,cloud\n", "f.csv:1: column cloud appears twice"},
		{"column missing", "f.csv", "cloud,vcpus\n", "f.csv:1: column machine_type is missing"},
		{"csv price zero", "f.csv", header + "lab,a,4,8,0,,,\n", "f.csv:2: usd_per_hour: must be above 0"},
		{"csv price nan", "f.csv", header + "lab,a,4,8,NaN,,,\n", "f.csv:2: usd_per_hour: must be above 0"},
		{"csv price huge", "f.csv", header + "lab,a,4,8,1e999,,,\n", "f.csv:2: usd_per_hour: must be above 0"},
		{"csv not a number", "f.csv", header + "lab,a,four,8,,,,\n", `f.csv:2: vcpus: is not a number: "four"`},
		{"csv bad date", "f.csv", header + "lab,a,4,8,1,20.7.2026,,\n", "f.csv:2: price_date:"},
		{"csv twice", "f.csv", header + "lab,a,4,8,,,,\n#\nlab,A,4,8,,,,\n", "f.csv:4: lab/A is given twice, first at f.csv:2"},
		{"csv short line", "f.csv", header + "lab,a\n", "f.csv:2: wrong number of fields"},
		{"other ending", "f.json", "{}", "must end in .toml or .csv"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(Builtin(), write(t, tt.file, tt.content))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error is %v, want %q", err, tt.says)
			}
		})
	}
	if _, err := Load(Builtin(), filepath.Join(t.TempDir(), "none.toml")); err == nil {
		t.Error("a missing file is no error")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(ownTOML, true)
	f.Add(ownCSV, false)
	f.Add("[[machine]]\n[[machine]]\ncloud=\"\"", true)
	base := Builtin()
	f.Fuzz(func(t *testing.T, s string, asTOML bool) {
		rows, err := parseCSV("f", strings.NewReader(s))
		if asTOML {
			rows, err = parseTOML("f", []byte(s))
		}
		if err != nil {
			return
		}
		c, err := base.with("f", rows)
		if err != nil {
			return
		}
		for _, r := range rows {
			m, err := c.Lookup(r.cloud, r.name)
			if err != nil || m.Validate() != nil || m.USDPerHour < 0 || m.IdleWatts > m.FullWatts {
				t.Errorf("%q was taken as %+v, %v", s, m, err)
			}
		}
	})
}
