// An operator of access keys as one would write it with controller-runtime, in its best configuration: typed objects, a
// cache without managedFields, no throttle, the priority queue, sixteen reconciles at a time. It writes to a key what
// the product writes: the finalizer with the time of creation, then the status, both in one reconcile, as full updates,
// which cost the API server less than an apply.
//
//	controller-runtime --kubeconfig FILE --namespace NAMESPACE
//
// It leads by a Lease in that namespace, with the product's times. The account needs get, list, watch, update and delete
// on ownedaccesskeys, update on their status and finalizers, and Leases and Events of the namespace. It prints `ready`
// once it leads and its cache has synced.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"management.platform.sh/bench/peers/internal/key"
)

const (
	workers    = 16
	stopWithin = 800 * time.Millisecond
)

func main() {
	// controller-runtime registers a flag --kubeconfig of its own.
	flags := flag.NewFlagSet("controller-runtime", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "file with the access to the API server")
	namespace := flags.String("namespace", "platform-system", "namespace of the Lease")
	_ = flags.Parse(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctrl.SetLogger(zap.New())
	if err := run(ctx, *kubeconfig, *namespace); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), key.AddToScheme(scheme)); err != nil {
		return err
	}
	grace := stopWithin
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Metrics:                       server.Options{BindAddress: "127.0.0.1:0"},
		LeaderElection:                true,
		LeaderElectionID:              "bench-controller-runtime",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &grace,
	})
	if err != nil {
		return err
	}
	reconciler := &reconciler{client: mgr.GetClient()}
	err = ctrl.NewControllerManagedBy(mgr).
		For(&key.OwnedAccessKey{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconciler)
	if err != nil {
		return err
	}
	// The manager starts it once this process leads.
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if _, err := mgr.GetCache().GetInformer(ctx, &key.OwnedAccessKey{}); err != nil {
			return err
		}
		fmt.Println("ready")
		return nil
	}))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

type reconciler struct {
	client client.Client
	// By uid, the resource version that this process wrote last: the cache may still have an older one.
	written sync.Map
}

// Reconcile does what one key needs now.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object key.OwnedAccessKey
	if err := r.client.Get(ctx, request.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.isOutdated(&object) {
		return ctrl.Result{}, nil
	}
	result, err := r.advance(ctx, &object)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// The event of whoever was first brings the key back.
		return ctrl.Result{}, nil
	}
	return result, err
}

func (r *reconciler) advance(ctx context.Context, object *key.OwnedAccessKey) (ctrl.Result, error) {
	if object.DeletionTimestamp != nil {
		return ctrl.Result{}, r.release(ctx, object)
	}
	if !key.IsAdopted(object) {
		key.Adopt(object)
		if err := r.client.Update(ctx, object); err != nil {
			return ctrl.Result{}, err
		}
		r.written.Store(object.UID, object.ResourceVersion)
		log.FromContext(ctx).Info("access key adopted", "keyID", key.IDOf(object))
	}
	now := time.Now()
	status, next := key.StatusOf(object, now)
	if !equality.Semantic.DeepEqual(status, object.Status) {
		object.Status = status
		if err := r.client.Status().Update(ctx, object); err != nil {
			return ctrl.Result{}, err
		}
		r.written.Store(object.UID, object.ResourceVersion)
	}
	switch {
	case next.IsZero():
		return ctrl.Result{}, nil
	case now.Before(next):
		return ctrl.Result{RequeueAfter: next.Sub(now)}, nil
	}
	preconditions := client.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion}
	return ctrl.Result{}, r.client.Delete(ctx, object, preconditions)
}

func (r *reconciler) release(ctx context.Context, object *key.OwnedAccessKey) error {
	r.written.Delete(object.UID)
	if !key.IsAdopted(object) {
		return nil
	}
	key.Release(object)
	if err := r.client.Update(ctx, object); err != nil {
		return err
	}
	log.FromContext(ctx).Info("access key released", "keyID", key.IDOf(object))
	return nil
}

// Whether the event of this process's last write is still to come: it brings the key back.
func (r *reconciler) isOutdated(object *key.OwnedAccessKey) bool {
	last, found := r.written.Load(object.UID)
	if !found {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.ResourceVersion, last.(string))
	return err == nil && order < 0
}
