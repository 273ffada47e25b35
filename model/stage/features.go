package stage

import "github.com/karasu-project/karasu/model"

// knowledge says which features of a stage are known.
type knowledge int

const (
	// atSubmission: plan, stored inputs, cluster.
	atSubmission knowledge = iota
	// atStart: also what a stage reads, and how its parents ran.
	atStart
)

// Features, in this order; amounts as ln(1 + bytes, rows, seconds x 1000).
const (
	depthFeature          = iota // longest path from a source
	heightFeature                // longest path to a sink
	parentsFeature               // stages that it waits for
	childrenFeature              // stages that wait for it
	positionFeature              // share of the job's stages that come before it
	writesFeature                // 1 if another stage reads its shuffle
	sourceFeature                // 1 if it reads no shuffle
	bytesFeature                 // estimated input of a source; 0 where it reads a shuffle
	rowsFeature                  // estimated rows of a source
	widthFeature                 // difference of the two
	partitionsFeature            // that the plan asks for; of a source without such, its tasks
	upBytesFeature               // estimated input of all sources above, itself included
	upRowsFeature                // rows of them
	upMaxFeature                 // the greatest of them
	upStagesFeature              // stages above, along paths
	joinBytesFeature             // least greatest estimate among its parents' sources
	jobBytesFeature              // estimated input of all sources of the job
	jobStagesFeature             // stages of the job
	jobSourcesFeature            // sources of the job
	indexFeature                 // stages of the job that come before it
	beforeFeature                // estimated input of sources with smaller numbers
	besideFeature                // stages at the same depth
	besideBytesFeature           // estimated input of sources at the same depth
	broadcastFeature             // 1 if others wait for it, but for no shuffle
	broadcastBytesFeature        // estimated input of the sources above its broadcasts
	childOperatorsFeature        // operators of the first stage that waits for it
	slotsFeature                 // of the cluster
	hostsFeature
	operatorsFeature // number of operators
	planFeatures     // public operators follow, then the rest
)

// submissionWidth is the number of features at submission.
var submissionWidth = planFeatures + len(publicOperators) + 1

// Features that are known at a stage's start follow those of the submission.
const (
	inputFeature       = iota // bytes read from storage
	inputRowsFeature          // rows of them
	shuffleFeature            // bytes read from the parents
	shuffleRowsFeature        // rows of them
	readFeature               // bytes read from both
	runBytesFeature           // the optimizer's estimate, which follows the parents' writes
	runRowsFeature
	runWidthFeature
	parentTaskFeature // task time of the parents
	parentTimeFeature // longest duration of a parent
	upReadFeature     // measured storage input of all sources above
	tasksFeature
	runTimeFeatures
)

func width(k knowledge) int {
	if k == atSubmission {
		return submissionWidth
	}
	return submissionWidth + runTimeFeatures
}

// shape holds what features need of a whole graph.
type shape struct {
	depth, height, upStages           []float64
	upBytes, upRows, upMax, upMeasure []float64
	bytes, rows, sources              float64
	// before is by stage, the others are by depth.
	before, beside, besideBytes []float64
}

func (c *compiled) shape() *shape {
	n := len(c.stages)
	s := &shape{}
	for _, list := range []*[]float64{&s.depth, &s.height, &s.upStages, &s.upBytes, &s.upRows, &s.upMax, &s.upMeasure} {
		*list = make([]float64, n)
	}
	s.before, s.beside, s.besideBytes = make([]float64, n), make([]float64, n), make([]float64, n)
	var measured float64
	for i := range c.stages {
		s.before[i] = s.bytes
		if e, _ := c.estimate(i); len(c.shuffles[i]) == 0 {
			s.bytes += e.Bytes
			s.rows += e.Rows
			s.sources++
		}
		measured += c.stages[i].InputBytes
	}
	for _, i := range c.order {
		s.upStages[i] = 1
		if e, _ := c.estimate(i); len(c.shuffles[i]) == 0 {
			s.upBytes[i], s.upRows[i], s.upMax[i] = e.Bytes, e.Rows, e.Bytes
		}
		s.upMeasure[i] = c.stages[i].InputBytes
		for _, p := range c.parents[i] {
			s.depth[i] = max(s.depth[i], s.depth[p]+1)
			s.upMax[i] = max(s.upMax[i], s.upMax[p])
			// A source that is reached on several paths counts for each, but no sum
			// exceeds the job's.
			s.upStages[i] = min(s.upStages[i]+s.upStages[p], float64(n))
			s.upBytes[i] = min(s.upBytes[i]+s.upBytes[p], s.bytes)
			s.upRows[i] = min(s.upRows[i]+s.upRows[p], s.rows)
			s.upMeasure[i] = min(s.upMeasure[i]+s.upMeasure[p], measured)
		}
	}
	for i := range c.stages {
		d := int(s.depth[i])
		s.beside[d]++
		if e, _ := c.estimate(i); len(c.shuffles[i]) == 0 {
			s.besideBytes[d] += e.Bytes
		}
	}
	for k := n - 1; k >= 0; k-- {
		i := c.order[k]
		for _, p := range c.parents[i] {
			s.height[p] = max(s.height[p], s.height[i]+1)
		}
	}
	return s
}

// features returns the n x width(k) table of a job's stages in row-major order.
func (c *compiled) features(k knowledge) []float64 {
	s := c.shape()
	d := width(k)
	x := make([]float64, len(c.stages)*d)
	for i := range c.stages {
		row := x[i*d : (i+1)*d]
		c.planRow(row, s, i)
		if k == atStart {
			c.startRow(row[submissionWidth:], s, i)
		}
	}
	return x
}

func (c *compiled) planRow(row []float64, s *shape, i int) {
	stage := &c.stages[i]
	row[depthFeature], row[heightFeature] = s.depth[i], s.height[i]
	row[parentsFeature], row[childrenFeature] = float64(len(c.parents[i])), float64(len(c.children[i]))
	row[positionFeature] = float64(i) / float64(len(c.stages))
	if c.writes[i] {
		row[writesFeature] = 1
	}
	e, _ := c.estimate(i)
	if len(c.shuffles[i]) == 0 {
		row[sourceFeature] = 1
		row[bytesFeature], row[rowsFeature] = logAmount(e.Bytes), logAmount(e.Rows)
		row[widthFeature] = row[bytesFeature] - row[rowsFeature]
	}
	partitions := e.Partitions
	if partitions == 0 && len(c.shuffles[i]) == 0 {
		partitions = stage.Tasks
	}
	row[partitionsFeature] = logAmount(float64(partitions))
	row[upBytesFeature], row[upRowsFeature] = logAmount(s.upBytes[i]), logAmount(s.upRows[i])
	row[upMaxFeature], row[upStagesFeature] = logAmount(s.upMax[i]), logAmount(s.upStages[i])
	for k, p := range c.parents[i] {
		if v := logAmount(s.upMax[p]); k == 0 || v < row[joinBytesFeature] {
			row[joinBytesFeature] = v
		}
	}
	row[jobBytesFeature], row[jobStagesFeature] = logAmount(s.bytes), logAmount(float64(len(c.stages)))
	row[jobSourcesFeature] = logAmount(s.sources)
	row[indexFeature], row[beforeFeature] = logAmount(float64(i)), logAmount(s.before[i])
	row[besideFeature], row[besideBytesFeature] = s.beside[int(s.depth[i])], logAmount(s.besideBytes[int(s.depth[i])])
	if !c.writes[i] && len(c.children[i]) > 0 {
		row[broadcastFeature] = 1
	}
	var broadcast float64
	for _, p := range c.parents[i] {
		if !c.writes[p] {
			broadcast += s.upBytes[p]
		}
	}
	row[broadcastBytesFeature] = logAmount(broadcast)
	if len(c.children[i]) > 0 {
		row[childOperatorsFeature] = float64(len(c.stages[c.children[i][0]].Operators))
	}
	row[slotsFeature], row[hostsFeature] = logAmount(float64(c.Slots)), logAmount(float64(c.Hosts))
	row[operatorsFeature] = float64(len(stage.Operators))
	for _, o := range stage.Operators {
		row[planFeatures+operatorOf(o)]++
	}
}

func (c *compiled) startRow(row []float64, s *shape, i int) {
	stage := &c.stages[i]
	row[inputFeature], row[inputRowsFeature] = logAmount(stage.InputBytes), logAmount(stage.InputRecords)
	read, records := stage.ShuffleReadBytes, stage.ShuffleReadRecords
	if read == 0 { // it has not run yet: it will read what its parents wrote
		for _, p := range c.shuffles[i] {
			read += c.stages[p].ShuffleWriteBytes
			records += c.stages[p].ShuffleWriteRecords
		}
	}
	row[shuffleFeature], row[shuffleRowsFeature] = logAmount(read), logAmount(records)
	row[readFeature] = logAmount(stage.InputBytes + read)
	e, _ := c.estimate(i)
	row[runBytesFeature], row[runRowsFeature] = logAmount(e.Bytes), logAmount(e.Rows)
	row[runWidthFeature] = row[runBytesFeature] - row[runRowsFeature]
	var task, longest float64
	for _, p := range c.parents[i] {
		task += c.stages[p].TaskSeconds
		longest = max(longest, c.stages[p].RuntimeSeconds())
	}
	row[parentTaskFeature], row[parentTimeFeature] = logAmount(1000*task), logAmount(1000*longest)
	row[upReadFeature], row[tasksFeature] = logAmount(s.upMeasure[i]), logAmount(float64(stage.Tasks))
}

// target is what is predicted of a stage, as a natural logarithm.
type target int

const (
	durationTarget target = iota // seconds
	taskTarget                   // seconds
	outputTarget                 // bytes of shuffle written, where any
	targets
)

// least keeps logarithms finite: a millisecond, a byte.
var least = [targets]float64{1e-3, 1e-3, 1}

// value of a target and whether the stage has one.
func (c *compiled) value(i int, t target) (float64, bool) {
	return stageValue(&c.stages[i], t)
}

func stageValue(s *model.Stage, t target) (float64, bool) {
	v := [targets]float64{s.RuntimeSeconds(), s.TaskSeconds, s.ShuffleWriteBytes}[t]
	return v, v >= least[t]
}
