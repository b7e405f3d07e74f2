package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
	"golang.org/x/term"
)

// The values of --output.
const (
	Tabular = "table"
	Wide    = "wide"
	JSON    = "json"
	YAML    = "yaml"
	Name    = "name"
)

// Outputs lists the values of --output.
func Outputs() []string { return []string{Tabular, Wide, JSON, YAML, Name} }

// Terminal holds the streams of a command and the form of its output.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	Output   string // one of Outputs
	Quiet    bool   // no progress bars
}

// Structured reports whether the output is for programs.
func (t *Terminal) Structured() bool { return t.Output == JSON || t.Output == YAML }

// Show prints value for programs, or calls print for people.
func (t *Terminal) Show(value any, print func()) error {
	if t.Structured() {
		return t.PrintData(value)
	}
	print()
	return nil
}

// PrintData writes v as indented JSON, or as YAML with the same members in the same order.
func (t *Terminal) PrintData(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil && t.Output == YAML {
		err = toYAML(&text)
	}
	if err == nil {
		_, err = t.Out.Write(text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// toYAML replaces JSON by the same value as YAML.
func toYAML(text *bytes.Buffer) error {
	var node yaml.Node
	if err := yaml.Unmarshal(text.Bytes(), &node); err != nil {
		return err
	}
	clearStyle(&node)
	text.Reset()
	enc := yaml.NewEncoder(text)
	enc.SetIndent(2)
	return enc.Encode(&node)
}

// clearStyle removes the flow style and the quotes of JSON from a tree.
func clearStyle(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		clearStyle(child)
	}
}

// PrintTable prints all columns, only names, or as much as fits the terminal, depending on
// --output.
func (t *Terminal) PrintTable(table *Table) {
	switch t.Output {
	case Name:
		for _, row := range table.rows {
			fmt.Fprintln(t.Out, row[table.Names])
		}
	case Wide:
		table.print(t.Out, 0, true)
	default:
		width := 0 // cuts nothing
		if f, ok := t.Out.(*os.File); ok {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil {
				width = w
			}
		}
		table.print(t.Out, width, false)
	}
}

// Printf prints text for people. A list of names leaves it out.
func (t *Terminal) Printf(format string, args ...any) {
	if t.Output != Name {
		fmt.Fprintf(t.Out, format, args...)
	}
}

// PrintName prints the name of a single result if --output asks for names.
func (t *Terminal) PrintName(name string) {
	if t.Output == Name {
		fmt.Fprintln(t.Out, OneLine(name))
	}
}

// PrintPairs prints names and values in turn, for people, and leaves out names without a value.
func (t *Terminal) PrintPairs(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if value := OneLine(pairs[i+1]); value != "" {
			t.Printf("%-11s  %s\n", pairs[i], value)
		}
	}
}

// Notef prints a message to standard error.
func (t *Terminal) Notef(format string, args ...any) { fmt.Fprintf(t.Err, format, args...) }
