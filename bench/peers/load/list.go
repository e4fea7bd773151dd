// Lists objects in pages, as the API server recommends for many.
package main

import (
	"context"
	"maps"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"management.platform.sh/bench/peers/internal/kube"
)

// Calls each with every object of the path that the query selects, and returns the version of the list.
func list[Object any](ctx context.Context, client *kube.Client, path string, query url.Values, each func(*Object)) (string, error) {
	asked := maps.Clone(query)
	asked.Set("limit", "500")
	for {
		var page struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []Object        `json:"items"`
		}
		if err := client.Send(ctx, "GET", path+"?"+asked.Encode(), "", nil, &page); err != nil {
			return "", err
		}
		for i := range page.Items {
			each(&page.Items[i])
		}
		if page.Metadata.Continue == "" {
			return page.Metadata.ResourceVersion, nil
		}
		asked.Set("continue", page.Metadata.Continue)
	}
}
