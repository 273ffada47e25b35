package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/karasu-project/karasu/optimizer/elastic"
)

var (
	deployments = kinds[0].resource
	elasticJobs = kinds[2].resource
	crds        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	bindings    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	roles       = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
)

const described = `karasu.dev/elastic: '{"infrastructure":"on-prem","framework":"pytorch","algorithm":"bert","mode":"allreduce","max_workers":8}'`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: default, annotations: {` + described + `}}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: train, image: none, resources: {requests: {cpu: "2", memory: 1Gi}, limits: {memory: 1Gi}}}]}
`

const elasticJob = `
apiVersion: elastic.iml.github.io/v1alpha1
kind: ElasticJob
metadata: {name: NAME, namespace: default, annotations: {` + described + `}}
spec:
  replicaSpecs:
    worker:
      replicas: 2
      template: {spec: {containers: [{name: main, image: none, resources: {limits: {cpu: "4", memory: 8Gi}}}]}}
`

const elasticJobCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: elasticjobs.elastic.iml.github.io}
spec:
  group: elastic.iml.github.io
  scope: Namespaced
  names: {plural: elasticjobs, singular: elasticjob, kind: ElasticJob, listKind: ElasticJobList}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status:
              type: object
              properties:
                phase: {type: string}
                conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string},
                  reason: {type: string}, message: {type: string}, lastTransitionTime: {type: string, format: date-time}}}}
`

// pod of a deployment.
const pod = `
apiVersion: v1
kind: Pod
metadata: {name: NAME-0, namespace: default, labels: {app: NAME}}
spec: {nodeName: nowhere, containers: [{name: train, image: none, resources: {requests: {cpu: "2", memory: 1Gi}, limits: {memory: 1Gi}}}]}
`

func named(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }

func (c *cluster) patch(r schema.GroupVersionResource, name, text string, parts ...string) {
	c.t.Helper()
	raw, err := yaml.ToJSON([]byte(text))
	if err == nil {
		_, err = c.admin.Resource(r).Namespace("default").Patch(context.Background(), name, types.MergePatchType, raw, metav1.PatchOptions{FieldManager: "admin"}, parts...)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// decider keeps jobs and says what the test wants of them.
type decider struct {
	mu     sync.Mutex
	jobs   map[string]elastic.Decision
	events []elastic.Event
	ended  []string
}

func (d *decider) Start(_ context.Context, j elastic.Job) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.jobs[j.ID]; !ok {
		d.jobs[j.ID] = elastic.Decision{Number: 1, Time: time.Unix(1e9, 0), Kind: elastic.Start, Plan: j.Current, Before: j.Current, Reason: "it runs already"}
	}
	return nil
}

func (d *decider) Plan(_ context.Context, id string) (elastic.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v, ok := d.jobs[id]; ok {
		return v, nil
	}
	return elastic.Decision{}, elastic.ErrUnknownJob
}

func (d *decider) Notice(_ context.Context, events ...elastic.Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, events...)
	return nil
}

func (d *decider) Finish(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.jobs, id)
	d.ended = append(d.ended, id)
	return nil
}

// knows tells whether a job of an object is kept.
func (d *decider) knows(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.jobs {
		if strings.Contains(id, "/"+name+"@") {
			return true
		}
	}
	return false
}

// change decides for a job: so many workers, of so much memory where it is not 0.
func (d *decider) change(name string, workers int, memory float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, v := range d.jobs {
		if strings.Contains(id, "/"+name+"@") {
			v.Before = v.Plan
			v.Number++
			v.Kind, v.Reason, v.Plan.Workers.Replicas = elastic.Grow, "the test says so", workers
			if memory > 0 {
				v.Plan.Workers.Pod.Memory = memory
			}
			d.jobs[id] = v
		}
	}
}

func (d *decider) count(kind elastic.EventKind, pod string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		if e.Kind == kind && e.Pod == pod {
			n++
		}
	}
	return n
}

// logged is a log to read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) has(text string) bool { return l.times(text) > 0 }

func (l *logged) times(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// follow runs a controller as a user, until the end of the test or stop is called.
func (c *cluster) follow(user string, apply bool) (d *decider, log *logged, stop func()) {
	d, log = &decider{jobs: map[string]elastic.Decision{}}, &logged{}
	k, err := New(Options{
		Config: c.config(user), Decider: d, Apply: apply, Namespace: "default",
		Interval: 100 * time.Millisecond, Retry: 200 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	stop = func() { cancel(); <-done }
	c.t.Cleanup(stop)
	return d, log, stop
}

func replicas(k *kind, o *unstructured.Unstructured) int {
	if o == nil {
		return -1
	}
	return k.count(o, elastic.Worker)
}

// advice on a deployment or a custom object; the zero value while there is none.
func advice(o *unstructured.Unstructured) (a Advice) {
	if o == nil {
		return a
	}
	text := o.GetAnnotations()[AdviceAnnotation]
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, v := range conditions {
		if m, _ := v.(map[string]any); m["type"] == AdviceCondition {
			text, _ = m["message"].(string)
		}
	}
	_ = json.Unmarshal([]byte(text), &a)
	return a
}

// grant creates the roles of scripts/kubernetes/rbac.yaml and binds some to a user.
func (c *cluster) grant(user string, names ...string) {
	for _, name := range names {
		c.create(bindings, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: `+user+"-"+name+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: `+name+`}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: `+user+`}]
`)
	}
}

func TestCluster(t *testing.T) {
	c := newCluster(t)
	manifest, err := os.ReadFile("../../scripts/kubernetes/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(string(manifest), "\n---\n") {
		c.create(roles, text)
	}
	c.grant("adviser", "karasu-elastic-advise")
	c.grant("applier", "karasu-elastic-advise", "karasu-elastic-apply")

	// Who may nothing is told which verb on which resource; a scale that is not granted too.
	_, log, stop := c.follow("nobody", false)
	c.until("denied", func() bool {
		return log.has("does not allow to list deployments.apps") && log.has("does not allow to list pods")
	})
	stop()

	c.create(deployments, named(deployment, "plain"))
	d, log, stop := c.follow("adviser", false)
	c.until("the missing sort is said", func() bool { return log.has("has no elasticjobs.elastic.iml.github.io") })
	c.until("a deployment is known without it", func() bool { return d.knows("plain") })
	c.create(crds, elasticJobCRD)
	c.until("an ElasticJob is taken", func() bool {
		_, err := c.admin.Resource(elasticJobs).Namespace("default").Create(context.Background(), parse(t, named(elasticJob, "dl")), metav1.CreateOptions{})
		return err == nil
	})
	c.until("it is known once its sort is there", func() bool { return d.knows("dl") })
	d.change("plain", 4, 0)
	d.change("dl", 3, 0)
	c.until("advice is written", func() bool {
		a, b := advice(c.get(deployments, "plain")), advice(c.get(elasticJobs, "dl"))
		return a.Plan.Workers.Replicas == 4 && a.Reason == "the test says so" && b.Plan.Workers.Replicas == 3
	})
	if n, m := replicas(kinds[0], c.get(deployments, "plain")), replicas(kinds[2], c.get(elasticJobs, "dl")); n != 2 || m != 2 {
		t.Errorf("advice scaled: %d and %d workers, want 2 and 2", n, m)
	}
	stop()

	// The role of an adviser does not let it scale, whatever it wants.
	d, log, stop = c.follow("adviser", true)
	c.until("known", func() bool { return d.knows("plain") && d.knows("dl") })
	d.change("plain", 4, 0)
	d.change("dl", 3, 0)
	c.until("scaling is denied", func() bool {
		return log.has("does not allow to get deployments.apps/scale") && log.has("does not allow to patch elasticjobs.elastic.iml.github.io")
	})
	if n, m := replicas(kinds[0], c.get(deployments, "plain")), replicas(kinds[2], c.get(elasticJobs, "dl")); n != 2 || m != 2 {
		t.Errorf("an adviser scaled: %d and %d workers, want 2 and 2", n, m)
	}
	stop()

	d, log, _ = c.follow("applier", true)
	c.until("known", func() bool { return d.knows("plain") && d.knows("dl") })
	d.change("plain", 4, 0)
	d.change("dl", 3, 0)
	c.until("both are scaled", func() bool {
		return replicas(kinds[0], c.get(deployments, "plain")) == 4 && replicas(kinds[2], c.get(elasticJobs, "dl")) == 3
	})

	// Another writer: its number stays, and the advice says so.
	c.patch(deployments, "plain", `spec: {replicas: 7}`)
	d.change("plain", 5, 0)
	c.until("it stands back", func() bool {
		return strings.Contains(advice(c.get(deployments, "plain")).Standing, "somebody else set 7")
	})
	if n := replicas(kinds[0], c.get(deployments, "plain")); n != 7 {
		t.Errorf("%d workers, want the other writer's 7", n)
	}
	// Out of bounds, whoever decides it.
	d.change("dl", 9, 0)
	c.until("bounds hold", func() bool { return strings.Contains(advice(c.get(elasticJobs, "dl")).Standing, "not between 1 and 8") })

	// Troubles of pods, while the API server is away for a moment.
	c.create(podResource, named(pod, "plain"))
	c.status(podResource, "plain-0", `status: {phase: Running, containerStatuses: [{name: train, image: none, imageID: none, ready: true, restartCount: 1,
      lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: "2026-03-01T12:00:00Z"}}}]}`)
	c.until("OOM is told", func() bool { return d.count(elastic.OutOfMemory, "plain-0") == 1 })
	d.change("plain", 5, 2<<30)
	c.until("the pod is resized in place", func() bool {
		o := c.get(podResource, "plain-0")
		if o == nil {
			return false
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "containers")
		return containerResources(containers[0]).Memory == 2<<30
	})
	c.create(podResource, strings.ReplaceAll(named(pod, "plain"), "plain-0", "plain-1"))
	stopProgram(c.server)
	c.until("it is said", func() bool { return log.has("watch deployments.apps") || log.has("list deployments.apps") })
	c.startServer()
	c.status(podResource, "plain-1", `status: {phase: Failed, reason: Evicted, conditions: [{type: DisruptionTarget, status: "True", lastTransitionTime: "2026-03-01T12:30:00Z"}]}`)
	c.until("the eviction is told", func() bool { return d.count(elastic.Evicted, "plain-1") == 1 })
	if n := d.count(elastic.OutOfMemory, "plain-0"); n != 1 {
		t.Errorf("OOM told %d times, want once", n)
	}

	c.conflict()
	if err := c.admin.Resource(elasticJobs).Namespace("default").Delete(context.Background(), "dl", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("a job that is gone has ended", func() bool { return !d.knows("dl") })
}

// conflict scales an ElasticJob of 3 workers while somebody else writes to it between the
// controller's read and its first write.
func (c *cluster) conflict() {
	writes := 0
	config := c.config("applier")
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch {
				if writes++; writes == 1 {
					c.patch(elasticJobs, "dl", `metadata: {labels: {other: writer}}`)
				}
			}
			return next.RoundTrip(r)
		})
	})
	k, err := New(Options{Config: config, Namespace: "default"})
	if err != nil {
		c.t.Fatal(err)
	}
	w, err := newWorkload(kinds[2], c.get(elasticJobs, "dl"))
	if err != nil {
		c.t.Fatal(err)
	}
	standing, err := k.scale(context.Background(), w, elastic.Worker, 3, 4)
	o := c.get(elasticJobs, "dl")
	if err != nil || standing != "" || writes != 2 || replicas(kinds[2], o) != 4 || o.GetLabels()["other"] != "writer" {
		c.t.Errorf("after a conflict: %v %q, %d writes, want 2; %d workers, want 4; labels %v", err, standing, writes, replicas(kinds[2], o), o.GetLabels())
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func FuzzParseDescription(f *testing.F) {
	f.Add(`{"infrastructure":"on-prem","framework":"pytorch","algorithm":"bert","mode":"allreduce","max_workers":8}`)
	f.Add(`{"max_workers":8}{}`)
	f.Add(`{"max_workers":-1,"batch":1e99}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDescription(text)
		if err != nil && !errors.Is(err, elastic.ErrInvalid) {
			t.Errorf("%q: %v is not ErrInvalid", text, err)
		}
		if err == nil && d.MaxWorkers == 0 {
			t.Errorf("%q: no bound", text)
		}
	})
}
