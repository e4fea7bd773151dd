// Package writes sends the product's writes to a key: as full updates, which cost the API server the least, or as the
// product does, by server-side apply.
package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"management.platform.sh/bench/peers/internal/key"
	"management.platform.sh/bench/peers/internal/kube"
)

const (
	// Update sends whole objects.
	Update = "update"
	// Apply sends the fields that the operator owns.
	Apply = "apply"

	asOperator = "?fieldManager=management-operator&force=true"
)

// Writer writes to keys one way, Update or Apply.
type Writer struct {
	Client *kube.Client
	By     string
}

// New checks the way.
func New(client *kube.Client, by string) (*Writer, error) {
	if by != Update && by != Apply {
		return nil, fmt.Errorf("--writes is %s or %s", Update, Apply)
	}
	return &Writer{Client: client, By: by}, nil
}

// Adopt does both writes to a new key: finalizer and creation time, then the status.
func (w *Writer) Adopt(ctx context.Context, object *key.OwnedAccessKey) error {
	key.Adopt(object)
	if err := w.write(ctx, object, ""); err != nil {
		return err
	}
	return w.Publish(ctx, object)
}

// Publish writes the status of a key as it is now.
func (w *Writer) Publish(ctx context.Context, object *key.OwnedAccessKey) error {
	object.Status, _ = key.StatusOf(object, time.Now())
	return w.write(ctx, object, "/status")
}

// Release takes the finalizer off.
func (w *Writer) Release(ctx context.Context, object *key.OwnedAccessKey) error {
	key.Release(object)
	return w.put(ctx, object, "")
}

func (w *Writer) write(ctx context.Context, object *key.OwnedAccessKey, part string) error {
	if w.By == Update {
		return w.put(ctx, object, part)
	}
	metadata := map[string]any{"name": object.Name, "uid": object.UID, "resourceVersion": object.ResourceVersion}
	applied := map[string]any{"apiVersion": key.GroupVersion.String(), "kind": key.Kind, "metadata": metadata}
	if part == "" {
		created := object.Annotations[key.CreatedAnnotation]
		metadata["annotations"] = map[string]string{key.CreatedAnnotation: created}
		metadata["finalizers"] = []string{key.Finalizer}
	} else {
		applied["status"] = object.Status
	}
	return w.send(ctx, "PATCH", part+asOperator, kube.Apply, object, applied)
}

func (w *Writer) put(ctx context.Context, object *key.OwnedAccessKey, part string) error {
	object.ManagedFields = nil
	return w.send(ctx, "PUT", part, kube.JSON, object, object)
}

// It takes the resource version from the answer: the next write needs it.
func (w *Writer) send(ctx context.Context, method, part, contentType string, to *key.OwnedAccessKey, sent any) error {
	body, err := json.Marshal(sent)
	if err != nil {
		return err
	}
	var answered struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := w.Client.Send(ctx, method, key.Path+"/"+to.Name+part, contentType, body, &answered); err != nil {
		return err
	}
	to.ResourceVersion = answered.Metadata.ResourceVersion
	return nil
}
