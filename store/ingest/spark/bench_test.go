package spark

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// The throughput of uncompressed log on one core. Run with -cpu 1:
//
//	go test -run '^$' -bench Read -cpu 1 ./store/ingest/spark
func BenchmarkRead(b *testing.B) {
	plans, tasks := benchPlans(), benchTasks()
	b.Run("plans", func(b *testing.B) { benchRead(b, plans, plans) })
	b.Run("plans-zstd", func(b *testing.B) { benchRead(b, plans, compressed(b, plans)) })
	b.Run("tasks", func(b *testing.B) { benchRead(b, tasks, tasks) })
	b.Run("tasks-zstd", func(b *testing.B) { benchRead(b, tasks, compressed(b, tasks)) })
}

func benchRead(b *testing.B, plain, stored []byte) {
	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadStream(b.Context(), bytes.NewReader(stored), "log", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func compressed(tb testing.TB, plain []byte) []byte {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := io.Copy(w, bytes.NewReader(plain)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// benchPlans is a log of 40 queries whose plans have 256 KiB, each of which adaptive
// execution changes three times, with 20 tasks each.
func benchPlans() []byte {
	var s synth
	s.head()
	for q := range 40 {
		s.query(q, 256<<10)
		benchStage(&s, q, 20)
		for range 3 {
			s.update(q, 256<<10)
		}
	}
	return s.end(1 << 20).Bytes()
}

// benchTasks is a log of nothing but tasks, with the accumulables that Spark writes.
func benchTasks() []byte {
	var s synth
	s.head()
	for i := range 20 {
		benchStage(&s, i, 400)
	}
	return s.end(1 << 20).Bytes()
}

func benchStage(s *synth, id, tasks int) {
	info := synthStage(id, 0, 10*id+5, tasks, nil, times(int64(id)*100, int64(id)*100+90))
	s.job(id, info).submitted(info)
	for i := range tasks {
		s.task(synthTask{stage: id, index: i, launch: int64(id) * 100, finish: int64(id)*100 + 50, cpuMs: 30, input: 100, write: 10, padding: 20})
	}
	s.completed(info).jobEnd(id, int64(id)*100+95, "JobSucceeded")
}
