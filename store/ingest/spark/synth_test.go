package spark

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// synth makes event logs as Spark writes them. Times are in ms from synthStart.
type synth struct {
	bytes.Buffer
}

const synthStart = 1_700_000_000_000

func (s *synth) event(format string, args ...any) *synth {
	fmt.Fprintf(&s.Buffer, format+"\n", args...)
	return s
}

// head starts an application on two executors of four cores each.
func (s *synth) head() *synth {
	return s.event(`{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}`).
		event(`{"Event":"SparkListenerResourceProfileAdded","Resource Profile Id":0,"Executor Resource Requests":{"cores":{"Resource Name":"cores","Amount":4,"Discovery Script":"","Vendor":""},"memory":{"Resource Name":"memory","Amount":2048,"Discovery Script":"","Vendor":""}},"Task Resource Requests":{"cpus":{"Resource Name":"cpus","Amount":1.0}}}`).
		event(`{"Event":"SparkListenerEnvironmentUpdate","JVM Information":{},"Spark Properties":{"spark.master":"yarn","spark.app.id":"application_1_0001","spark.yarn.queue":"etl","spark.executor.memory":"2g","spark.secret.password":"hunter2"},"Hadoop Properties":{},"System Properties":{"sun.java.command":"org.apache.spark.deploy.SparkSubmit --class org.example.Ranks --conf spark.x=y job.jar s3://bucket/path"},"Classpath Entries":{}}`).
		event(`{"Event":"SparkListenerApplicationStart","App Name":"ranks","App ID":"application_1_0001","Timestamp":%d,"User":"ada","App Attempt ID":"1"}`, synthStart).
		executor("1", "host-a", 100).executor("2", "host-b", 100)
}

func (s *synth) executor(id, host string, at int64) *synth {
	return s.event(`{"Event":"SparkListenerExecutorAdded","Timestamp":%d,"Executor ID":"%s","Executor Info":{"Host":"%s","Total Cores":4,"Log Urls":{},"Attributes":{},"Resources":{},"Resource Profile Id":0}}`, synthStart+at, id, host)
}

func (s *synth) removed(id string, at int64) *synth {
	return s.event(`{"Event":"SparkListenerExecutorRemoved","Timestamp":%d,"Executor ID":"%s","Removed Reason":"Executor killed by driver."}`, synthStart+at, id)
}

// stageInfo is the JSON of a stage's info: its last RDD, its number of tasks and the
// numbers of its parents.
func synthStage(id, attempt, rdd, tasks int, parents []int, more string) string {
	return fmt.Sprintf(`{"Stage ID":%d,"Stage Attempt ID":%d,"Stage Name":"map at Ranks.scala:%d","Number of Tasks":%d,"RDD Info":[{"RDD ID":%d,"Name":"MapPartitionsRDD","Scope":"{\"id\":\"7\",\"name\":\"Exchange\"}","Callsite":"map at Ranks.scala:%d","Parent IDs":[%d],"Storage Level":{"Use Disk":false,"Use Memory":false,"Deserialized":false,"Replication":1},"Number of Partitions":%d},{"RDD ID":%d,"Name":"FileScanRDD","Scope":"{\"id\":\"8\",\"name\":\"Scan parquet db.secret\"}","Parent IDs":[]}],"Parent IDs":%s,"Details":"org.example.Ranks.main(Ranks.scala:%d)"%s,"Accumulables":[]}`,
		id, attempt, id, tasks, rdd, id, rdd-1, tasks, rdd-1, strings.ReplaceAll(fmt.Sprint(parents), " ", ","), id, more)
}

func (s *synth) job(id int, stages ...string) *synth {
	return s.event(`{"Event":"SparkListenerJobStart","Job ID":%d,"Submission Time":%d,"Stage Infos":[%s],"Stage IDs":[],"Properties":{"spark.sql.execution.id":"3","spark.app.name":"ranks"}}`,
		id, synthStart, strings.Join(stages, ","))
}

func (s *synth) jobEnd(id int, at int64, result string) *synth {
	return s.event(`{"Event":"SparkListenerJobEnd","Job ID":%d,"Completion Time":%d,"Job Result":{"Result":"%s"}}`, id, synthStart+at, result)
}

func (s *synth) submitted(info string) *synth {
	return s.event(`{"Event":"SparkListenerStageSubmitted","Stage Info":%s,"Properties":{"spark.sql.execution.id":"3"}}`, info)
}

func (s *synth) completed(info string) *synth {
	return s.event(`{"Event":"SparkListenerStageCompleted","Stage Info":%s}`, info)
}

func times(submitted, completed int64) string {
	return fmt.Sprintf(`,"Submission Time":%d,"Completion Time":%d`, synthStart+submitted, synthStart+completed)
}

// task is the end of one task.
type synthTask struct {
	stage, attempt, index int
	kind                  string // of the task; ShuffleMapTask if empty
	reason                string // Success if empty
	executor              string
	launch, finish        int64
	cpuMs                 int64
	input, read, write    int64
	padding               int // of accumulables
}

func (s *synth) task(t synthTask) *synth {
	if t.kind == "" {
		t.kind = "ShuffleMapTask"
	}
	if t.reason == "" {
		t.reason = "Success"
	}
	if t.executor == "" {
		t.executor = "1"
	}
	accumulables := strings.Repeat(`{"ID":42,"Name":"internal.metrics.executorRunTime","Update":12,"Value":345,"Internal":true,"Count Failed Values":true},`, t.padding)
	return s.event(`{"Event":"SparkListenerTaskEnd","Stage ID":%d,"Stage Attempt ID":%d,"Task Type":"%s","Task End Reason":{"Reason":"%s"},"Task Info":{"Task ID":1,"Index":%d,"Attempt":0,"Partition ID":%d,"Launch Time":%d,"Executor ID":"%s","Host":"host-a","Locality":"ANY","Speculative":false,"Getting Result Time":0,"Finish Time":%d,"Failed":false,"Killed":false,"Accumulables":[%s]},"Task Executor Metrics":{"JVMHeapMemory":1073741824,"JVMOffHeapMemory":0},"Task Metrics":{"Executor Deserialize Time":1,"Executor Run Time":%d,"Executor CPU Time":%d,"Peak Execution Memory":64,"Result Size":1,"JVM GC Time":2,"Memory Bytes Spilled":5,"Disk Bytes Spilled":3,"Shuffle Read Metrics":{"Remote Bytes Read":%d,"Local Bytes Read":%d,"Total Records Read":9},"Shuffle Write Metrics":{"Shuffle Bytes Written":%d,"Shuffle Write Time":1,"Shuffle Records Written":4},"Input Metrics":{"Bytes Read":%d,"Records Read":7},"Output Metrics":{"Bytes Written":0,"Records Written":0},"Updated Blocks":[]}}`,
		t.stage, t.attempt, t.kind, t.reason, t.index, t.index, synthStart+t.launch, t.executor, synthStart+t.finish,
		strings.TrimSuffix(accumulables, ","), t.finish-t.launch, t.cpuMs*1_000_000, t.read/2, t.read-t.read/2, t.write, t.input)
}

func (s *synth) end(at int64) *synth {
	return s.event(`{"Event":"SparkListenerApplicationEnd","Timestamp":%d}`, synthStart+at)
}

// query is the start of a SQL execution whose plan has a text of some bytes.
func (s *synth) query(id, planBytes int) *synth {
	plan := strings.Repeat(`(1) Scan parquet \"t\"\n+- Project [a#1, b#2] \u00e9\n`, planBytes/48+1)
	return s.event(`{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":%d,"description":"count","details":"x","physicalPlanDescription":"%s","sparkPlanInfo":%s,"time":%d,"modifiedConfigs":{}}`,
		id, plan, synthPlan, synthStart)
}

const synthPlan = `{"nodeName":"AdaptiveSparkPlan","simpleString":"AdaptiveSparkPlan isFinalPlan=false","children":[{"nodeName":"HashAggregate","simpleString":"HashAggregate(keys=[k#1])","children":[{"nodeName":"Scan parquet db.secret","simpleString":"FileScan parquet","children":[],"metadata":{"Location":"s3://secret"},"metrics":[]}],"metadata":{},"metrics":[]}],"metadata":{},"metrics":[]}`

// update is a change of a plan by adaptive execution, which is passed over.
func (s *synth) update(id, planBytes int) *synth {
	plan := strings.Repeat(`(1) Scan parquet \"t\"\n+- Project [a#1, b#2] \u00e9\n`, planBytes/48+1)
	return s.event(`{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate","executionId":%d,"physicalPlanDescription":"%s","sparkPlanInfo":%s}`, id, plan, synthPlan)
}

// small is a whole log of two stages.
func small() []byte {
	var s synth
	a, b := synthStage(0, 0, 3, 2, nil, ""), synthStage(1, 0, 5, 1, []int{0}, "")
	s.head().query(3, 100).job(0, a, b).submitted(a)
	s.task(synthTask{index: 0, launch: 200, finish: 1200, cpuMs: 800, input: 1000, write: 60})
	s.task(synthTask{index: 1, launch: 200, finish: 2200, cpuMs: 1600, input: 3000, write: 40, executor: "2"})
	s.completed(synthStage(0, 0, 3, 2, nil, times(150, 2250))).submitted(b)
	s.task(synthTask{stage: 1, kind: "ResultTask", launch: 2300, finish: 3300, cpuMs: 900, read: 100})
	s.completed(synthStage(1, 0, 5, 1, []int{0}, times(2260, 3350))).jobEnd(0, 3360, "JobSucceeded").end(4000)
	return s.Bytes()
}

// repeated reads a text over and over, up to a number of bytes, and then a tail.
func repeated(head, body, tail []byte, size int64) io.Reader {
	readers := []io.Reader{bytes.NewReader(head)}
	for n := int64(len(head)); n < size; n += int64(len(body)) {
		readers = append(readers, bytes.NewReader(body))
	}
	return io.MultiReader(append(readers, bytes.NewReader(tail))...)
}
