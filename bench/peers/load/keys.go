// Creates keys or tokens and sees when each is Ready: by a watch, as a client would.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"management.platform.sh/bench/peers/internal/key"
	"management.platform.sh/bench/peers/internal/kube"
	"management.platform.sh/bench/peers/internal/writes"
)

const (
	label     = "bench"
	users     = 100
	tokenKind = "DirectClusterEndpointToken"
	pause     = 200 * time.Millisecond
)

var paths = map[string]string{
	"keys":   key.Path,
	"tokens": "/apis/management.platform.sh/v1/directclusterendpointtokens",
}

type keyOptions struct {
	prefix, kind       string
	count, concurrency int
	rate               float64
	ttl                int64
	timeout            time.Duration
	patient            bool
}

// A run of one burst, or of one series at a rate. Times are since its start; 0 means not yet.
type run struct {
	keyOptions
	client  *kube.Client
	writer  *writes.Writer
	begin   time.Time
	sent    []atomic.Int64
	ready   []atomic.Int64
	created []time.Duration
	left    atomic.Int64
	allDone chan struct{}
}

type spread struct {
	P50 figure `json:"p50"`
	P99 figure `json:"p99"`
}

type latencies struct {
	spread
	Max figure `json:"max"`
}

type keyFigures struct {
	Count         int       `json:"count"`
	CreateSeconds figure    `json:"createSeconds"`
	Seconds       figure    `json:"seconds"`
	PerSecond     figure    `json:"perSecond"`
	LatencyMs     latencies `json:"latencyMs"`
	CreateMs      spread    `json:"createMs"`
}

func keys(flags *flag.FlagSet, args []string, isFloor bool) (any, error) {
	var r run
	kubeconfig := flags.String("kubeconfig", "", "an administrator's kubeconfig")
	flags.StringVar(&r.prefix, "prefix", "", "what all names begin with, and the value of label bench")
	flags.IntVar(&r.count, "count", 500, "how many")
	flags.IntVar(&r.concurrency, "concurrency", 16, "how many are created at a time")
	flags.Int64Var(&r.ttl, "ttl", 0, "spec.ttl in seconds; 0 leaves it out")
	flags.BoolVar(&r.patient, "patient", false, "send again what fails while the server is away, until the timeout")
	flags.DurationVar(&r.timeout, "timeout", 2*time.Minute, "how long all may take")
	by := writes.Update
	r.kind = "keys"
	if isFloor {
		flags.StringVar(&by, "writes", by, "update: the cheapest for the API server; apply: as the product writes")
	} else {
		flags.StringVar(&r.kind, "kind", r.kind, "keys, or tokens, which are ready with status.token")
		flags.Float64Var(&r.rate, "rate", 0, "how many a second, whatever the answers; 0 means as fast as can be")
	}
	_ = flags.Parse(args)
	if r.prefix == "" || r.count < 1 || paths[r.kind] == "" {
		return nil, errors.New("--prefix, a --count of at least 1 and a known --kind are needed")
	}
	watcher, err := kube.Open(*kubeconfig)
	if err != nil {
		return nil, err
	}
	if r.client, err = kube.Open(*kubeconfig); err != nil {
		return nil, err
	}
	if isFloor {
		if r.writer, err = writes.New(r.client, by); err != nil {
			return nil, err
		}
	}
	return r.measure(watcher)
}

func (r *run) measure(watcher *kube.Client) (any, error) {
	r.sent, r.ready = make([]atomic.Int64, r.count), make([]atomic.Int64, r.count)
	r.created = make([]time.Duration, r.count)
	r.left.Store(int64(r.count))
	r.allDone = make(chan struct{})
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if err := r.startWatch(ctx, watcher, cancel); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, r.timeout)
	defer stop()
	r.begin = time.Now()
	if err := r.createAll(ctx); err != nil {
		return nil, r.explain(ctx, err)
	}
	createdAll := time.Since(r.begin)
	select {
	case <-r.allDone:
		return r.figures(createdAll), nil
	case <-ctx.Done():
		return nil, r.explain(ctx, context.Cause(ctx))
	}
}

func (r *run) explain(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); cause != context.DeadlineExceeded {
		return cause
	}
	return fmt.Errorf("%d of %d %s are not Ready after %s", r.left.Load(), r.count, r.kind, r.timeout)
}

func (r *run) startWatch(ctx context.Context, watcher *kube.Client, fail context.CancelCauseFunc) error {
	opened := make(chan struct{})
	failed := make(chan error, 1)
	query := "?watch=1&timeoutSeconds=86400&labelSelector=" + url.QueryEscape(label+"="+r.prefix)
	var once sync.Once
	// Each watch begins with what there is: nothing is lost when the server ends one, as it does soon after a new kind.
	go func() {
		for {
			isOpen := false
			err := watcher.Watch(ctx, paths[r.kind]+query, func() { isOpen = true; once.Do(func() { close(opened) }) }, r.see)
			if err == nil || ctx.Err() != nil {
				return
			}
			if !isOpen && !r.patient {
				failed <- err
				fail(fmt.Errorf("the watch ended: %w", err))
				return
			}
			time.Sleep(pause)
		}
	}()
	select {
	case <-opened:
		return nil
	case err := <-failed:
		return err
	}
}

// The first fields of a line that can say that an object is ready; the others need not be parsed.
var tells = map[string][]byte{"keys": []byte(`"conditions":[`), "tokens": []byte(`"token":"`)}

// Notes when the object of a line became ready; false once all are.
func (r *run) see(line []byte) bool {
	if !bytes.Contains(line, tells[r.kind]) {
		return true
	}
	var event struct {
		Object struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Status struct {
				Token      string `json:"token"`
				Conditions []struct {
					Type   string `json:"type"`
					Status string `json:"status"`
				} `json:"conditions"`
			} `json:"status"`
		} `json:"object"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return true
	}
	isReady := event.Object.Status.Token != ""
	for _, one := range event.Object.Status.Conditions {
		isReady = isReady || r.kind == "keys" && one.Type == "Ready" && one.Status == "True"
	}
	number := strings.TrimPrefix(event.Object.Metadata.Name, r.prefix+"-")
	at, err := strconv.Atoi(number)
	if !isReady || err != nil || at >= r.count {
		return true
	}
	if !r.ready[at].CompareAndSwap(0, int64(time.Since(r.begin))) || r.left.Add(-1) > 0 {
		return true
	}
	close(r.allDone)
	return false
}

func (r *run) createAll(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range r.concurrency {
		workers.Go(func() {
			for {
				at := int(next.Add(1)) - 1
				if at >= r.count || ctx.Err() != nil {
					return
				}
				if err := r.createOne(ctx, at); err != nil {
					fail(err)
					return
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

func (r *run) createOne(ctx context.Context, at int) error {
	body, err := r.object(at)
	if err != nil {
		return err
	}
	from := time.Since(r.begin)
	if r.rate > 0 {
		due := time.Duration(float64(at) / r.rate * float64(time.Second))
		time.Sleep(due - from)
		from = due
	}
	// One nanosecond later, as 0 means not yet.
	r.sent[at].Store(int64(from) + 1)
	begin := time.Now()
	var object key.OwnedAccessKey
	var out any
	if r.writer != nil {
		out = &object
	}
	if err := r.create(ctx, body, out); err != nil {
		return err
	}
	r.created[at] = time.Since(begin)
	if r.writer == nil {
		return nil
	}
	return r.writer.Adopt(ctx, &object)
}

func (r *run) create(ctx context.Context, body []byte, out any) error {
	for {
		err := r.client.Send(ctx, "POST", paths[r.kind], kube.JSON, body, out)
		if err == nil || !r.patient || ctx.Err() != nil {
			return err
		}
		var status *kube.StatusError
		if errors.As(err, &status) && status.Code == http.StatusConflict {
			// The answer to an earlier try was lost.
			return nil
		}
		if errors.As(err, &status) && status.Code < http.StatusInternalServerError && status.Code != http.StatusTooManyRequests {
			return err
		}
		time.Sleep(pause)
	}
}

func (r *run) object(at int) ([]byte, error) {
	kind, spec := tokenKind, map[string]any{}
	if r.kind == "keys" {
		secret := make([]byte, 24)
		_, _ = rand.Read(secret)
		kind = key.Kind
		spec["user"] = fmt.Sprintf("bench-user-%d", at%users)
		spec["key"] = "pak_" + hex.EncodeToString(secret)
	}
	if r.ttl > 0 {
		spec["ttl"] = r.ttl
	}
	metadata := map[string]any{"name": fmt.Sprintf("%s-%d", r.prefix, at), "labels": map[string]string{label: r.prefix}}
	apiVersion := key.GroupVersion.String()
	return json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec})
}

func (r *run) figures(createdAll time.Duration) keyFigures {
	var last time.Duration
	took := make([]time.Duration, r.count)
	for at := range took {
		ready := time.Duration(r.ready[at].Load())
		last = max(last, ready)
		took[at] = ready - time.Duration(r.sent[at].Load())
	}
	took, created := ordered(took), ordered(r.created)
	return keyFigures{
		Count:         r.count,
		CreateSeconds: seconds(createdAll),
		Seconds:       seconds(last),
		PerSecond:     rate(int64(r.count), last),
		LatencyMs:     latencies{spread{quantile(took, 0.5), quantile(took, 0.99)}, quantile(took, 1)},
		CreateMs:      spread{quantile(created, 0.5), quantile(created, 0.99)},
	}
}
