// Package hadoop reads the job histories that Hadoop MapReduce writes (.jhist), as
// Avro in JSON lines (0.23 to 2.x) or in binary (from 3.0), into executions: what a job was, what it
// ran on, how long it took, and its two stages. [Find] tells which files are
// histories, [File.Read] reads one together with the job's configuration
// (job_..._conf.xml) where that lies beside it.
//
// A run begins when the job is initialised, as Hadoop's own elapsed time does, and
// not when it is submitted: how long it waits in a queue says nothing about its
// cluster.
//
// A line that cannot be read is skipped and counted, a history that is cut is kept up
// to the cut, and one in binary up to the first damage. Histories are not trusted: whatever one holds, the execution passes
// [model.Execution.Validate].
package hadoop
