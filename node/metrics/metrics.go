package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// scrapeTimeout bounds reading the source.
const scrapeTimeout = 10 * time.Second

// requestBuckets are seconds: an answer from memory takes milliseconds, a search tens
// to hundreds of them, a prediction that trains a model seconds.
var requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// Metrics are a daemon's. Create them with [New].
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
}

// New returns metrics that read from a source.
func New(s Source) (*Metrics, error) {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karasu_requests_total", Help: "Answered requests to the local API, by procedure and by \"ok\" or the error's code.",
		}, []string{"procedure", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "karasu_request_seconds", Help: "Time to answer a request to the local API, by procedure: NextConfiguration and Recommend search, Predict and Sweep predict.",
			Buckets: requestBuckets,
		}, []string{"procedure"}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "karasu_build_info", Help: "1, with the program's version as a label.", ConstLabels: prometheus.Labels{"version": s.Version},
	})
	info.Set(1)
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		info, m.requests, m.took, newReader(s),
	} {
		if err := m.registry.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return m, nil
}

// Request notes an answered request. It is safe for concurrent use.
func (m *Metrics) Request(procedure, code string, took time.Duration) {
	m.requests.WithLabelValues(procedure, code).Inc()
	m.took.WithLabelValues(procedure).Observe(took.Seconds())
}

// reader is the collector of all that a source tells.
type reader struct {
	source Source

	recordsIn, recordsOut, rejected *prometheus.Desc
	syncBytes, syncRounds, syncs    *prometheus.Desc
	lastSync, topics, greylisted    *prometheus.Desc
	connected, unreachable, mesh    *prometheus.Desc
	dropped, refused                *prometheus.Desc
	storeBytes, records, runs       *prometheus.Desc
}

func newReader(s Source) *reader {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("karasu_"+name, help, labels, nil)
	}
	return &reader{
		source:     s,
		recordsIn:  desc("records_in_total", "Records from others that were new to the commons."),
		recordsOut: desc("records_out_total", "Records that were sent: published, or handed over in a sync, once for each peer."),
		rejected:   desc("records_rejected_total", "Records and sync streams that were refused, by reason.", "reason"),
		syncBytes:  desc("sync_bytes_total", "Payload of sync streams, by direction.", "direction"),
		syncRounds: desc("sync_rounds_total", "Exchanges of messages within sync sessions."),
		syncs:      desc("syncs_total", "Sync sessions, by result.", "result"),
		lastSync:   desc("last_sync_timestamp_seconds", "When a sync session last ended well, in seconds since 1970; absent before the first."),
		topics:     desc("topics_joined", "Topics that the node takes part in."),
		greylisted: desc("peers_greylisted", "Peers from which nothing is taken at the moment."),

		connected:   desc("peers_connected", "Connected peers."),
		unreachable: desc("bootstrap_peers_unreachable", "Bootstrap peers that could not be dialled last."),
		mesh:        desc("gossip_mesh_peers", "Peers in the gossip mesh of a topic.", "topic"),
		dropped:     desc("gossip_dropped_total", "Gossip messages that peers were too slow to take; reconciliation makes up for them."),
		refused:     desc("connections_refused_total", "Connections to or from peers that are not allowed."),

		storeBytes: desc("store_bytes", "What a database takes on disk.", "database"),
		records:    desc("records_held", "Records that the commons hold, whatever their state."),
		runs:       desc("private_runs", "Runs in the private database."),
	}
}

// Describe implements [prometheus.Collector].
func (r *reader) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		r.recordsIn, r.recordsOut, r.rejected, r.syncBytes, r.syncRounds, r.syncs, r.lastSync, r.topics, r.greylisted,
		r.connected, r.unreachable, r.mesh, r.dropped, r.refused, r.storeBytes, r.records, r.runs,
	} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (r *reader) Collect(out chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType) func(*prometheus.Desc, float64, ...string) {
		return func(d *prometheus.Desc, v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
		}
	}
	count, gauge := send(prometheus.CounterValue), send(prometheus.GaugeValue)
	if r.source.Exchange != nil {
		r.exchange(r.source.Exchange(), count, gauge)
	}
	if r.source.Network != nil {
		n := r.source.Network()
		gauge(r.connected, float64(n.Connected))
		gauge(r.unreachable, float64(n.UnreachableBootstrap))
		count(r.dropped, float64(n.Dropped))
		count(r.refused, float64(n.Refused))
		for _, topic := range slices.Sorted(maps.Keys(n.Mesh)) {
			gauge(r.mesh, float64(n.Mesh[topic]), topic)
		}
	}
	if r.source.Stores == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	s, err := r.source.Stores(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(r.records, err)
		return
	}
	gauge(r.records, float64(s.Records))
	gauge(r.runs, float64(s.Runs))
	for _, name := range slices.Sorted(maps.Keys(s.Bytes)) {
		gauge(r.storeBytes, float64(s.Bytes[name]), name)
	}
}

// exchange reports what was exchanged.
func (r *reader) exchange(e Exchange, count, gauge func(*prometheus.Desc, float64, ...string)) {
	count(r.recordsIn, float64(e.RecordsIn))
	count(r.recordsOut, float64(e.RecordsOut))
	for _, reason := range slices.Sorted(maps.Keys(e.Rejected)) {
		count(r.rejected, float64(e.Rejected[reason]), reason)
	}
	count(r.syncBytes, float64(e.SyncBytesIn), "in")
	count(r.syncBytes, float64(e.SyncBytesOut), "out")
	count(r.syncRounds, float64(e.SyncRounds))
	count(r.syncs, float64(e.Syncs), "ok")
	count(r.syncs, float64(e.SyncsFailed), "failed")
	if !e.LastSync.IsZero() {
		gauge(r.lastSync, float64(e.LastSync.UnixMilli())/1e3)
	}
	gauge(r.topics, float64(e.Topics))
	gauge(r.greylisted, float64(e.Greylisted))
}
