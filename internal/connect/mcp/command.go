package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// stopWithin is how long a command may take to end after its input has.
const stopWithin = 2 * time.Second

// inherited are the variables that a command gets of this process's environment, which
// may hold secrets.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR"}

// command is a transport over the standard streams of a command.
type command struct {
	cmd     *exec.Cmd
	errors  tail
	secrets *strings.Replacer // hides the variables that are the operator's
}

func newCommand(argv, env []string) *command {
	c := &command{cmd: exec.Command(argv[0], argv[1:]...)}
	for _, name := range inherited {
		if value, set := os.LookupEnv(name); set {
			c.cmd.Env = append(c.cmd.Env, name+"="+value)
		}
	}
	c.cmd.Env = append(c.cmd.Env, env...)
	var hidden []string
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		hidden = append(hidden, value, "$"+name)
	}
	c.secrets = strings.NewReplacer(hidden...)
	c.cmd.Stderr = &c.errors
	c.cmd.WaitDelay = stopWithin
	ownGroup(c.cmd)
	return c
}

// Connect implements sdk.Transport.
func (c *command) Connect(ctx context.Context) (sdk.Connection, error) {
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	p := &process{command: c, Reader: out, in: in}
	return (&sdk.IOTransport{Reader: p, Writer: in}).Connect(ctx)
}

// process is the output of a command. Closing it ends the command.
type process struct {
	*command
	io.Reader
	in   io.Closer
	once sync.Once
}

// Close implements io.Closer. What the command has started ends with it.
func (p *process) Close() error {
	p.once.Do(func() {
		_ = p.in.Close() // it may have ended by itself
		timer := time.AfterFunc(stopWithin, func() { killGroup(p.cmd) })
		defer timer.Stop()
		_ = p.cmd.Wait() // how it ended says nothing of its tools
		killGroup(p.cmd)
	})
	return nil
}

// explain adds to an error what the command last wrote to its standard error.
func (c *command) explain(err error) error {
	if said := c.errors.last(); said != "" {
		return fmt.Errorf("%w; the command says: %s", err, c.secrets.Replace(said))
	}
	return err
}

// maxTail is how much is kept of what a command writes to its standard error.
const maxTail = 4 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept = bytes.Clone(t.kept[over:])
	}
	return len(p), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.kept), ""))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
