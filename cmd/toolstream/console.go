package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// console is where a command reads and writes: data to out, everything else
// to err.
type console struct {
	in       io.Reader
	out, err io.Writer

	server string
	token  string
	json   bool
	quiet  bool
}

func newConsole(in io.Reader, out, err io.Writer) *console {
	return &console{in: in, out: out, err: err}
}

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

// showsProgress reports whether a progress bar has somebody to look at it.
func (c *console) showsProgress() bool {
	f, ok := c.err.(*os.File)
	return ok && !c.quiet && term.IsTerminal(int(f.Fd()))
}

// printJSON writes v as indented JSON.
func (c *console) printJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func (c *console) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

func (c *console) notef(format string, args ...any) { fmt.Fprintf(c.err, format, args...) }
