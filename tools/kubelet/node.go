package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const reportEvery = 10 * time.Second

// node is the Node object. It has no Lease: nothing in a control plane of ours looks at one.
type node struct {
	client rest.Interface
	name   string
	ip     net.IP
	port   int
}

// registered registers within a time: the API server may have to read first what this user is allowed to do.
func (n node) registered(ctx context.Context, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		err := n.register(ctx)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// register creates the Node unless it is there, and says where the server is.
func (n node) register(ctx context.Context) error {
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   n.name,
		Labels: map[string]string{corev1.LabelHostname: n.name, corev1.LabelOSStable: runtime.GOOS},
	}}
	err := n.client.Post().Resource("nodes").Body(object).Do(ctx).Error()
	if err != nil && !errors.IsAlreadyExists(err) {
		return err
	}
	return n.report(ctx)
}

// keep reports until the context ends, and registers again a Node that somebody deleted.
func (n node) keep(ctx context.Context) {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			err := n.report(ctx)
			if errors.IsNotFound(err) {
				err = n.register(ctx)
			}
			if err != nil && ctx.Err() == nil {
				log.Printf("node %s: %v", n.name, err)
			}
		}
	}
}

func (n node) report(ctx context.Context) error {
	now := metav1.Now()
	room := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(1000, resource.DecimalSI)}
	status := corev1.NodeStatus{
		// The address alone: the API server would prefer a host name, and nobody resolves ours.
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.ip.String()}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(n.port)}},
		Capacity:        room,
		Allocatable:     room,
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: "stand-in", OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
		},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
			Message: "a stand-in: processes instead of containers", LastHeartbeatTime: now, LastTransitionTime: now,
		}},
	}
	return patchStatus(ctx, n.client, "nodes", "", n.name, map[string]any{"status": status})
}

// patchStatus merges fields into an object's status.
func patchStatus(ctx context.Context, client rest.Interface, resource, namespace, name string, fields any) error {
	patch, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	request := client.Patch(types.MergePatchType).Resource(resource).Name(name).SubResource("status")
	return request.NamespaceIfScoped(namespace, namespace != "").Body(patch).Do(ctx).Error()
}
