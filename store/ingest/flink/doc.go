// Package flink reads jobs of Apache Flink into executions, from three places that
// tell the same: the job details of the REST API in a file, the archive that a job
// manager leaves for the history server, and the REST API of a job manager or history
// server itself ([Client]).
//
// A job's vertices are the stages, and the plan's inputs their parents. Bytes that
// vertices read and wrote are those that went between vertices; Flink does not count
// what sources read from outside, so the size of the input is unknown.
//
// A job that still runs has no runtime, and one that runs until somebody stops it has
// none that says anything about its cluster. Both are skipped with a reason, as an
// [ingest.Problem].
package flink
