// Echo is the floor of an operator: what the writes to a new key cost when nothing is decided and nothing is kept.
// One raw watch; each event of a new key sends the product's two writes straight from the event, and a deletion takes
// the finalizer off. No cache, no queue, no second try: where a write fails, it says so and goes on.
//
//	echo --kubeconfig FILE [--workers 16] [--writes update|apply]
//
// The account needs list, watch and update on ownedaccesskeys and their status (patch with --writes apply), and update
// on their finalizers. It prints `ready` once the watch is open.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"management.platform.sh/bench/peers/internal/key"
	"management.platform.sh/bench/peers/internal/kube"
	"management.platform.sh/bench/peers/internal/writes"
)

type event struct {
	Type   string             `json:"type"`
	Object key.OwnedAccessKey `json:"object"`
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the access to the API server")
	workers := flag.Int("workers", 16, "how many keys are written at a time")
	by := flag.String("writes", writes.Update, "update or apply")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *kubeconfig, *workers, *by); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, kubeconfig string, workers int, by string) error {
	client, err := kube.Open(kubeconfig)
	if err != nil {
		return err
	}
	writer, err := writes.New(client, by)
	if err != nil {
		return err
	}
	events := make(chan event, 1<<16)
	for range workers {
		go func() {
			for one := range events {
				if err := answer(ctx, writer, &one); err != nil && ctx.Err() == nil {
					log.Print(err)
				}
			}
		}()
	}
	ready := func() { fmt.Println("ready") }
	return client.Watch(ctx, key.Path+"?watch=1&timeoutSeconds=86400", ready, func(line []byte) bool {
		var one event
		if err := json.Unmarshal(line, &one); err != nil {
			log.Print(err)
			return true
		}
		events <- one
		return true
	})
}

func answer(ctx context.Context, writer *writes.Writer, one *event) error {
	object := &one.Object
	switch {
	case one.Type == "DELETED":
		return nil
	case object.DeletionTimestamp != nil && key.IsAdopted(object):
		return writer.Release(ctx, object)
	case one.Type == "ADDED" && object.DeletionTimestamp == nil && !key.IsAdopted(object):
		return writer.Adopt(ctx, object)
	}
	return nil
}
