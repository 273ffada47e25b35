package kubernetes

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karasu-project/karasu/optimizer/elastic"
)

// kind is a sort of object that runs a training job.
type kind struct {
	name     string
	resource schema.GroupVersionResource
	// custom objects keep advice in a condition of their status and are scaled by their spec;
	// the others keep it in an annotation and have a scale.
	custom bool
	// replicas of custom objects: the field that holds, by role, the specifications of pods.
	replicas string
	roles    map[elastic.Role]string
	// jobLabel and roleLabel are how pods of custom objects name their job and role.
	jobLabel, roleLabel string
}

var (
	podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	kinds       = []*kind{
		{name: "Deployment", resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}},
		{name: "StatefulSet", resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}},
		{
			name: "ElasticJob", custom: true,
			resource: schema.GroupVersionResource{Group: "elastic.iml.github.io", Version: "v1alpha1", Resource: "elasticjobs"},
			replicas: "replicaSpecs", roles: map[elastic.Role]string{elastic.Worker: "worker", elastic.Server: "ps"},
			jobLabel: "elasticjob.dlrover/name", roleLabel: "elasticjob.dlrover/replica-type",
		},
		kubeflow("PyTorchJob", "pytorchjobs", "pytorchReplicaSpecs", map[elastic.Role]string{elastic.Worker: "Worker"}),
		kubeflow("TFJob", "tfjobs", "tfReplicaSpecs", map[elastic.Role]string{elastic.Worker: "Worker", elastic.Server: "PS"}),
	}
)

func kubeflow(name, resource, replicas string, roles map[elastic.Role]string) *kind {
	return &kind{
		name: name, custom: true, resource: schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: resource},
		replicas: replicas, roles: roles,
		jobLabel: "training.kubeflow.org/job-name", roleLabel: "training.kubeflow.org/replica-type",
	}
}

// field is the path of a field of what runs in a role.
func (k *kind) field(role elastic.Role, name string) []string {
	if !k.custom {
		return []string{"spec", name}
	}
	return []string{"spec", k.replicas, k.roles[role], name}
}

// count is how many pods of a role an object asks for. Without a number it is 1, as
// Kubernetes has it; without the role it is none.
func (k *kind) count(o *unstructured.Unstructured, role elastic.Role) int {
	if _, ok := k.roles[role]; !ok && (k.custom || role != elastic.Worker) {
		return 0
	}
	n, ok, err := unstructured.NestedInt64(o.Object, k.field(role, "replicas")...)
	if err != nil {
		return 0
	}
	if !ok {
		if _, has, _ := unstructured.NestedMap(o.Object, k.field(role, "template")...); !has {
			return 0
		}
		return 1
	}
	return int(n)
}

// ended tells whether an object says that its job is over.
func (k *kind) ended(o *unstructured.Unstructured) bool {
	if !k.custom {
		return false
	}
	if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase == "Succeeded" || phase == "Failed" {
		return true
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["status"] == "True" && (c["type"] == "Succeeded" || c["type"] == "Failed") {
			return true
		}
	}
	return false
}
