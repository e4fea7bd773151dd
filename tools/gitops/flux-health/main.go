// flux-health evaluates healthCheckExprs as kustomize-controller of Flux does, by Flux's own packages; where
// there are none, it goes by kstatus, as Flux and others then do.
//
// Standard input: {"kustomization": <a Kustomization of Flux>, "objects": [...]}; a field that Flux does
// not know is an error. Standard output: [{"status", "error"}, ...], where an expression that can't be
// evaluated gives status Unknown and the error.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type health struct {
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

type input struct {
	Kustomization kustomizev1.Kustomization `json:"kustomization"`
	// Decoded as client-go does: whole numbers are int64.
	Objects []*unstructured.Unstructured `json:"objects"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "flux-health:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var given input
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&given); err != nil {
		return err
	}
	if len(given.Kustomization.Spec.HealthCheckExprs) == 0 {
		return plain(given.Objects, out)
	}
	newReader, err := cel.NewStatusReader(given.Kustomization.Spec.HealthCheckExprs)
	if err != nil {
		return err
	}
	reader := newReader(meta.NewDefaultRESTMapper(nil))
	answers := []health{}
	for _, object := range given.Objects {
		seen, err := reader.ReadStatusForObject(context.Background(), nil, object)
		if err != nil {
			return err
		}
		answer := health{Status: seen.Status.String()}
		if seen.Error != nil {
			answer.Error = seen.Error.Error()
		}
		answers = append(answers, answer)
	}
	return json.NewEncoder(out).Encode(answers)
}

func plain(objects []*unstructured.Unstructured, out io.Writer) error {
	answers := []health{}
	for _, object := range objects {
		seen, err := status.Compute(object)
		if err != nil {
			return err
		}
		answers = append(answers, health{Status: seen.Status.String()})
	}
	return json.NewEncoder(out).Encode(answers)
}
