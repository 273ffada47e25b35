package kubernetes

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/elastic"
)

// attempts at a write, each after a fresh read, before the next look tries again.
const attempts = 5

// Advice is what is written to an object, in JSON.
type Advice struct {
	// Number of the decision, Kind and Time as in elastic.Decision.
	Number int          `json:"number"`
	Kind   elastic.Kind `json:"kind"`
	Time   time.Time    `json:"time"`
	Plan   elastic.Plan `json:"plan"`
	Reason string       `json:"reason"`
	// Standing is why the plan was not carried out; empty where it was, or only advised.
	Standing string `json:"not_applied,omitempty"`
}

func newAdvice(d elastic.Decision, standing string) Advice {
	return Advice{Number: d.Number, Kind: d.Kind, Time: d.Time.UTC().Truncate(time.Second), Plan: d.Plan, Reason: d.Reason, Standing: standing}
}

// resource is where objects like a workload's are kept.
func (c *Controller) resource(w *workload) dynamic.ResourceInterface {
	return c.client.Resource(w.kind.resource).Namespace(w.object.GetNamespace())
}

// advise writes advice to the object, if it is not there. It goes by the status in both
// cases, so that whoever may advise need not be allowed to change what runs.
func (c *Controller) advise(ctx context.Context, w *workload, a Advice) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	text := string(raw)
	if !w.kind.custom {
		if w.object.GetAnnotations()[AdviceAnnotation] == text {
			return nil
		}
		return c.patchStatus(ctx, w, map[string]any{"metadata": map[string]any{"annotations": map[string]any{AdviceAnnotation: text}}})
	}
	o := w.object
	for try := 1; ; try++ {
		conditions, changed := withCondition(o, a, text)
		if !changed {
			return nil
		}
		err := c.patchStatus(ctx, w, map[string]any{
			"metadata": map[string]any{"resourceVersion": o.GetResourceVersion()},
			"status":   map[string]any{"conditions": conditions},
		})
		if !apierrors.IsConflict(err) || try == attempts {
			return err
		}
		if o, err = c.resource(w).Get(ctx, w.object.GetName(), metav1.GetOptions{}); err != nil {
			return explain(verb{"get", err}, w.kind.resource)
		}
	}
}

// withCondition returns an object's conditions with the advice in place of the one before.
func withCondition(o *unstructured.Unstructured, a Advice, text string) (out []any, changed bool) {
	before, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, v := range before {
		m, ok := v.(map[string]any)
		switch {
		case !ok || m["type"] != AdviceCondition:
			out = append(out, v)
		case m["message"] == text:
			return before, false
		}
	}
	reason := model.Clip(string(a.Kind))
	return append(out, map[string]any{
		"type": AdviceCondition, "status": "True", "reason": reason, "message": text,
		"lastTransitionTime": a.Time.Format(time.RFC3339),
	}), true
}

func (c *Controller) patchStatus(ctx context.Context, w *workload, patch map[string]any) error {
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.resource(w).Patch(ctx, w.object.GetName(), types.MergePatchType, raw, metav1.PatchOptions{FieldManager: Manager}, "status")
	return subresource(err, "patch", w.kind, "status")
}

// subresource says which verb on which part of an object failed. Conflicts stay as they are.
func subresource(err error, name string, k *kind, part string) error {
	if err == nil || apierrors.IsConflict(err) {
		return err
	}
	r := k.resource
	if part != "" {
		r.Resource += "/" + part
	}
	return explain(verb{name, err}, r)
}
