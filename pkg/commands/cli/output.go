package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Output is the value of -o. The empty value is text for people.
type Output string

// The formats of -o.
const (
	Text  Output = ""
	JSON  Output = "json"
	YAML  Output = "yaml"
	Name  Output = "name"
	JSONL Output = "jsonl"
)

// ParseOutput checks a value of -o against the formats that a verb has.
func ParseOutput(value string, allowed ...Output) (Output, error) {
	if value == "" || slices.Contains(allowed, Output(value)) {
		return Output(value), nil
	}
	return "", Usagef("--output %q: want %s", value, OneOf(allowed))
}

// OneOf lists choices in words: "a, b or c".
func OneOf[T ~string](choices []T) string {
	words := make([]string, len(choices))
	for i, c := range choices {
		words[i] = string(c)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// WriteLine writes v as one line of JSON, at once.
func WriteLine(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

// Write writes v as JSON or YAML.
func (o Output) Write(w io.Writer, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if o == YAML {
		if raw, err = yaml.JSONToYAML(raw); err != nil {
			return err
		}
	} else {
		raw = append(raw, '\n')
	}
	_, err = w.Write(raw)
	return err
}
