// Package spark reads the event logs of Apache Spark, versions 1.2 to 4.x, into
// executions: what an application was, what it ran on, how long it took, and the graph
// of its stages. [Find] tells which files and folders are logs, [Log.Read] reads one,
// and a [Parser] takes events one by one, as from a log that is still written.
//
// Reading is streaming. What it holds grows with the number of stages, executors and
// running jobs, not with the size of the log: 200 MB resident are enough for lines of
// 25 MB. A line that cannot be read is skipped and counted; a log that is cut is kept up
// to the cut; events that say nothing about resources are passed over undecoded.
//
// Numbers are sums over ended tasks in which each partition of a stage counts once.
// Event logs are not trusted: whatever a log holds, the execution passes
// [model.Execution.Validate].
package spark
