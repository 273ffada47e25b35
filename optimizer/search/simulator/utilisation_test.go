package simulator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUtilisationIsValid(t *testing.T) {
	for _, w := range Workloads("aws-ec2", 18, 1) {
		for _, c := range candidates(t) {
			m := w.Utilisation(c, 1)
			if err := m.Validate(); err != nil {
				t.Fatalf("%s on %s: %v", w.Job, c.Configuration, err)
			}
			if m.CPU == nil || m.Memory == nil || m.Disk == nil || m.Network == nil {
				t.Fatalf("%s on %s: a resource is missing", w.Job, c.Configuration)
			}
			if d := cmp.Diff(m, w.Utilisation(c, 1)); d != "" {
				t.Fatalf("the same run differs: %s", d)
			}
		}
	}
}
