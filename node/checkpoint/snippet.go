package checkpoint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Kinds of stages, by what writes their output.
const (
	kindRDD   = "rdd"
	kindSQL   = "sql"
	kindOther = "other"
)

// sqlOperators mark a stage of a SQL plan where its query is not known.
var sqlOperators = []string{"Exchange", "WholeStageCodegen", "AQEShuffleRead", "HashAggregate", "SortMergeJoin"}

// kindOf says what a stage is.
func kindOf(framework string, s model.Stage) string {
	switch {
	case framework != "spark":
		return kindOther
	case s.Query >= 0, slices.ContainsFunc(s.Operators, func(o string) bool { return slices.Contains(sqlOperators, o) }):
		return kindSQL
	}
	return kindRDD
}

var pythonSite = regexp.MustCompile(`\.py\b`)

// how says in a sentence how the output of a stage is made durable, and gives the code.
// What Spark keeps of a checkpoint, no other application finds: against failures of the
// application its data has to be written and read again; to free storage, cutting the
// lineage is enough, after which Spark's cleaner deletes the shuffle files.
func how(framework, objective string, s model.Stage) (sentence, code string) {
	what := fmt.Sprintf("stage %d", s.ID)
	if site := strings.TrimSpace(s.Name); site != "" {
		what = "`" + site + "`"
	}
	durable := objective != Storage
	path := fmt.Sprintf("hdfs:///checkpoints/stage-%d", s.ID)
	python := pythonSite.MatchString(s.Name)
	switch kindOf(framework, s) {
	case kindSQL:
		frame := "the DataFrame whose plan ends in " + planNode(s)
		if durable {
			return "Write " + frame + " (" + what + ") and read it again: an application that starts anew finds the files, a checkpoint() it would not.",
				sqlWrite(python, path)
		}
		return "Call checkpoint() on " + frame + " (" + what + "): its lineage is cut, and Spark deletes the shuffle files that nothing refers to any more. persist(DISK_ONLY) would keep them.",
			sqlCheckpoint(python)
	case kindRDD:
		rdd := "the RDD that " + what + " makes"
		if durable {
			return "Write " + rdd + " and read it again: an application that starts anew finds the files, a checkpoint() it would not. Where only executors fail, localCheckpoint() is enough.",
				rddWrite(python, path)
		}
		return "Call checkpoint() on " + rdd + ", before the first action on it: its lineage is cut, and Spark deletes the shuffle files that nothing refers to any more. persist(DISK_ONLY) would keep them.",
			rddCheckpoint(python)
	}
	return "Write the output of " + what + " to durable storage, and read it from there after a restart.", ""
}

// planNode names the last operators that a stage ran.
func planNode(s model.Stage) string {
	names := slices.DeleteFunc(slices.Clone(s.Operators), func(o string) bool { return o == "WholeStageCodegen" })
	if len(names) == 0 {
		return "its exchange"
	}
	const most = 3
	return strings.Join(names[max(0, len(names)-most):], ", ")
}

func sqlWrite(python bool, path string) string {
	if python {
		return fmt.Sprintf("df.write.parquet(%q)  # once it is there: skip what computes df\ndf = spark.read.parquet(%q)", path, path)
	}
	return fmt.Sprintf("df.write.parquet(%q)  // once it is there: skip what computes df\nval restored = spark.read.parquet(%q)", path, path)
}

func sqlCheckpoint(python bool) string {
	if python {
		return "spark.sparkContext.setCheckpointDir(\"hdfs:///checkpoints\")\ndf = df.checkpoint()"
	}
	return "spark.sparkContext.setCheckpointDir(\"hdfs:///checkpoints\")\nval cut = df.checkpoint()"
}

func rddWrite(python bool, path string) string {
	if python {
		return fmt.Sprintf("rdd.saveAsPickleFile(%q)  # once it is there: skip what computes rdd\nrdd = sc.pickleFile(%q)", path, path)
	}
	return fmt.Sprintf("rdd.saveAsObjectFile(%q)  // once it is there: skip what computes rdd\nval restored = sc.objectFile[T](%q)  // T: its elements", path, path)
}

func rddCheckpoint(python bool) string {
	comment := "//"
	if python {
		comment = "#"
	}
	return "sc.setCheckpointDir(\"hdfs:///checkpoints\")\nrdd.persist(StorageLevel.DISK_ONLY)  " + comment + " or it is computed twice\nrdd.checkpoint()"
}
