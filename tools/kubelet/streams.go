package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// As a kubelet has them by default.
const (
	idleTimeout     = 4 * time.Hour
	creationTimeout = remotecommand.DefaultStreamCreationTimeout
)

// serveList answers as a kubelet does when it is asked for its pods.
func (p *pods) serveList(w http.ResponseWriter, _ *http.Request) {
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{}}
	for _, object := range p.store.List() {
		list.Items = append(list.Items, *object.(*corev1.Pod))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

// requested is the container that a path names; it answers when there is none.
func (p *pods) requested(w http.ResponseWriter, r *http.Request) (*container, bool) {
	key, name := r.PathValue("namespace")+"/"+r.PathValue("pod"), r.PathValue("container")
	found, ok := p.find(key, name)
	if !ok {
		http.Error(w, fmt.Sprintf("container %q not found in pod %q", name, key), http.StatusNotFound)
	}
	return found, ok
}

func (p *pods) serveExec(w http.ResponseWriter, r *http.Request) {
	p.serveStreams(w, r, func(w http.ResponseWriter, r *http.Request, streams containerStreams, o *remotecommand.Options) {
		argv := r.URL.Query()[commandParameter]
		remotecommand.ServeExec(w, r, streams, r.PathValue("pod"), "", r.PathValue("container"), argv,
			o, idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
	})
}

func (p *pods) serveAttach(w http.ResponseWriter, r *http.Request) {
	p.serveStreams(w, r, func(w http.ResponseWriter, r *http.Request, streams containerStreams, o *remotecommand.Options) {
		remotecommand.ServeAttach(w, r, streams, r.PathValue("pod"), "", r.PathValue("container"),
			o, idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
	})
}

// The query parameter of an exec that holds one word of the command.
const commandParameter = "command"

func (p *pods) serveStreams(
	w http.ResponseWriter, r *http.Request,
	serve func(http.ResponseWriter, *http.Request, containerStreams, *remotecommand.Options),
) {
	container, ok := p.requested(w, r)
	if !ok {
		return
	}
	streams, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, err := container.running(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w, r, gone := watched(w, r)
	defer gone()
	serve(w, r, containerStreams{container}, streams)
}

// containerStreams connects the streams of a request with processes.
type containerStreams struct{ container *container }

// ExecInContainer runs a command beside the container's process. It ends with that, and with the connection.
func (s containerStreams) ExecInContainer(
	ctx context.Context, _, _, _ string, argv []string,
	in io.Reader, out, err io.WriteCloser, tty bool, sizes <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	run, fault := s.container.running()
	if fault != nil {
		return fault
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(run.life, end)()
	c := s.container.command
	c.argv, c.tty = argv, tty
	if tty {
		c.env = append(append([]string{}, c.env...), "TERM=xterm")
	}
	return execute(ctx, c, s.container.guard, in, out, err, sizes)
}

// AttachContainer connects to the container's own process.
func (s containerStreams) AttachContainer(
	ctx context.Context, _, _, _ string,
	in io.Reader, out, err io.WriteCloser, _ bool, sizes <-chan remotecommand.TerminalSize,
) error {
	return s.container.attach(ctx, in, out, err, sizes)
}

func (p *pods) servePortForward(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("namespace") + "/" + r.PathValue("pod")
	if p.runOf(key) == nil {
		http.Error(w, fmt.Sprintf("pod %q not found", key), http.StatusNotFound)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w, r, gone := watched(w, r)
	defer gone()
	portforward.ServePortForward(w, r, forwarder{r.Context()}, r.PathValue("pod"), "",
		options, idleTimeout, creationTimeout, portforward.SupportedProtocols)
}

// forwarder connects streams with ports of this machine, for as long as the connection of a request lasts.
type forwarder struct{ connection context.Context }

// PortForward copies both ways. The context that it gets never ends.
func (f forwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	dialled, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer dialled.Close()
	defer context.AfterFunc(f.connection, func() { _ = dialled.Close() })()
	go func() {
		_, _ = io.Copy(dialled, stream)
		_ = dialled.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, dialled)
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *pods) serveLogs(w http.ResponseWriter, r *http.Request) {
	container, ok := p.requested(w, r)
	if !ok {
		return
	}
	options, err := logOptions(r)
	if err == nil {
		if run, _ := container.latest(); run == nil {
			err = fmt.Errorf("container %q is waiting to start", container.spec.Name)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	controller := http.NewResponseController(w)
	_ = controller.Flush()
	_ = container.logs(r.Context(), flushing{w, controller}, options)
}

// The options that count here: timestamps and times are not kept, and a former run neither.
func logOptions(r *http.Request) (*corev1.PodLogOptions, error) {
	query := r.URL.Query()
	options := &corev1.PodLogOptions{Follow: query.Get("follow") == "true"}
	for name, field := range map[string]**int64{
		"tailLines": &options.TailLines, "limitBytes": &options.LimitBytes,
	} {
		if text := query.Get(name); text != "" {
			value, err := strconv.ParseInt(text, 10, 64)
			if err != nil || value < 0 {
				return nil, fmt.Errorf("%s %q is no number", name, text)
			}
			*field = &value
		}
	}
	return options, nil
}

// flushing sends every part at once.
type flushing struct {
	to         io.Writer
	controller *http.ResponseController
}

func (f flushing) Write(chunk []byte) (int, error) {
	n, err := f.to.Write(chunk)
	if err == nil {
		err = f.controller.Flush()
	}
	return n, err
}
