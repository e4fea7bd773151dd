// kubelet stands in for a kubelet: a server behind a Node object, for tests and `make run`. kubectl exec, attach,
// cp, port-forward, logs and debug go through a real API server to it, by the protocols that a kubelet speaks.
//
// There are no containers and there is no isolation: a container is a process of this machine, under the user that
// runs this program, with a folder of its own as its working folder. Images, volumes, init containers, probes and
// resources are ignored. All pods share the network of this machine. Never point it at a cluster that others use.
//
//	main.go       starts and ends it
//	address.go    the address that the API server reaches it by
//	node.go       the Node object
//	pods.go       the pods that are bound to the node, from their start to their end
//	pod.go        a pod's containers: starts, restarts, ends
//	status.go     what their status says
//	container.go  the process of a container
//	command.go    a process with its streams; exec runs one
//	journal.go    what a container has written
//	guard.go      ends every process when this program is killed
//	server.go     the HTTPS server, for the API server alone
//	streams.go    exec, attach, port-forward and logs
//
// Once it serves and the Node is there, it prints one line of JSON (see ready). It ends on SIGTERM, on SIGINT, and
// when its standard input ends.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type options struct {
	kubeconfig, nodeName, folder string
	// Of the server, and of the authority that signed its only client.
	certFile, keyFile, clientCAFile string
	// The common name of that client's certificate: the authority signs others too.
	clientName string
	// Addresses that nobody has.
	lend []net.IP
}

// What is printed when it is ready.
type ready struct {
	Address string `json:"address"`
	Port    int    `json:"port"`
	// Why the API server refuses proxy requests to the node and its pods; empty when it does not.
	NoProxy string `json:"noProxy"`
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "as whom it asks the API server")
	flag.StringVar(&o.nodeName, "node-name", "", "name of the Node object")
	flag.StringVar(&o.folder, "folder", "", "folder of the containers; emptied, and removed in the end")
	flag.StringVar(&o.certFile, "tls-cert-file", "", "certificate of the server")
	flag.StringVar(&o.keyFile, "tls-private-key-file", "", "its key")
	flag.StringVar(&o.clientCAFile, "client-ca-file", "", "authority that signs the client's certificate")
	flag.StringVar(&o.clientName, "client-name", "", "common name of the only client that is let in")
	flag.Func("lend", "IPv4 address that the loopback interface may get; may be repeated", func(text string) error {
		ip := net.ParseIP(text).To4()
		if ip == nil {
			return fmt.Errorf("%q is no IPv4 address", text)
		}
		o.lend = append(o.lend, ip)
		return nil
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	client, err := connect(o.kubeconfig)
	if err != nil {
		return err
	}
	if err := emptied(o.folder); err != nil {
		return err
	}
	guard, err := newGuard(o.folder)
	if err != nil {
		return err
	}
	defer guard.close()
	where := reachable(ctx, o.lend)
	pods := newPods(client, guard, o, where.ip)
	defer pods.endAll()
	server, err := serve(o, where.ip, pods)
	if err != nil {
		return err
	}
	defer server.Close()
	node := node{client, o.nodeName, where.ip, server.port}
	if err := node.registered(ctx, 30*time.Second); err != nil {
		return fmt.Errorf("node %s: %w", o.nodeName, err)
	}
	go node.keep(ctx)
	if err := pods.watch(ctx); err != nil {
		return err
	}
	said := ready{where.ip.String(), server.port, where.noProxy}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// A client for the core group alone: the typed one of client-go takes minutes to build.
func connect(kubeconfig string) (rest.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	config.APIPath = "/api"
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.UserAgent = "kubelet-stand-in"
	return rest.RESTClientFor(config)
}

func emptied(folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.MkdirAll(folder, 0o700)
}
