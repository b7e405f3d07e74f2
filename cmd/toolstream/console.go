package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"go.yaml.in/yaml/v3"
	"golang.org/x/term"

	"github.com/toolstream/toolstream/internal/login"
)

// The values of --output.
const (
	asTable = "table"
	asWide  = "wide"
	asJSON  = "json"
	asYAML  = "yaml"
	asName  = "name"
)

func outputs() []string { return []string{asTable, asWide, asJSON, asYAML, asName} }

// console is where a command reads and writes: data to out, everything else
// to err.
type console struct {
	in       io.Reader
	out, err io.Writer

	server                    string
	token                     string
	http                      *http.Client
	caFile, certFile, keyFile string
	context                   string       // that a flag names
	used                      string       // context whose server it is; empty: none
	session                   *login.Login // of that
	transport                 *http.Client // to the server, without a login
	output                    string
	json                      bool // short for asJSON
	quiet                     bool
}

func newConsole(in io.Reader, out, err io.Writer) *console {
	return &console{in: in, out: out, err: err, output: asTable}
}

// structured reports whether the output is for programs.
func (c *console) structured() bool { return c.output == asJSON || c.output == asYAML }

// width returns the columns of the terminal that out is, or 0 where out is no
// terminal and nothing need be cut.
func (c *console) width() int {
	f, ok := c.out.(*os.File)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// showsProgress reports whether err is a terminal and a progress bar is wanted.
func (c *console) showsProgress() bool {
	f, ok := c.err.(*os.File)
	return ok && !c.quiet && term.IsTerminal(int(f.Fd()))
}

// printData writes v as indented JSON, or as YAML with the same members in the
// same order.
func (c *console) printData(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil && c.output == asYAML {
		err = toYAML(&text)
	}
	if err == nil {
		_, err = c.out.Write(text.Bytes())
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
	plain(&node)
	text.Reset()
	enc := yaml.NewEncoder(text)
	enc.SetIndent(2)
	return enc.Encode(&node)
}

// plain takes from a node and those below it the style of JSON.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}

// show prints what a command came to: the value for programs, or what print prints
// for people.
func (c *console) show(value any, print func()) error {
	if c.structured() {
		return c.printData(value)
	}
	print()
	return nil
}

// printTable prints a table as --output says: its names alone, all of it, or what
// the terminal is wide enough for.
func (c *console) printTable(t *table) {
	switch c.output {
	case asName:
		t.printNames(c.out)
	case asWide:
		t.print(c.out, 0, true)
	default:
		t.print(c.out, c.width(), false)
	}
}

// printf prints text for people, which no list of names holds.
func (c *console) printf(format string, args ...any) {
	if c.output != asName {
		fmt.Fprintf(c.out, format, args...)
	}
}

// printName prints the name of the one thing that a command shows, where names are
// wanted.
func (c *console) printName(name string) {
	if c.output == asName {
		fmt.Fprintln(c.out, oneLine(name))
	}
}

// printPairs prints names and values in turn, for people, without those that have no
// value.
func (c *console) printPairs(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if value := oneLine(pairs[i+1]); value != "" {
			c.printf("%-11s  %s\n", pairs[i], value)
		}
	}
}

func (c *console) notef(format string, args ...any) { fmt.Fprintf(c.err, format, args...) }
