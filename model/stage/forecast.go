package stage

// Forecast of a job.
type Forecast struct {
	// Stages by ascending ID.
	Stages []Prediction
	// EndSeconds is when the job ends, from its start.
	EndSeconds float64
}

// Prediction of one stage.
type Prediction struct {
	ID int
	// Duration in seconds from start to end, TaskSeconds over all tasks, OutputBytes of
	// shuffle written for the stages that read it.
	Duration, TaskSeconds, OutputBytes Distribution
	// StartSeconds and EndSeconds from the start of the job.
	StartSeconds, EndSeconds float64
	// Finished says that all of it was measured.
	Finished bool
}

// TimeToLive is how long an output lies in temporary storage: from its stage's end to the
// end of the job, in seconds.
func (f *Forecast) TimeToLive(p Prediction) float64 { return max(0, f.EndSeconds-p.EndSeconds) }

// forecast puts predictions in order: a stage ends after its parents, and not before it
// starts.
func (c *compiled) forecast(list []Prediction) *Forecast {
	f := &Forecast{Stages: list}
	for _, i := range c.order {
		p := &list[i]
		if !p.Finished {
			for _, k := range c.parents[i] {
				p.EndSeconds = max(p.EndSeconds, list[k].EndSeconds)
			}
			p.StartSeconds = min(max(0, p.StartSeconds), p.EndSeconds)
		}
		f.EndSeconds = max(f.EndSeconds, p.EndSeconds)
	}
	return f
}
