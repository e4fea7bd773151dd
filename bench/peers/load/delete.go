// Deletes all objects of one prefix, each by a request of its own, and waits until they are gone.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"management.platform.sh/bench/peers/internal/kube"
)

type countedFigures struct {
	Count     int    `json:"count"`
	Seconds   figure `json:"seconds"`
	PerSecond figure `json:"perSecond"`
}

func remove(flags *flag.FlagSet, args []string) (any, error) {
	kubeconfig := flags.String("kubeconfig", "", "an administrator's kubeconfig")
	prefix := flags.String("prefix", "", "the value of label bench")
	kind := flags.String("kind", "keys", "keys or tokens")
	concurrency := flags.Int("concurrency", 16, "how many requests at a time")
	strips := flags.Bool("strip-finalizers", false, "take the finalizers off first: the operator has gone")
	timeout := flags.Duration("timeout", 2*time.Minute, "how long all may take")
	_ = flags.Parse(args)
	path := paths[*kind]
	if *prefix == "" || path == "" {
		return nil, errors.New("--prefix and a known --kind are needed")
	}
	client, err := kube.Open(*kubeconfig)
	if err != nil {
		return nil, err
	}
	watcher, err := kube.Open(*kubeconfig)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	ofPrefix := url.Values{"labelSelector": {label + "=" + *prefix}}
	var names []string
	version, err := list(ctx, client, path, ofPrefix, func(object *metav1.PartialObjectMetadata) {
		names = append(names, object.Name)
	})
	if err != nil || len(names) == 0 {
		return countedFigures{}, err
	}
	left := len(names)
	gone := make(chan error, 1)
	opened := make(chan struct{})
	query := "?watch=1&timeoutSeconds=86400&resourceVersion=" + version + "&" + ofPrefix.Encode()
	go func() {
		gone <- watcher.Watch(ctx, path+query, func() { close(opened) }, func(line []byte) bool {
			if bytes.HasPrefix(line, []byte(`{"type":"DELETED"`)) {
				left--
			}
			return left > 0
		})
	}()
	select {
	case <-opened:
	case err := <-gone:
		return nil, err
	}
	begin := time.Now()
	err = forEach(names, *concurrency, func(name string) error {
		return deleteOne(ctx, client, path+"/"+name, *strips)
	})
	if err != nil {
		return nil, err
	}
	if err := <-gone; err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("of %d %s, not all are gone after %s", len(names), *kind, *timeout)
		}
		return nil, err
	}
	took := time.Since(begin)
	return countedFigures{len(names), seconds(took), rate(int64(len(names)), took)}, nil
}

func deleteOne(ctx context.Context, client *kube.Client, path string, strips bool) error {
	if strips {
		body := []byte(`{"metadata":{"finalizers":null}}`)
		if err := client.Send(ctx, "PATCH", path, kube.MergePatch, body, nil); err != nil {
			return err
		}
	}
	err := client.Send(ctx, "DELETE", path, "", nil, nil)
	var status *kube.StatusError
	if errors.As(err, &status) && status.Code == 404 {
		return nil
	}
	return err
}

// Calls do for each name, some at a time; it stops at the first error.
func forEach(names []string, concurrency int, do func(name string) error) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	failed := make(chan error, concurrency)
	for range concurrency {
		workers.Go(func() {
			for {
				at := int(next.Add(1)) - 1
				if at >= len(names) || len(failed) > 0 {
					return
				}
				if err := do(names[at]); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	workers.Wait()
	close(failed)
	return <-failed
}
