package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
	"github.com/karasu-project/karasu/optimizer/elastic"
)

const (
	// Annotation of an object whose job is to be decided for: a [Description] in JSON.
	Annotation = "karasu.dev/elastic"
	// AdviceAnnotation holds the [Advice] on Deployments and StatefulSets.
	AdviceAnnotation = "karasu.dev/elastic-advice"
	// AdviceCondition is the type of the condition that says the same of custom objects.
	AdviceCondition = "KarasuAdvice"

	// maxDescription bounds the annotation in bytes.
	maxDescription = 4 << 10
)

// Description says what an object trains, and within which bounds it may be changed.
type Description struct {
	Infrastructure string          `json:"infrastructure"`
	Framework      string          `json:"framework"`
	Algorithm      string          `json:"algorithm"`
	Mode           throughput.Mode `json:"mode"`
	MachineType    string          `json:"machine_type,omitempty"`
	Batch          int             `json:"batch,omitempty"`
	GlobalBatch    int             `json:"global_batch,omitempty"`
	TotalSteps     int64           `json:"total_steps,omitempty"`
	TotalSamples   float64         `json:"total_samples,omitempty"`
	elastic.Bounds
}

// ParseDescription reads the annotation, strictly: a misspelt bound would be none. Errors
// wrap elastic.ErrInvalid.
func ParseDescription(text string) (Description, error) {
	var out Description
	if len(text) > maxDescription {
		return out, fmt.Errorf("longer than %d bytes: %w", maxDescription, elastic.ErrInvalid)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return Description{}, fmt.Errorf("want a JSON object such as {\"infrastructure\":\"on-prem\",\"framework\":\"pytorch\",\"algorithm\":\"bert\",\"mode\":\"allreduce\",\"max_workers\":8}: %w: %w",
			err, elastic.ErrInvalid)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Description{}, fmt.Errorf("more than one JSON object: %w", elastic.ErrInvalid)
	}
	if out.MaxWorkers == 0 {
		return Description{}, fmt.Errorf("max_workers is missing; say how many workers there may be: %w", elastic.ErrInvalid)
	}
	return out, nil
}

// workload is an object with what it runs.
type workload struct {
	kind   *kind
	object *unstructured.Unstructured
	job    elastic.Job
}

// newWorkload reads an object that carries the annotation.
func newWorkload(k *kind, o *unstructured.Unstructured) (*workload, error) {
	d, err := ParseDescription(o.GetAnnotations()[Annotation])
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", Annotation, err)
	}
	w := &workload{kind: k, object: o, job: elastic.Job{
		ID:    jobID(k, o),
		Topic: model.Topic{Infrastructure: d.Infrastructure, Framework: d.Framework, Algorithm: d.Algorithm},
		Mode:  d.Mode, MachineType: d.MachineType, Batch: d.Batch, GlobalBatch: d.GlobalBatch,
		TotalSteps: d.TotalSteps, TotalSamples: d.TotalSamples, Bounds: d.Bounds,
		Submitted: o.GetCreationTimestamp().UTC(),
	}}
	for role, group := range map[elastic.Role]*elastic.Group{elastic.Worker: &w.job.Current.Workers, elastic.Server: &w.job.Current.Servers} {
		if group.Replicas = k.count(o, role); group.Replicas == 0 {
			continue
		}
		containers, _, err := unstructured.NestedSlice(o.Object, append(k.field(role, "template"), "spec", "containers")...)
		if err != nil || len(containers) == 0 {
			return nil, fmt.Errorf("%s: no containers: %w", strings.Join(k.field(role, "template"), "."), elastic.ErrInvalid)
		}
		group.Pod = containerResources(containers[0])
	}
	if !d.Mode.Servers() {
		w.job.Current.Servers = elastic.Group{}
	}
	return w, w.job.Validate()
}

// jobID names an object's job. Another object of the same name is another job.
func jobID(k *kind, o *unstructured.Unstructured) string {
	uid := string(o.GetUID())
	return fmt.Sprintf("%s/%s/%s@%s", o.GetNamespace(), strings.ToLower(k.name), o.GetName(), uid[:min(8, len(uid))])
}

// containerResources is what the first container of a pod may use, else what it asks for:
// the one that trains. 0 is unknown.
func containerResources(container any) elastic.Resources {
	c, _ := container.(map[string]any)
	get := func(name string) float64 {
		for _, sort := range []string{"limits", "requests"} {
			v, ok, _ := unstructured.NestedFieldNoCopy(c, "resources", sort, name)
			if !ok {
				continue
			}
			if q, err := resource.ParseQuantity(fmt.Sprint(v)); err == nil && q.Sign() > 0 {
				return q.AsApproximateFloat64()
			}
		}
		return 0
	}
	return elastic.Resources{CPU: get("cpu"), Memory: get("memory")}
}
