package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// How many pods are looked at at a time: one that ends may take a while.
const workers = 8

// pods runs what is bound to the node: each pod is looked at as a whole, whenever it or a process of its changes.
type pods struct {
	client   rest.Interface
	guard    *guard
	folder   string
	ip       net.IP
	store    cache.Store
	informer cache.Controller
	queue    workqueue.TypedRateLimitingInterface[string]
	lock     sync.Mutex
	runs     map[string]*podRun
	isEnding bool
}

func newPods(client rest.Interface, guard *guard, o options, ip net.IP) *pods {
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	p := &pods{
		client: client, guard: guard, folder: o.folder, ip: ip,
		queue: workqueue.NewTypedRateLimitingQueue(limiter), runs: map[string]*podRun{},
	}
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			p.queue.Add(key)
		}
	}
	bound := fields.OneTermEqualSelector("spec.nodeName", o.nodeName)
	p.store, p.informer = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client, "pods", metav1.NamespaceAll, bound),
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: add, DeleteFunc: add, UpdateFunc: func(_, object any) { add(object) },
		},
	})
	return p
}

// watch begins to run pods; it returns once it knows those that are there.
func (p *pods) watch(ctx context.Context) error {
	go p.informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), p.informer.HasSynced) {
		return errors.New("ended before the pods were listed")
	}
	for range workers {
		go p.work(ctx)
	}
	context.AfterFunc(ctx, p.queue.ShutDown)
	return nil
}

func (p *pods) work(ctx context.Context) {
	for {
		key, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		if err := p.sync(ctx, key); err != nil && ctx.Err() == nil {
			log.Printf("pod %s: %v", key, err)
			p.queue.AddRateLimited(key)
		} else {
			p.queue.Forget(key)
		}
		p.queue.Done(key)
	}
}

func (p *pods) sync(ctx context.Context, key string) error {
	object, exists, err := p.store.GetByKey(key)
	if err != nil {
		return err
	}
	run := p.runOf(key)
	if !exists {
		p.forget(key, run)
		return nil
	}
	pod := object.(*corev1.Pod)
	if run != nil && run.uid != pod.UID {
		p.forget(key, run)
		run = nil
	}
	if pod.DeletionTimestamp != nil {
		return p.terminate(ctx, key, pod, run)
	}
	if run == nil {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			return nil
		}
		if run = p.begin(key, pod); run == nil {
			return nil
		}
	}
	again := run.startMissing(pod, p.guard, func() { p.queue.Add(key) })
	if again > 0 {
		p.queue.AddAfter(key, again)
	}
	return p.report(ctx, pod, run)
}

func (p *pods) runOf(key string) *podRun {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.runs[key]
}

// begin makes a pod known; nil once all of them have been ended.
func (p *pods) begin(key string, pod *corev1.Pod) *podRun {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.isEnding {
		return nil
	}
	run := &podRun{
		uid: pod.UID, folder: filepath.Join(p.folder, string(pod.UID)),
		startedAt: metav1.Now(), containers: map[string]*container{},
	}
	p.runs[key] = run
	return run
}

// find returns a container that has been started here.
func (p *pods) find(key, name string) (*container, bool) {
	run := p.runOf(key)
	if run == nil {
		return nil, false
	}
	run.lock.Lock()
	defer run.lock.Unlock()
	found, ok := run.containers[name]
	return found, ok
}

// terminate ends the processes of a pod that is being deleted, and then lets it go.
func (p *pods) terminate(ctx context.Context, key string, pod *corev1.Pod, run *podRun) error {
	if run != nil {
		grace := time.Duration(0)
		if pod.DeletionGracePeriodSeconds != nil {
			grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
		}
		run.stop(grace)
		if err := p.report(ctx, pod, run); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	now := metav1.DeleteOptions{
		GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &pod.UID},
	}
	err := p.client.Delete().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).Body(&now).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	p.forget(key, run)
	return nil
}

// forget ends what runs, at once, and removes the folder.
func (p *pods) forget(key string, run *podRun) {
	if run == nil {
		return
	}
	run.stop(0)
	_ = os.RemoveAll(run.folder)
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.runs[key] == run {
		delete(p.runs, key)
	}
}

// endAll ends every process here, and removes the folder of all pods. Their objects stay.
func (p *pods) endAll() {
	p.lock.Lock()
	p.isEnding = true
	all := make([]*podRun, 0, len(p.runs))
	for _, run := range p.runs {
		all = append(all, run)
	}
	p.lock.Unlock()
	for _, run := range all {
		run.stop(0)
	}
	_ = os.RemoveAll(p.folder)
}

// report says how the pod does, when there is news.
func (p *pods) report(ctx context.Context, pod *corev1.Pod, run *podRun) error {
	fields := map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   statusOf(pod, run, p.ip),
	}
	text, err := json.Marshal(fields)
	if err != nil || run.reported == string(text) {
		return err
	}
	if err := patchStatus(ctx, p.client, "pods", pod.Namespace, pod.Name, fields); err != nil {
		return err
	}
	run.reported = string(text)
	return nil
}
