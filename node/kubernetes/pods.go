package kubernetes

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karasu-project/karasu/optimizer/elastic"
)

// role of a pod in a workload; not ok if it is none of its pods.
func (w *workload) role(pod *unstructured.Unstructured) (role elastic.Role, ok bool) {
	labels := pod.GetLabels()
	if pod.GetNamespace() != w.object.GetNamespace() {
		return "", false
	}
	if w.kind.custom {
		for role, name := range w.kind.roles {
			if labels[w.kind.jobLabel] == w.object.GetName() && strings.EqualFold(labels[w.kind.roleLabel], name) {
				return role, true
			}
		}
		return "", false
	}
	selector, _, err := unstructured.NestedStringMap(w.object.Object, "spec", "selector", "matchLabels")
	if err != nil || len(selector) == 0 {
		return "", false
	}
	for name, value := range selector {
		if labels[name] != value {
			return "", false
		}
	}
	return elastic.Worker, true
}

// events is what a pod's status tells of its job, at the times that it tells, so that the
// same status read twice is the same event.
func (w *workload) events(pod *unstructured.Unstructured, now time.Time) []elastic.Event {
	role, ok := w.role(pod)
	if !ok {
		return nil
	}
	event := elastic.Event{Job: w.job.ID, Role: role, Pod: pod.GetName()}
	var out []elastic.Event
	add := func(kind elastic.EventKind, at string, memory float64) {
		e := event
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t = pod.GetCreationTimestamp().Time
		}
		if t.After(now) { // another clock
			t = now
		}
		if e.Kind, e.Time, e.Memory = kind, t.UTC(), memory; e.Validate() == nil {
			out = append(out, e)
		}
	}
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	limits := map[string]float64{}
	for _, c := range containers {
		if m, ok := c.(map[string]any); ok {
			name, _ := m["name"].(string)
			limits[name] = containerResources(c).Memory
		}
	}
	statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, s := range statuses {
		status, _ := s.(map[string]any)
		name, _ := status["name"].(string)
		for _, state := range []string{"lastState", "state"} {
			ended, _, _ := unstructured.NestedMap(status, state, "terminated")
			if ended["reason"] == "OOMKilled" {
				at, _ := ended["finishedAt"].(string)
				add(elastic.OutOfMemory, at, limits[name])
			}
		}
	}
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	reason, _, _ := unstructured.NestedString(pod.Object, "status", "reason")
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	at := func(kind string) (string, map[string]any) {
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == kind {
				t, _ := c["lastTransitionTime"].(string)
				return t, c
			}
		}
		return "", nil
	}
	disrupted, disruption := at("DisruptionTarget")
	if reason == "Evicted" || disruption["status"] == "True" {
		event.Pods = 1
		add(elastic.Evicted, disrupted, 0)
	}
	if since, scheduled := at("PodScheduled"); phase == "Pending" && scheduled["status"] == "False" && scheduled["reason"] == "Unschedulable" {
		event.Pods = 1
		add(elastic.Pending, since, 0)
	}
	slices.SortStableFunc(out, func(a, b elastic.Event) int { return a.Time.Compare(b.Time) })
	return out
}
