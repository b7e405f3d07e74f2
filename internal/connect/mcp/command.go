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

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// stopWithin is how long a command may take to end after its input has.
const stopWithin = 2 * time.Second

// inherited are the variables of this process's environment that a command gets. The others may
// hold secrets.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR"}

// command is a transport over the standard streams of a command.
type command struct {
	wire    *wire
	cmd     *exec.Cmd
	errors  tail
	secrets *strings.Replacer // hides the variables that are the operator's
}

func newCommand(argv, env []string, w *wire) *command {
	c := &command{cmd: exec.Command(argv[0], argv[1:]...), wire: w}
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
	closed := make(chan struct{})
	p := &process{command: c, in: in, closed: closed, paced: pace(closed, jsondoc.Counted(out, jsondoc.Messages, c.wire.bounds, c.wire.refuse(nil)))}
	p.asked = make(chan struct{}, 1)
	return (&sdk.IOTransport{Reader: p, Writer: p}).Connect(ctx)
}

// process is the input and output of a command. Closing it ends the command.
type process struct {
	*command
	*paced
	in     io.WriteCloser
	closed chan struct{}
	once   sync.Once
}

// Write implements io.Writer: the SDK writes each message with one call. Answers to requests of the
// command do not count as requests: it may send any number.
func (p *process) Write(message []byte) (int, error) {
	if bytes.Contains(message, []byte(`"method":`)) {
		select {
		case p.asked <- struct{}{}:
		default:
		}
	}
	return p.in.Write(message)
}

// Close implements io.Closer. Processes that the command has started end with it.
func (p *process) Close() error {
	p.once.Do(func() {
		close(p.closed)
		_ = p.in.Close() // it may have ended by itself
		timer := time.AfterFunc(stopWithin, func() { killGroup(p.cmd) })
		defer timer.Stop()
		_ = p.cmd.Wait() // its exit status is irrelevant to its tools
		killGroup(p.cmd)
	})
	return nil
}

// explain adds the last line of the command's standard error to an error.
func (c *command) explain(err error) error {
	c.errors.mu.Lock()
	defer c.errors.mu.Unlock()
	written := strings.TrimSpace(strings.ToValidUTF8(string(c.errors.kept), ""))
	if written == "" {
		return err
	}
	return fmt.Errorf("%w; the command says: %s", err, c.secrets.Replace(written[strings.LastIndexByte(written, '\n')+1:]))
}

// maxTail bounds the kept end of a command's standard error, in bytes.
const maxTail = 4 << 10

// tail keeps the end of its input.
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
