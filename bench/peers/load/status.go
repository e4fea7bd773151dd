// Writes the status of keys that there are, as it is now: what an operator writes when keys end, without an operator.
package main

import (
	"context"
	"errors"
	"flag"
	"net/url"
	"strconv"
	"time"

	"management.platform.sh/bench/peers/internal/key"
	"management.platform.sh/bench/peers/internal/kube"
	"management.platform.sh/bench/peers/internal/writes"
)

func statuses(flags *flag.FlagSet, args []string) (any, error) {
	kubeconfig := flags.String("kubeconfig", "", "an administrator's kubeconfig")
	prefix := flags.String("prefix", "", "what the names of the keys begin with, before a hyphen and a number from 0")
	count := flags.Int("count", 0, "how many keys")
	concurrency := flags.Int("concurrency", 16, "how many requests at a time")
	by := flags.String("writes", writes.Update, "update: the cheapest for the API server; apply: as the product writes")
	_ = flags.Parse(args)
	if *prefix == "" || *count < 1 {
		return nil, errors.New("--prefix and a --count of at least 1 are needed")
	}
	client, err := kube.Open(*kubeconfig)
	if err != nil {
		return nil, err
	}
	writer, err := writes.New(client, *by)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	objects, err := listKeys(ctx, client)
	if err != nil {
		return nil, err
	}
	names := make([]string, *count)
	for at := range names {
		names[at] = *prefix + "-" + strconv.Itoa(at)
	}
	begin := time.Now()
	err = forEach(names, *concurrency, func(name string) error {
		object := objects[name]
		if object == nil {
			return errors.New("there is no key " + name)
		}
		return writer.Publish(ctx, object)
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(begin)
	return countedFigures{*count, seconds(took), rate(int64(*count), took)}, nil
}

// All keys by name.
func listKeys(ctx context.Context, client *kube.Client) (map[string]*key.OwnedAccessKey, error) {
	objects := map[string]*key.OwnedAccessKey{}
	_, err := list(ctx, client, key.Path, url.Values{}, func(object *key.OwnedAccessKey) {
		object.TypeMeta.Kind, object.TypeMeta.APIVersion = key.Kind, key.GroupVersion.String()
		objects[object.Name] = object
	})
	return objects, err
}
