// Opens watches of one URL and counts the lines that each receives; and makes such lines by patches of a ConfigMap.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"management.platform.sh/bench/peers/internal/kube"
)

// What watches are sent when they open comes in this time after what came before it.
const quietFor = 300 * time.Millisecond

type watches struct {
	events                int64
	configMap, kubeconfig string
}

type watchFigures struct {
	Watches   int    `json:"watches"`
	Events    int64  `json:"events"`
	Seconds   figure `json:"seconds"`
	PerSecond figure `json:"perSecond"`
}

// Lines that came, over all watches.
type lines struct {
	all  atomic.Int64
	last atomic.Int64
}

func (w *watches) measure(to target, connections int, window time.Duration) (any, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var count lines
	begin := time.Now()
	bodies := make([]io.ReadCloser, connections)
	for i := range bodies {
		var err error
		if bodies[i], err = openWatch(ctx, to, i); err != nil {
			return nil, err
		}
	}
	// Each ends once it has its lines; `extra` are those of the opening.
	counts := make([]atomic.Int64, connections)
	var target atomic.Int64
	target.Store(1 << 62)
	ended := make(chan error, connections)
	var reading sync.WaitGroup
	for i, body := range bodies {
		reading.Go(func() { ended <- count.read(body, &counts[i], &target, begin) })
	}
	extra, err := w.awaitQuiet(&count, counts)
	if err != nil {
		return nil, err
	}
	target.Store(extra + w.events)
	// Whoever else makes the events may begin.
	fmt.Fprintln(os.Stderr, "open")
	if w.configMap != "" {
		// Until whoever reads that line has looked at the server.
		time.Sleep(quietFor)
	}
	from := time.Since(begin)
	timer := time.AfterFunc(window, cancel)
	defer timer.Stop()
	if w.configMap != "" {
		if _, err := patchMany(ctx, w.kubeconfig, w.configMap, int(w.events), 0); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	reading.Wait()
	close(ended)
	for err := range ended {
		if err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("a watch ended: %w", err)
		}
	}
	took := time.Duration(count.last.Load()) - from
	events := count.all.Load() - extra*int64(connections)
	if events <= 0 {
		return nil, fmt.Errorf("no event came within %s", window)
	}
	return watchFigures{connections, events, seconds(took), rate(events, took)}, nil
}

// All watches are sent the same objects when they open, and none counts: returns how many each got.
func (w *watches) awaitQuiet(count *lines, counts []atomic.Int64) (int64, error) {
	for before := int64(-1); before != count.all.Load(); time.Sleep(quietFor) {
		before = count.all.Load()
	}
	extra := counts[0].Load()
	for i := range counts {
		if counts[i].Load() != extra {
			return 0, errors.New("the watches were sent different objects when they opened: events came before all were open")
		}
	}
	return extra, nil
}

func openWatch(ctx context.Context, to target, connection int) (io.ReadCloser, error) {
	request, err := to.request(connection)
	if err != nil {
		return nil, err
	}
	response, err := to.connection().RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return nil, fmt.Errorf("the watch is answered %s: %s", response.Status, text)
	}
	return response.Body, nil
}

// Counts lines until as many came as `target` says then. It parses nothing: that would take CPU from what is measured.
func (l *lines) read(body io.ReadCloser, own, target *atomic.Int64, begin time.Time) error {
	defer body.Close()
	buffer := make([]byte, bufferBytes)
	for own.Load() < target.Load() {
		n, err := body.Read(buffer)
		if ends := int64(bytes.Count(buffer[:n], []byte{'\n'})); ends > 0 {
			own.Add(ends)
			l.all.Add(ends)
			l.last.Store(int64(time.Since(begin)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type patchFigures struct {
	Count     int    `json:"count"`
	Seconds   figure `json:"seconds"`
	PerSecond figure `json:"perSecond"`
}

func patch(flags *flag.FlagSet, args []string) (any, error) {
	kubeconfig := flags.String("kubeconfig", "", "who patches")
	configMap := flags.String("configmap", "", "namespace/name of the ConfigMap, which exists")
	count := flags.Int("count", 1000, "how many patches")
	perSecond := flags.Float64("rate", 0, "how many a second; 0 means one after the other")
	_ = flags.Parse(args)
	took, err := patchMany(context.Background(), *kubeconfig, *configMap, *count, *perSecond)
	if err != nil {
		return nil, err
	}
	return patchFigures{*count, seconds(took), rate(int64(*count), took)}, nil
}

// Patches one ConfigMap, one request after the other: the server would let several of one object wait for each other.
func patchMany(ctx context.Context, kubeconfig, configMap string, count int, perSecond float64) (time.Duration, error) {
	namespace, name, found := strings.Cut(configMap, "/")
	if !found {
		return 0, errors.New("the ConfigMap to patch is written namespace/name")
	}
	client, err := kube.Open(kubeconfig)
	if err != nil {
		return 0, err
	}
	path := "/api/v1/namespaces/" + namespace + "/configmaps/" + name
	begin := time.Now()
	for i := range count {
		if perSecond > 0 {
			due := begin.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
			time.Sleep(time.Until(due))
		}
		// The time, as a patch that changes nothing makes no event.
		body := fmt.Appendf(nil, `{"data":{"patched":"%d"}}`, time.Now().UnixNano())
		if err := client.Send(ctx, "PATCH", path, kube.MergePatch, body, nil); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}
