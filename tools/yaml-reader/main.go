// yaml-reader says how the API server reads YAML, by the library that it does so with.
//
// Standard input: a list of texts. Standard output: [{"json"} or {"error"}, ...], in the same order; `json` is
// a text, so that whoever reads it loses no digit.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

type answer struct {
	JSON  *string `json:"json,omitempty"`
	Error string  `json:"error,omitempty"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "yaml-reader:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var texts []string
	if err := json.NewDecoder(in).Decode(&texts); err != nil {
		return err
	}
	answers := make([]answer, 0, len(texts))
	for _, text := range texts {
		answers = append(answers, read(text))
	}
	return json.NewEncoder(out).Encode(answers)
}

func read(text string) answer {
	value, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return answer{Error: err.Error()}
	}
	found := string(value)
	return answer{JSON: &found}
}
