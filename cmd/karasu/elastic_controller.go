package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"connectrpc.com/connect"
	"k8s.io/client-go/tools/clientcmd"

	service "github.com/karasu-project/karasu/node/elastic"
	"github.com/karasu-project/karasu/node/kubernetes"
	"github.com/karasu-project/karasu/optimizer/elastic"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

type elasticControllerCmd struct {
	Kubeconfig string `help:"File that says which cluster, and as whom. Default: $KUBECONFIG, ~/.kube/config, or the pod's own account." placeholder:"FILE"`
	Namespace  string `help:"Namespace of the jobs. Default: all." placeholder:"NAME"`
	Mode       string `help:"advise writes recommendations to the objects; apply carries them out." words:"advise,apply" default:"advise" placeholder:"NAME"`
}

// Help implements kong's interface for examples.
func (elasticControllerCmd) Help() string {
	return `Follows ElasticJobs, PyTorchJobs, TFJobs, Deployments and StatefulSets that carry the annotation
karasu.dev/elastic, and has the daemon decide for them. It runs until it is interrupted. The roles
that it needs are in scripts/kubernetes/rbac.yaml.

Examples:

  karasu elastic controller --kubeconfig ~/.kube/config --namespace training
  karasu elastic controller --namespace training --mode apply`
}

// Run follows the cluster until Ctrl-C.
func (c elasticControllerCmd) Run(a *app) error {
	if c.Mode != "advise" && c.Mode != "apply" {
		return usagef("--mode must be advise or apply: %q", c.Mode)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return usagef("kubeconfig: %w", err)
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	if _, err := client.ListElasticJobs(a.ctx, connect.NewRequest(&karasuv1.ListElasticJobsRequest{})); err != nil {
		return err
	}
	k, err := kubernetes.New(kubernetes.Options{
		Config: config, Decider: apiDecider{client}, Namespace: c.Namespace, Apply: c.Mode == "apply",
		Logger: slog.New(slog.NewTextHandler(a.stderr, nil)),
	})
	if err != nil {
		return err
	}
	k.Run(a.ctx)
	return nil
}

// apiDecider has the daemon decide for the jobs of a cluster.
type apiDecider struct {
	client karasuv1connect.KarasuServiceClient
}

func (d apiDecider) Start(ctx context.Context, j elastic.Job) error {
	_, err := d.client.PlanElasticJob(ctx, connect.NewRequest(&karasuv1.PlanElasticJobRequest{Job: service.FromJob(j), Start: true}))
	if connect.CodeOf(err) == connect.CodeAlreadyExists {
		return nil
	}
	return err
}

func (d apiDecider) Plan(ctx context.Context, id string) (elastic.Decision, error) {
	response, err := d.client.GetElasticJob(ctx, connect.NewRequest(&karasuv1.GetElasticJobRequest{Job: id}))
	if connect.CodeOf(err) == connect.CodeNotFound || err == nil && response.Msg.GetStatus().GetFinishedUnixMillis() > 0 {
		return elastic.Decision{}, fmt.Errorf("job %q: %w", id, elastic.ErrUnknownJob)
	}
	if err != nil {
		return elastic.Decision{}, err
	}
	decisions := response.Msg.GetStatus().GetDecisions()
	if len(decisions) == 0 {
		return elastic.Decision{}, fmt.Errorf("job %q: the daemon has decided nothing", id)
	}
	last := decisions[len(decisions)-1]
	return elastic.Decision{
		Job: id, Number: int(last.GetNumber()), Time: time.UnixMilli(int64(last.GetUnixMillis())).UTC(), Kind: elastic.Kind(last.GetKind()),
		Plan: planOf(last.GetPlan()), Before: planOf(last.GetBefore()), Reason: last.GetReason(),
	}, nil
}

// planOf is what the controller needs of a plan.
func planOf(p *karasuv1.ElasticPlan) elastic.Plan {
	resources := func(r *karasuv1.ElasticResources) elastic.Resources {
		return elastic.Resources{CPU: r.GetCpu(), Memory: r.GetMemoryBytes()}
	}
	out := elastic.Plan{
		Workers: elastic.Group{Replicas: int(p.GetWorkers().GetReplicas()), Pod: resources(p.GetWorkers().GetPod())},
		Servers: elastic.Group{Replicas: int(p.GetServers().GetReplicas()), Pod: resources(p.GetServers().GetPod())},
		Replace: p.GetReplace(),
	}
	for _, pod := range p.GetPods() {
		if out.Pods == nil {
			out.Pods = map[string]elastic.Resources{}
		}
		out.Pods[pod.GetName()] = resources(pod.GetResources())
	}
	return out
}

func (d apiDecider) Notice(ctx context.Context, events ...elastic.Event) error {
	request := &karasuv1.ReportElasticRequest{}
	for _, e := range events {
		request.Events = append(request.Events, service.FromEvent(e))
	}
	_, err := d.client.ReportElastic(ctx, connect.NewRequest(request))
	return err
}

func (d apiDecider) Finish(ctx context.Context, id string) error {
	_, err := d.client.FinishElasticJob(ctx, connect.NewRequest(&karasuv1.FinishElasticJobRequest{Job: id}))
	if connect.CodeOf(err) == connect.CodeNotFound {
		return fmt.Errorf("job %q: %w", id, elastic.ErrUnknownJob)
	}
	return err
}
