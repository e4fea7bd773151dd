package main

import (
	"net"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podStatus has the fields of a pod's status that we say, each even when it is empty.
type podStatus struct {
	Phase                      corev1.PodPhase          `json:"phase"`
	Conditions                 []corev1.PodCondition    `json:"conditions"`
	HostIP                     string                   `json:"hostIP"`
	HostIPs                    []corev1.HostIP          `json:"hostIPs"`
	PodIP                      string                   `json:"podIP"`
	PodIPs                     []corev1.PodIP           `json:"podIPs"`
	StartTime                  *metav1.Time             `json:"startTime"`
	ContainerStatuses          []corev1.ContainerStatus `json:"containerStatuses"`
	EphemeralContainerStatuses []corev1.ContainerStatus `json:"ephemeralContainerStatuses,omitempty"`
}

// statusOf is the status of a pod whose containers are processes here.
func statusOf(pod *corev1.Pod, run *podRun, ip net.IP) podStatus {
	run.lock.Lock()
	defer run.lock.Unlock()
	address := ip.String()
	status := podStatus{
		HostIP: address, HostIPs: []corev1.HostIP{{IP: address}},
		PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		StartTime: &run.startedAt, ContainerStatuses: []corev1.ContainerStatus{},
	}
	for _, spec := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, statusOfContainer(run, spec.Name, spec.Image))
	}
	for _, spec := range pod.Spec.EphemeralContainers {
		one := statusOfContainer(run, spec.Name, spec.Image)
		status.EphemeralContainerStatuses = append(status.EphemeralContainerStatuses, one)
	}
	status.Phase = phaseOf(pod, status.ContainerStatuses)
	status.Conditions = conditionsOf(pod, status.ContainerStatuses, run.startedAt)
	return status
}

func statusOfContainer(run *podRun, name, image string) corev1.ContainerStatus {
	status := corev1.ContainerStatus{Name: name, Image: image, ImageID: image, Started: new(bool)}
	c, ok := run.containers[name]
	if !ok {
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		return status
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	status.RestartCount = c.restarts
	status.LastTerminationState.Terminated = c.last
	switch {
	case c.fault != nil:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "RunContainerError", Message: c.fault.Error()}
	case c.run == nil:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	case c.run.terminated != nil:
		status.ContainerID = containerID(c.run.id)
		status.State.Terminated = c.run.terminated
	default:
		status.ContainerID = containerID(c.run.id)
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: c.run.startedAt}
		status.Ready, *status.Started = true, true
	}
	return status
}

// phaseOf is the phase: that of the end only where nothing will run again.
func phaseOf(pod *corev1.Pod, statuses []corev1.ContainerStatus) corev1.PodPhase {
	isOver, hasFailed, hasStarted := true, false, false
	for _, one := range statuses {
		hasStarted = hasStarted || one.State.Waiting == nil
		ended := one.State.Terminated
		isFailure := ended != nil && ended.ExitCode != 0
		hasFailed = hasFailed || isFailure
		runsAgain := pod.Spec.RestartPolicy == corev1.RestartPolicyAlways ||
			pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && isFailure
		isOver = isOver && ended != nil && (!runsAgain || pod.DeletionTimestamp != nil)
	}
	switch {
	case isOver && hasFailed:
		return corev1.PodFailed
	case isOver:
		return corev1.PodSucceeded
	case hasStarted:
		return corev1.PodRunning
	}
	return corev1.PodPending
}

func conditionsOf(
	pod *corev1.Pod, statuses []corev1.ContainerStatus, startedAt metav1.Time,
) []corev1.PodCondition {
	ready := corev1.ConditionTrue
	for _, one := range statuses {
		if !one.Ready {
			ready = corev1.ConditionFalse
		}
	}
	is := map[corev1.PodConditionType]corev1.ConditionStatus{
		corev1.PodReady: ready, corev1.ContainersReady: ready,
	}
	var conditions []corev1.PodCondition
	for _, kind := range []corev1.PodConditionType{
		corev1.PodScheduled, corev1.PodReadyToStartContainers, corev1.PodInitialized,
		corev1.ContainersReady, corev1.PodReady,
	} {
		condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: startedAt}
		if status, ok := is[kind]; ok {
			condition.Status = status
		}
		// Of somebody else's transition nothing is known here: ours is when we look.
		for _, old := range pod.Status.Conditions {
			if old.Type == kind && old.Status == condition.Status {
				condition.LastTransitionTime = old.LastTransitionTime
			}
		}
		conditions = append(conditions, condition)
	}
	return conditions
}
