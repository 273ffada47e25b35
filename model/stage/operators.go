package stage

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// publicOperators are physical operators as the sources of Spark and Flink name them,
// without the ending Exec. Only these are told apart; any other, which may be an
// organisation's own, counts as one of the rest, so that its name is in no model. The
// order is that of the features: new ones go to the end.
var publicOperators = []string{
	"Project", "Filter", "FileSourceScan", "BatchScan", "InMemoryTableScan", "LocalTableScan", "Range",
	"HashAggregate", "SortAggregate", "ObjectHashAggregate",
	"Sort", "TakeOrderedAndProject", "GlobalLimit", "LocalLimit", "CollectLimit",
	"SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin", "BroadcastNestedLoopJoin", "CartesianProduct",
	"Window", "WindowGroupLimit", "Expand", "Generate", "Union", "Coalesce", "Sample",
	"Exchange", "ShuffleExchange", "BroadcastExchange", "AQEShuffleRead", "CustomShuffleReader",
	"ShuffleQueryStage", "BroadcastQueryStage", "ReusedExchange", "ReusedSubquery", "Subquery",
	"DeserializeToObject", "SerializeFromObject", "MapElements", "MapPartitions", "AppendColumns", "MapGroups", "FlatMapGroupsInPandas", "ArrowEvalPython", "BatchEvalPython",
	"map", "mapPartitions", "filter", "reduceByKey", "groupByKey", "join", "cogroup", "distinct", "textFile", "repartition",
}

// operatorIndex maps a public operator to its place among the features.
var operatorIndex = func() map[string]int {
	m := make(map[string]int, len(publicOperators))
	for i, name := range publicOperators {
		m[name] = i
	}
	return m
}()

// operatorOf is the place of an operator; len(publicOperators) is any other.
func operatorOf(name string) int {
	name = strings.TrimSuffix(strings.TrimSpace(name), "Exec")
	if before, _, found := strings.Cut(name, " "); found { // "Scan parquet", "Scan csv"
		if before == "Scan" || before == "FileScan" {
			before = "FileSourceScan"
		}
		name = before
	}
	if i, ok := operatorIndex[name]; ok {
		return i
	}
	return len(publicOperators)
}

// operatorHash is what stands for a public operator in weights.
func operatorHash(name string) uint64 {
	h := sha256.Sum256([]byte("karasu-operator\x00" + name))
	return binary.BigEndian.Uint64(h[:8])
}
