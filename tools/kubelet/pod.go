package main

import (
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	firstBackoff = time.Second
	// It doubles that often.
	mostDoublings = 8
)

// podRun is a pod that has been started here, by namespace/name in the map.
type podRun struct {
	uid       types.UID
	folder    string
	startedAt metav1.Time
	lock      sync.Mutex
	// By name, ephemeral ones included.
	containers map[string]*container
	// The last patch of the status.
	reported string
}

// startMissing starts what has not been started, and again what has ended and should run. It returns after what time
// to look again; 0 means not before something changes.
func (r *podRun) startMissing(pod *corev1.Pod, guard *guard, changed func()) time.Duration {
	next := time.Duration(0)
	ephemeral := map[string]bool{}
	specs := append([]corev1.Container{}, pod.Spec.Containers...)
	for _, one := range pod.Spec.EphemeralContainers {
		specs = append(specs, corev1.Container(one.EphemeralContainerCommon))
		ephemeral[one.Name] = true
	}
	for _, spec := range specs {
		r.lock.Lock()
		known, ok := r.containers[spec.Name]
		if !ok {
			known = newContainer(pod, spec, filepath.Join(r.folder, spec.Name), guard, changed)
			r.containers[spec.Name] = known
		}
		r.lock.Unlock()
		after, due := known.due(policyOf(pod, ephemeral[spec.Name]))
		if due && after <= 0 {
			known.start()
			if after, due = known.due(policyOf(pod, ephemeral[spec.Name])); !due {
				continue
			}
		}
		if due && (next == 0 || after < next) {
			next = after
		}
	}
	return next
}

func policyOf(pod *corev1.Pod, isEphemeral bool) corev1.RestartPolicy {
	if isEphemeral {
		return corev1.RestartPolicyNever
	}
	return pod.Spec.RestartPolicy
}

// due says whether another run is to be started, and after what time.
func (c *container) due(policy corev1.RestartPolicy) (time.Duration, bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	backoff := firstBackoff << min(c.restarts, mostDoublings)
	switch {
	case c.fault != nil:
		return backoff, true
	case c.run == nil:
		return 0, true
	case c.run.terminated == nil:
		return 0, false
	case policy == corev1.RestartPolicyNever,
		policy == corev1.RestartPolicyOnFailure && c.run.terminated.ExitCode == 0:
		return 0, false
	}
	return time.Until(c.run.terminated.FinishedAt.Add(backoff)), true
}

func (r *podRun) stop(grace time.Duration) {
	var stops sync.WaitGroup
	r.lock.Lock()
	for _, one := range r.containers {
		stops.Go(func() { one.stop(grace) })
	}
	r.lock.Unlock()
	stops.Wait()
}
