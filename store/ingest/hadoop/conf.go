package hadoop

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest/internal/text"
)

// MaxConf bounds a job's configuration, in bytes.
const MaxConf = 16 << 20

// kept are the settings that matter for a job's resources and plan. Others, among
// them all that may hold names, paths or secrets, are not read.
var kept = map[string]bool{
	"mapreduce.map.memory.mb": true, "mapreduce.reduce.memory.mb": true,
	"mapreduce.map.cpu.vcores": true, "mapreduce.reduce.cpu.vcores": true,
	"mapreduce.map.java.opts": true, "mapreduce.reduce.java.opts": true,
	"yarn.app.mapreduce.am.resource.mb": true, "yarn.app.mapreduce.am.resource.cpu-vcores": true,
	"mapreduce.job.maps": true, "mapreduce.job.reduces": true, "mapreduce.job.reduce.slowstart.completedmaps": true,
	"mapreduce.job.ubertask.enable": true, "mapreduce.map.speculative": true, "mapreduce.reduce.speculative": true,
	"mapreduce.task.io.sort.mb": true, "mapreduce.task.io.sort.factor": true, "mapreduce.map.sort.spill.percent": true,
	"mapreduce.map.output.compress": true, "mapreduce.map.output.compress.codec": true,
	"mapreduce.output.fileoutputformat.compress": true, "mapreduce.output.fileoutputformat.compress.codec": true,
	"mapreduce.reduce.shuffle.parallelcopies": true, "mapreduce.reduce.shuffle.input.buffer.percent": true,
	"mapreduce.reduce.shuffle.merge.percent": true, "mapreduce.input.fileinputformat.split.minsize": true,
	"mapreduce.input.fileinputformat.split.maxsize": true, "mapreduce.input.fileinputformat.numinputfiles": true,
	"dfs.blocksize": true, "dfs.replication": true,
}

// Settings that are used and not kept.
const (
	mapClass     = "mapreduce.job.map.class"
	oldMapClass  = "mapred.mapper.class"
	queueName    = "mapreduce.job.queuename"
	frameworkTar = "mapreduce.application.framework.path"
)

// jobConf is what is used of a job's configuration.
type jobConf struct {
	properties map[string]string
	used       map[string]string
}

var errConf = errors.New("is not a Hadoop configuration")

// readConf reads <configuration><property><name/><value/></property>...
func readConf(r io.Reader) (*jobConf, error) {
	c := &jobConf{properties: make(map[string]string), used: make(map[string]string)}
	d := xml.NewDecoder(io.LimitReader(r, MaxConf))
	var path []string
	var name, value strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(path) == 0 {
			return c, nil
		}
		if err != nil {
			return nil, errConf
		}
		switch t := token.(type) {
		case xml.StartElement:
			path = append(path, t.Name.Local)
			if len(path) > 8 || path[0] != "configuration" {
				return nil, errConf
			}
			if len(path) == 2 {
				name.Reset()
				value.Reset()
			}
		case xml.CharData:
			if len(path) == 3 && path[2] == "name" {
				name.Write(t)
			}
			if len(path) == 3 && path[2] == "value" {
				value.Write(t)
			}
		case xml.EndElement:
			if len(path) == 2 {
				c.set(strings.TrimSpace(name.String()), strings.TrimSpace(value.String()))
			}
			path = path[:len(path)-1]
		}
	}
}

func (c *jobConf) set(name, value string) {
	if value == "" || len(value) > model.MaxProperty {
		return
	}
	switch {
	case kept[name]:
		c.properties[name] = value
	case name == mapClass, name == oldMapClass, name == queueName, name == frameworkTar:
		c.used[name] = value
	}
}

// number returns a positive setting; 0 is unknown. A nil conf has none.
func (c *jobConf) number(name string) float64 {
	if c == nil {
		return 0
	}
	v, err := strconv.ParseFloat(c.properties[name], 64)
	if err != nil || !(v > 0 && v < 1e9) {
		return 0
	}
	return v
}

func (c *jobConf) get(names ...string) string {
	if c == nil {
		return ""
	}
	for _, n := range names {
		if v := c.used[n]; v != "" {
			return v
		}
	}
	return ""
}

var hadoopVersion = regexp.MustCompile(`hadoop(?:-mapreduce)?-([0-9]+\.[0-9]+[0-9A-Za-z.-]*?)(?:\.tar|/|$)`)

// version is told by the archive that the job ran from; most clusters name none.
func (c *jobConf) version() string {
	if m := hadoopVersion.FindStringSubmatch(c.get(frameworkTar)); m != nil {
		return text.Clip(m[1], 40)
	}
	return ""
}
