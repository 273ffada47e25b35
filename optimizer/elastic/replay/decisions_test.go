package replay

import "testing"

func TestDecisionsOfAFleet(t *testing.T) {
	ticks := 0.
	timing, err := Decisions(func() float64 { ticks++; return ticks })
	if err != nil {
		t.Fatal(err)
	}
	if want := (Timing{OneJob: 1000, Joint: 1000, JointJobs: JointJobs}); timing != want {
		t.Errorf("with a clock that counts calls: %+v, want %+v", timing, want)
	}
}

func BenchmarkDecideOneOfAThousand(b *testing.B) { benchmark(b, (*Fleet).One) }

func BenchmarkAllocateAThousand(b *testing.B) { benchmark(b, (*Fleet).All) }

func benchmark(b *testing.B, do func(*Fleet) error) {
	f, err := NewFleet(JointJobs)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		if err := f.Report(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := do(f); err != nil {
			b.Fatal(err)
		}
	}
}
