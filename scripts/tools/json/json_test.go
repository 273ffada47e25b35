// Package json compares JSON libraries on the events that fill Spark's event logs: ends
// of tasks, of which a tenth of the fields is used. It is a module of its own, so that
// the libraries that were not chosen are no dependencies:
//
//	cd scripts/tools/json && go test -bench . -cpu 1
package json

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bytedance/sonic"
	experiment "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	goccy "github.com/goccy/go-json"
	"github.com/minio/simdjson-go"
	"github.com/tidwall/gjson"
)

// taskEnd is what is used of an event.
type taskEnd struct {
	Stage   int64 `json:"Stage ID"`
	Attempt int64 `json:"Stage Attempt ID"`
	Reason  struct {
		Reason string
	} `json:"Task End Reason"`
	Info struct {
		Index    int64
		Launch   int64  `json:"Launch Time"`
		Finish   int64  `json:"Finish Time"`
		Executor string `json:"Executor ID"`
		Host     string
	} `json:"Task Info"`
	Metrics struct {
		Run         int64 `json:"Executor Run Time"`
		CPU         int64 `json:"Executor CPU Time"`
		ShuffleRead struct {
			Remote int64 `json:"Remote Bytes Read"`
			Local  int64 `json:"Local Bytes Read"`
		} `json:"Shuffle Read Metrics"`
		ShuffleWrite struct {
			Bytes int64 `json:"Shuffle Bytes Written"`
		} `json:"Shuffle Write Metrics"`
	} `json:"Task Metrics"`
}

func events() [][]byte {
	var out [][]byte
	for i := range 2000 {
		accumulables := make([]string, 30)
		for j := range accumulables {
			accumulables[j] = fmt.Sprintf(`{"ID":%d,"Name":"internal.metrics.value%d","Update":%d,"Value":"%d","Internal":true,"Count Failed Values":true,"Metadata":"sql"}`, j, j, i*j, i*j*3)
		}
		out = append(out, fmt.Appendf(nil, `{"Event":"SparkListenerTaskEnd","Stage ID":%d,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":%d,"Index":%d,"Attempt":0,"Launch Time":1700000000000,"Executor ID":"7","Host":"host-%d.example.org","Locality":"ANY","Speculative":false,"Getting Result Time":0,"Finish Time":1700000001000,"Failed":false,"Killed":false,"Accumulables":[%s]},"Task Metrics":{"Executor Run Time":900,"Executor CPU Time":800000000,"JVM GC Time":3,"Memory Bytes Spilled":0,"Disk Bytes Spilled":0,"Shuffle Read Metrics":{"Remote Blocks Fetched":4,"Remote Bytes Read":%d,"Local Bytes Read":77},"Shuffle Write Metrics":{"Shuffle Bytes Written":%d,"Shuffle Write Time":5},"Updated Blocks":[]}}`,
			i/100, i, i%100, i%8, strings.Join(accumulables, ","), i*1000, i*10))
	}
	return out
}

func run(b *testing.B, read func([]byte) error) {
	lines := events()
	total := 0
	for _, l := range lines {
		total += len(l)
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range lines {
			if err := read(l); err != nil {
				b.Fatal(err)
			}
		}
	}
	rejected := 0
	for _, l := range broken {
		if read([]byte(l)) != nil {
			rejected++
		}
	}
	b.ReportMetric(float64(rejected), fmt.Sprintf("of-%d-broken-rejected", len(broken)))
}

// broken are lines as a damaged log has them, in parts that are not used.
var broken = []string{
	`{"Stage ID":1,"Task Info":{"Index":3,"Accumulables":[{"ID":1,_"Value":2}]}}`,
	`{"Stage ID":1,"Accumulables":[1 2]}`,
	`{"Stage ID":1,"Accumulables":[01,2]}`,
	`{"Stage ID":1,"Accumulables":["\q"]}`,
	`{"Stage ID":1,"Accumulables":[tlue]}`,
	`{"Stage ID":1,"Accumulables":[{"a":1,}]}`,
	`{"Stage ID":1,"Accumulables":[1}]}`,
	`{"Stage ID":1,"Accumulables":[1,2]`,
}

func BenchmarkEncodingJSON(b *testing.B) {
	run(b, func(l []byte) error { var e taskEnd; return json.Unmarshal(l, &e) })
}

func BenchmarkExperiment(b *testing.B) {
	lenient := experiment.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	run(b, func(l []byte) error { var e taskEnd; return experiment.Unmarshal(l, &e, lenient) })
}

func BenchmarkSonic(b *testing.B) {
	run(b, func(l []byte) error { var e taskEnd; return sonic.ConfigDefault.Unmarshal(l, &e) })
}

func BenchmarkGoccy(b *testing.B) {
	run(b, func(l []byte) error { var e taskEnd; return goccy.Unmarshal(l, &e) })
}

func BenchmarkGJSON(b *testing.B) {
	run(b, func(l []byte) error {
		if !gjson.ValidBytes(l) {
			return fmt.Errorf("not valid")
		}
		paths := gjson.GetManyBytes(l, "Stage ID", "Stage Attempt ID", "Task End Reason.Reason", "Task Info.Index", "Task Info.Launch Time",
			"Task Info.Finish Time", "Task Info.Executor ID", "Task Info.Host", "Task Metrics.Executor Run Time", "Task Metrics.Executor CPU Time",
			"Task Metrics.Shuffle Read Metrics.Remote Bytes Read", "Task Metrics.Shuffle Read Metrics.Local Bytes Read", "Task Metrics.Shuffle Write Metrics.Shuffle Bytes Written")
		_ = paths
		return nil
	})
}

// BenchmarkSIMDJSON only parses; finding the fields comes on top.
func BenchmarkSIMDJSON(b *testing.B) {
	if !simdjson.SupportedCPU() {
		b.Skip("needs AVX2")
	}
	var parsed *simdjson.ParsedJson
	run(b, func(l []byte) (err error) { parsed, err = simdjson.Parse(l, parsed); return err })
}
