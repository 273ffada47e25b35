// Package kubernetes reads training jobs of a cluster, has them decided for, and writes the
// advice to them or carries it out.
//
// It uses the dynamic client on purpose: the typed one compiles hundreds of packages more.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karasu-project/karasu/optimizer/elastic"
)

// Manager is the name under which the cluster keeps what was changed.
const Manager = "karasu-elastic"

// Decider keeps jobs and decides for them.
type Decider interface {
	// Start keeps a job; one that is kept already stays as it is.
	Start(ctx context.Context, j elastic.Job) error
	// Plan returns what a job should run on, as the last change decided: its number, kind,
	// reason, and what was before. The error wraps elastic.ErrUnknownJob where it is not kept.
	Plan(ctx context.Context, id string) (elastic.Decision, error)
	// Notice takes what happened to jobs that are kept.
	Notice(ctx context.Context, events ...elastic.Event) error
	// Finish ends a job.
	Finish(ctx context.Context, id string) error
}

// Options of a [Controller]. Config and Decider are needed.
type Options struct {
	Config  *rest.Config
	Decider Decider
	// Namespace to look at; empty is all of them.
	Namespace string
	// Apply carries decisions out. Without it they are only written to the objects.
	Apply bool
	// Interval between two looks at decisions, and Retry after an error of the cluster; 0 is
	// 30 s and 5 s.
	Interval, Retry time.Duration
	// Logger is nil for silence.
	Logger *slog.Logger
}

// Controller follows one cluster.
type Controller struct {
	Options
	client  dynamic.Interface
	pods    *mirror
	mirrors map[*kind]*mirror
	changed chan struct{}

	// What follows is of Run's goroutine only.
	jobs map[string]*kind // kept by the decider
	// applied is the last decision that was carried out or stood back from: it is not tried
	// again, so that nobody is fought. resized are the pods that were, by UID.
	applied map[string]outcome
	resized map[string]int
	told    map[elastic.Event]bool
	said    map[string]string // what went wrong, by what it was about
	saidMu  sync.Mutex
}

// New returns a controller. It asks nothing of the cluster yet.
func New(o Options) (*Controller, error) {
	if o.Interval == 0 {
		o.Interval = 30 * time.Second
	}
	if o.Retry == 0 {
		o.Retry = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	c := &Controller{
		Options: o, client: client, mirrors: map[*kind]*mirror{}, changed: make(chan struct{}, 1),
		jobs: map[string]*kind{}, applied: map[string]outcome{}, resized: map[string]int{}, told: map[elastic.Event]bool{}, said: map[string]string{},
	}
	for _, k := range kinds {
		c.mirrors[k] = &mirror{
			client: client.Resource(k.resource).Namespace(o.Namespace), resource: k.resource, retry: o.Retry, changed: c.changed,
			say: func(err error) { c.say("watch "+k.name, err) },
		}
	}
	c.pods = &mirror{
		client: client.Resource(podResource).Namespace(o.Namespace), resource: podResource, retry: o.Retry, changed: c.changed,
		say: func(err error) { c.say("watch pods", err) },
	}
	return c, nil
}

// say logs what went wrong with something, once until it is something else or nothing.
func (c *Controller) say(about string, err error) {
	c.saidMu.Lock()
	defer c.saidMu.Unlock()
	if err == nil {
		delete(c.said, about)
		return
	}
	if text := err.Error(); c.said[about] != text {
		c.said[about] = text
		c.Logger.Warn(text)
	}
}

// Run follows the cluster until the context ends.
func (c *Controller) Run(ctx context.Context) {
	var watches sync.WaitGroup
	defer watches.Wait()
	for _, m := range c.mirrors {
		watches.Go(func() { m.run(ctx) })
	}
	watches.Go(func() { c.pods.run(ctx) })
	tick := time.NewTicker(c.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.changed:
		}
		c.look(ctx)
	}
}

// look brings decider and cluster together once. What fails is said, and tried at the next.
func (c *Controller) look(ctx context.Context) {
	pods, _ := c.pods.all()
	told := map[elastic.Event]bool{}
	for _, k := range kinds {
		objects, listed := c.mirrors[k].all()
		if !listed {
			continue
		}
		here := map[string]bool{}
		for _, o := range objects {
			if _, ok := o.GetAnnotations()[Annotation]; !ok || k.ended(o) || o.GetDeletionTimestamp() != nil {
				continue
			}
			id := jobID(k, o)
			here[id] = true
			w, err := newWorkload(k, o)
			if err == nil {
				var events []elastic.Event
				for _, pod := range pods {
					events = append(events, w.events(pod, time.Now())...)
				}
				slices.SortStableFunc(events, func(a, b elastic.Event) int { return a.Time.Compare(b.Time) })
				err = c.drive(ctx, w, pods, events, told)
			}
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				err = fmt.Errorf("%s %s/%s: %w", k.name, o.GetNamespace(), o.GetName(), err)
			}
			c.say(id, err)
		}
		c.finish(ctx, k, here)
	}
	c.told = told
	here := map[string]bool{}
	for _, pod := range pods {
		here[string(pod.GetUID())] = true
	}
	maps.DeleteFunc(c.resized, func(uid string, _ int) bool { return !here[uid] })
}

// drive tells the decider of one workload and does what it decided. Events that were told
// are added to told.
func (c *Controller) drive(ctx context.Context, w *workload, pods []*unstructured.Unstructured, events []elastic.Event, told map[elastic.Event]bool) error {
	id := w.job.ID
	if c.jobs[id] == nil {
		if w.job.Current.Workers.Replicas == 0 {
			return errors.New("it asks for no workers; waiting until it does")
		}
		if err := c.Decider.Start(ctx, w.job); err != nil {
			return err
		}
		c.jobs[id] = w.kind
	}
	var news []elastic.Event
	for _, e := range events {
		if !c.told[once(e)] {
			news = append(news, e)
		}
	}
	if len(news) > 0 {
		if err := c.Decider.Notice(ctx, news...); err != nil {
			return err
		}
	}
	for _, e := range events {
		told[once(e)] = true
	}
	d, err := c.Decider.Plan(ctx, id)
	if errors.Is(err, elastic.ErrUnknownJob) { // ended from elsewhere; started again at the next look
		delete(c.jobs, id)
	}
	if err != nil {
		return err
	}
	var standing string
	if c.Apply {
		c.resize(ctx, w, d, pods)
		if standing, err = c.apply(ctx, w, d); err != nil {
			if unsaid := c.advise(ctx, w, newAdvice(d, "it failed; see the controller's log")); unsaid != nil {
				err = fmt.Errorf("%w; nor could advice be written: %w", err, unsaid)
			}
			return err
		}
	}
	return c.advise(ctx, w, newAdvice(d, standing))
}

// once is what makes an event the same: the limit of its pod may have changed since.
func once(e elastic.Event) elastic.Event {
	e.Memory = 0
	return e
}

// finish ends the jobs of a kind that are no longer here.
func (c *Controller) finish(ctx context.Context, k *kind, here map[string]bool) {
	for id, of := range c.jobs {
		if of != k || here[id] {
			continue
		}
		if err := c.Decider.Finish(ctx, id); err != nil && !errors.Is(err, elastic.ErrUnknownJob) {
			c.say(id, fmt.Errorf("job %s: %w", id, err))
			continue
		}
		c.say(id, nil)
		delete(c.jobs, id)
		delete(c.applied, id)
	}
}
