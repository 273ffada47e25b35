package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

const (
	// pageSize is how many objects one answer to a list may hold.
	pageSize = 500
	// maxObjects of one sort bounds what is kept of a namespace.
	maxObjects = 50_000
	// watchSeconds is how long one watch may last; the next goes on where it ended.
	watchSeconds = 290
)

var errTooMany = fmt.Errorf("more than %d objects; narrow the namespace", maxObjects)

// mirror keeps a copy of all objects of one resource in a namespace, over watches that
// break: it then lists them again, so nothing that still exists is lost.
type mirror struct {
	client   dynamic.ResourceInterface
	resource schema.GroupVersionResource
	retry    time.Duration
	// changed is told without waiting whenever the copy has changed.
	changed chan<- struct{}
	// say tells what went wrong, once until it is another thing.
	say func(error)

	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured // by namespace/name
	listed  bool
}

// all returns the copy, which is not to be changed, and whether it is one of a whole list.
func (m *mirror) all() ([]*unstructured.Unstructured, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*unstructured.Unstructured, 0, len(m.objects))
	for _, o := range m.objects {
		out = append(out, o)
	}
	return out, m.listed
}

// run keeps the copy until the context ends.
func (m *mirror) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := m.follow(ctx)
		if err == nil {
			continue // the watch ended in time, or what it would go on from is forgotten
		}
		if ctx.Err() != nil {
			return
		}
		m.say(explain(err, m.resource))
		select {
		case <-ctx.Done():
		case <-time.After(m.retry):
		}
	}
}

// follow lists and watches until the watch ends.
func (m *mirror) follow(ctx context.Context) error {
	version, err := m.list(ctx)
	if err != nil {
		return err
	}
	m.say(nil)
	for {
		seconds := int64(watchSeconds)
		w, err := m.client.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds})
		if err != nil {
			return verb{"watch", err}
		}
		began := time.Now()
		version, err = m.take(ctx, w, version)
		w.Stop()
		if err != nil || version == "" {
			return err
		}
		if time.Since(began) < m.retry { // a server that goes away ends watches at once
			return verb{"watch", errors.New("the connection ended")}
		}
	}
}

// list replaces the copy.
func (m *mirror) list(ctx context.Context) (version string, err error) {
	objects := map[string]*unstructured.Unstructured{}
	next := ""
	for {
		page, err := m.client.List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return "", verb{"list", err}
		}
		for i := range page.Items {
			o := &page.Items[i]
			objects[o.GetNamespace()+"/"+o.GetName()] = o
		}
		if len(objects) > maxObjects {
			return "", verb{"list", errTooMany}
		}
		version, next = page.GetResourceVersion(), page.GetContinue()
		if next == "" {
			break
		}
	}
	m.mu.Lock()
	m.objects, m.listed = objects, true
	m.mu.Unlock()
	m.tell()
	return version, nil
}

// take applies what a watch says. An empty version is one to list again from.
func (m *mirror) take(ctx context.Context, w watch.Interface, version string) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case e, open := <-w.ResultChan():
			if !open {
				return version, nil
			}
			if e.Type == watch.Error {
				err := apierrors.FromObject(e.Object)
				if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
					return "", nil
				}
				return "", verb{"watch", err}
			}
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				return "", verb{"watch", fmt.Errorf("answered with %T", e.Object)}
			}
			version = o.GetResourceVersion()
			if e.Type == watch.Bookmark {
				continue
			}
			if err := m.put(o, e.Type == watch.Deleted); err != nil {
				return "", err
			}
		}
	}
}

func (m *mirror) put(o *unstructured.Unstructured, gone bool) error {
	m.mu.Lock()
	key := o.GetNamespace() + "/" + o.GetName()
	if gone {
		delete(m.objects, key)
	} else {
		m.objects[key] = o
	}
	n := len(m.objects)
	m.mu.Unlock()
	m.tell()
	if n > maxObjects {
		return verb{"watch", errTooMany}
	}
	return nil
}

func (m *mirror) tell() {
	select {
	case m.changed <- struct{}{}:
	default: // it has been told, and has not looked yet
	}
}

// verb says what was asked of the API server when it failed.
type verb struct {
	name string
	error
}

func (v verb) Unwrap() error { return v.error }

// explain makes one line of an API server's answer: which verb on which resource, and what
// to do.
func explain(err error, r schema.GroupVersionResource) error {
	what, name := r.GroupResource().String(), "read"
	if resource, part, ok := strings.Cut(r.Resource, "/"); ok {
		what = schema.GroupResource{Group: r.Group, Resource: resource}.String() + "/" + part
	}
	var v verb
	if errors.As(err, &v) {
		name = v.name
	}
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the cluster does not allow to %s %s; grant it, see scripts/kubernetes/rbac.yaml: %w", name, what, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster does not know this user (%s %s); renew the kubeconfig's credentials: %w", name, what, err)
	case apierrors.IsNotFound(err) && name == "list":
		return fmt.Errorf("the cluster has no %s; going on without, until they are there", what)
	}
	return fmt.Errorf("%s %s: %w", name, what, err)
}
