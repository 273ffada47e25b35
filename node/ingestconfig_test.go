package node

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestConfigOfWorkloadsAndWatches(t *testing.T) {
	h := Home{ConfigDir: t.TempDir()}
	for _, c := range []struct{ name, text, want string }{
		{"good", "[[workload]]\nname = 'x'\nalgorithm = 'a'\njob = 'j'\n[[watch]]\nkind = 'spark'\npath = '/logs'\nrescan = '5s'", ""},
		{"bad pattern in the first", "\n[[workload]]\n# name\nname = '('\n[[workload]]\nname = 'x'", ":5: [[workload]] 1: name is no regular expression"},
		{"bad pattern in the second", "[[workload]]\nname = 'x'\nalgorithm = 'a'\njob = 'j'\n[[ workload ]] # 2\nname='x'\nmain_class = '['", ":8: [[workload]] 2: main_class is no"},
		{"nothing in it", "[[workload]]\n[catalog]\nfile = ''", ":2: [[workload]] 1: matches everything"},
		{"argument", "[[workload]]\nname = 'x'\nalgorithm = 'a'\njob = 'j'\n[workload.arguments]\na = '1'\nb = '${2}'", ":8: [[workload]] 1: arguments.b names the group"},
		{"argument inline", "[[workload]]\nname = 'x'\nalgorithm = 'a'\njob = 'j'\narguments = {b = '${2}'}", ":6: [[workload]] 1: arguments.b names the group"},
		{"unknown key", "[[workload]]\nname = 'x'\n[[workload]]\ncolour = 'red'", `:5: unknown key "workload.colour"`},
		{"unknown key of a watch", "[[watch]]\nkind = 'spark'\nevery = '1s'", `:4: unknown key "watch.every"`},
		{"kind", "[[watch]]\nkind = 'fish'\npath = 'x'", `:3: [[watch]] 1: kind must be spark or hadoop: "fish"`},
		{"path", "[[watch]]\nkind = 'spark'", `:2: [[watch]] 1: path is missing`},
		{"rescan", "[[watch]]\nkind = 'spark'\npath = 'x'\nrescan = '1ms'", `:5: [[watch]] 1: rescan is 1ms`},
		{"quiet", "[[watch]]\nkind = 'spark'\npath = 'x'\nquiet = '9000h'", `:5: [[watch]] 1: quiet is`},
		{"infrastructure", "[[watch]]\nkind = 'spark'\npath = 'x'\ninfrastructure = 'A b'", `:2: [[watch]] 1: infrastructure may hold only`},
		{"machine type", "[[watch]]\nkind = 'spark'\npath = 'x'\nmachine_type = 'a b'", `:5: [[watch]] 1: machine_type may hold only`},
		{"not a list", "[workload]\nname = 'x'", "workload must be"},
		{"wrong type", "[[workload]]\nname = 5", "workload.name must be text in quotes"},
	} {
		text := "organisation = 'acme'\n" + c.text
		if err := os.WriteFile(h.ConfigFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadConfig(h)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), h.ConfigFile()) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}
