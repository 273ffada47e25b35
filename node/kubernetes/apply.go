package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karasu-project/karasu/optimizer/elastic"
)

// outcome of a decision.
type outcome struct {
	number   int
	standing string // why it was not carried out; empty if it was
}

// apply scales a workload from what a decision was made on to what it says. Where somebody
// else has set another number meanwhile, it stands back, says so, and does not try that
// decision again. An error is one that may pass.
func (c *Controller) apply(ctx context.Context, w *workload, d elastic.Decision) (standing string, err error) {
	if last, ok := c.applied[w.job.ID]; ok && last.number >= d.Number {
		return last.standing, nil
	}
	for _, g := range []struct {
		role           elastic.Role
		before, target int
		least, most    int
	}{
		{elastic.Worker, d.Before.Workers.Replicas, d.Plan.Workers.Replicas, max(1, w.job.Bounds.MinWorkers), w.job.Bounds.MaxWorkers},
		{elastic.Server, d.Before.Servers.Replicas, d.Plan.Servers.Replicas, max(1, w.job.Bounds.MinServers), w.job.Bounds.MaxServers},
	} {
		if w.kind.count(w.object, g.role) == 0 || g.target == g.before && g.role == elastic.Server {
			continue // it has none of that role
		}
		if g.target < g.least || g.most > 0 && g.target > g.most {
			standing = fmt.Sprintf("%d of role %s are not between %d and %d", g.target, g.role, g.least, g.most)
			continue
		}
		s, err := c.scale(ctx, w, g.role, g.before, g.target)
		if err != nil {
			return "", err
		}
		if s != "" {
			standing = s
		}
	}
	c.applied[w.job.ID] = outcome{d.Number, standing}
	return standing, nil
}

// scale sets the number of pods of a role to the target if it is what it was before.
func (c *Controller) scale(ctx context.Context, w *workload, role elastic.Role, before, target int) (standing string, err error) {
	parts, part := []string{"scale"}, "scale"
	if w.kind.custom {
		parts, part = nil, ""
	}
	name := w.object.GetName()
	for try := 1; ; try++ {
		o, err := c.resource(w).Get(ctx, name, metav1.GetOptions{}, parts...)
		if err != nil {
			return "", subresource(err, "get", w.kind, part)
		}
		var now int
		if w.kind.custom {
			now = w.kind.count(o, role)
		} else {
			n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas") // absent is 0
			now = int(n)
		}
		switch now {
		case target:
			return "", nil
		case before:
		default:
			return fmt.Sprintf("somebody else set %d of role %s, where it was decided to go from %d to %d", now, role, before, target), nil
		}
		if w.kind.custom {
			err = c.patchReplicas(ctx, w, o.GetResourceVersion(), role, target)
		} else {
			if err := unstructured.SetNestedField(o.Object, int64(target), "spec", "replicas"); err != nil {
				return "", fmt.Errorf("scale: %w", err)
			}
			_, err = c.resource(w).Update(ctx, o, metav1.UpdateOptions{FieldManager: Manager}, parts...)
			err = subresource(err, "update", w.kind, part)
		}
		if err == nil {
			c.Logger.Info("scaled", "job", w.job.ID, "role", role, "from", before, "to", target)
			return "", nil
		}
		if !apierrors.IsConflict(err) || try == attempts {
			return "", err
		}
	}
}

// patchReplicas changes the number of a role in a custom object of that version only.
func (c *Controller) patchReplicas(ctx context.Context, w *workload, version string, role elastic.Role, n int) error {
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": version}}
	if err := unstructured.SetNestedField(patch, int64(n), w.kind.field(role, "replicas")...); err != nil {
		return err
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.resource(w).Patch(ctx, w.object.GetName(), types.MergePatchType, raw, metav1.PatchOptions{FieldManager: Manager})
	return subresource(err, "patch", w.kind, "")
}

// resize gives running pods in place what the plan says, where that is not what the object
// asks for; each pod once a decision, so that nobody is fought.
func (c *Controller) resize(ctx context.Context, w *workload, d elastic.Decision, pods []*unstructured.Unstructured) {
	for _, pod := range pods {
		role, ok := w.role(pod)
		phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
		if !ok || phase != "Running" || pod.GetDeletionTimestamp() != nil || c.resized[string(pod.GetUID())] >= d.Number {
			continue
		}
		asked, want := w.job.Current.Workers.Pod, d.Plan.Workers.Pod
		if role == elastic.Server {
			asked, want = w.job.Current.Servers.Pod, d.Plan.Servers.Pod
		}
		if own, ok := d.Plan.Pods[pod.GetName()]; ok {
			want = own
		}
		patch := resizePatch(pod, asked, want)
		if patch == nil {
			continue
		}
		raw, err := json.Marshal(patch)
		if err != nil {
			c.say("resize "+w.job.ID, err)
			return
		}
		_, err = c.client.Resource(podResource).Namespace(pod.GetNamespace()).
			Patch(ctx, pod.GetName(), types.StrategicMergePatchType, raw, metav1.PatchOptions{FieldManager: Manager}, "resize")
		switch {
		case apierrors.IsConflict(err): // the next look has the pod as it is
			continue
		case err != nil:
			r := podResource
			r.Resource += "/resize"
			err = explain(verb{"patch", err}, r)
			c.say("resize "+w.job.ID, err)
		default:
			c.Logger.Info("resized", "job", w.job.ID, "pod", pod.GetName(), "cpu", want.CPU, "memory", want.Memory)
		}
		c.resized[string(pod.GetUID())] = d.Number
	}
}

// resizePatch sets requests and limits that a pod's first container has, of what the plan
// changes; nil where it has them already.
func resizePatch(pod *unstructured.Unstructured, asked, want elastic.Resources) map[string]any {
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	if len(containers) == 0 {
		return nil
	}
	first, _ := containers[0].(map[string]any)
	has := containerResources(first)
	change := map[string]string{}
	differ := func(a, b float64) bool { return b > 0 && math.Abs(a-b) > .001*b }
	if differ(asked.CPU, want.CPU) && differ(has.CPU, want.CPU) {
		change["cpu"] = strconv.FormatInt(int64(math.Ceil(want.CPU*1000)), 10) + "m"
	}
	if differ(asked.Memory, want.Memory) && differ(has.Memory, want.Memory) {
		change["memory"] = strconv.FormatInt(int64(math.Ceil(want.Memory)), 10)
	}
	resources := map[string]any{}
	for _, sort := range []string{"requests", "limits"} {
		old, _, _ := unstructured.NestedMap(first, "resources", sort)
		set := map[string]any{}
		for name, value := range change {
			if _, ok := old[name]; ok {
				set[name] = value
			}
		}
		if len(set) > 0 {
			resources[sort] = set
		}
	}
	if len(resources) == 0 {
		return nil
	}
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": pod.GetResourceVersion()},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": first["name"], "resources": resources}}},
	}
}
