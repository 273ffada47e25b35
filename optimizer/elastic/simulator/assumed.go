package simulator

// What is assumed, in seconds unless it says otherwise. No public measurement tells it.
const (
	// tick of the simulation and of reports.
	tick = 60.
	// interval between decisions.
	interval = 120.
	// podStart is how long new pods take to start, checkpoint how long a job stops to
	// write one, rendezvous how long workers wait for each other after their number changed.
	podStart   = 60.
	checkpoint = 15.
	rendezvous = 60.
	// lost is the work since the last checkpoint that a failure costs.
	lost = 300.

	// Evictions come every evictionEvery seconds of a job, and take a share of its workers
	// until others have started.
	evictionEvery = 6 * 3600.
	evictionShare = .3

	// hotShare of the jobs have a parameter server that becomes hot at some point: it takes
	// hotFactor of the pushes until it gets more cores, or hotFor has passed.
	hotShare  = .15
	hotFactor = .6
	hotFor    = 3600.

	// Memory of a worker at the end is memoryBase of its network times a lognormal factor
	// of memorySpread; at the start it is a share of that, startLeast to startMost, and
	// steepShare of the jobs grow from steepStart of it.
	memorySpread          = .25
	startLeast, startMost = .75, 1.
	steepShare            = .15
	steepStart            = .4
	// memoryAsked is what users ask for, times what the network needs, times the spread of
	// requests.
	memoryAsked = 2.5

	// busy is the share of its cores that a worker uses where it waits least for others.
	busy = .9
	// serverBusy is the share of its cores that a parameter server uses at the cap, and
	// hotBusy when it is hot.
	serverBusy = .85
	hotBusy    = .98

	// deadHours is how long a job counts that never completes.
	deadHours = 24.
)

// podsAsked is how many such pods a job asks for that is manual: the trace tells pods,
// not jobs. With more of them, manual jobs queue longer.
var podsAsked = []float64{1, 2, 4}

// memoryBase of a worker in bytes, by network.
func memoryBase(network string) float64 {
	const gib = 1 << 30
	if network == "cnn" {
		return 6 * gib
	}
	return 3 * gib
}
