// Package process runs the built toolstream as a child process, for tests
// that kill it, and asks it over HTTP like any other client.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
	"github.com/toolstream/toolstream/pkg/client"
)

// Toolstream is the package of the program.
const Toolstream = "github.com/toolstream/toolstream/cmd/toolstream"

// Build compiles Toolstream into the test's folder and returns its path.
func Build(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "toolstream")
	if err := Compile(Toolstream, bin); err != nil {
		t.Fatal(err)
	}
	return bin
}

// built names the variable that holds the path of the program that Main has compiled.
const built = "TOOLSTREAM_TEST_BINARY"

// Main compiles Toolstream for all tests of a package, runs them, stops their servers and
// returns the code to exit with.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "toolstream-tests")
	if err == nil {
		defer os.RemoveAll(dir)
		bin := filepath.Join(dir, "toolstream")
		err = errors.Join(Compile(Toolstream, bin), os.Setenv(built, bin))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return servertest.Main(m)
}

// Binary is the path of the program that Main has compiled.
func Binary() string { return os.Getenv(built) }

// Compile compiles the program of a package, without cgo as in a release, to a path, with flags of
// `go build`. Go keeps the program that `go run` makes, so that it is linked once for all tests, and
// not what `go build` makes.
func Compile(pkg, bin string, flags ...string) error {
	cmd := exec.Command("go", slices.Concat([]string{"run"}, flags, []string{"-exec", "cp", pkg, bin})...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// Process is a running toolstream that serves HTTP: `up`, or a service.
type Process struct {
	Client client.Client
	cmd    *exec.Cmd
	mu     sync.Mutex // guards log
	log    []string
	exited chan error
}

// startLimit bounds the wait for a process to report its address. It guards
// against hanging for ever and is not an expectation.
const startLimit = 2 * time.Minute

var address = regexp.MustCompile(`toolstream .*listens.*(http://127\.0\.0\.1:\d+)`)

// Start runs `up` on the data folder at a free port of loopback and returns
// once it is ready. The process is killed when the test ends.
func Start(t testing.TB, bin, data string, args ...string) *Process {
	t.Helper()
	return StartIn(t, bin, data, nil, args...)
}

// StartIn is Start with env, of KEY=VALUE, added to the environment of the process.
func StartIn(t testing.TB, bin, data string, env []string, args ...string) *Process {
	t.Helper()
	p, err := run(t, bin, env, append(upOn(data), args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Try is Start for a process that may refuse to run: the error contains its
// output.
func Try(t testing.TB, bin, data string, args ...string) (*Process, error) {
	t.Helper()
	return run(t, bin, nil, append(upOn(data), args...)...)
}

// upOn returns the arguments of `up` on a data folder at a free port.
func upOn(data string) []string { return []string{"up", "--data", data, "--listen", "127.0.0.1:0"} }

// run starts a command that listens, with env added to this process's, and
// returns once it is ready.
func run(t testing.TB, bin string, env []string, args ...string) (*Process, error) {
	t.Helper()
	p, err := start(bin, env, args...)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the end of the log:\n%s", p.endOfLog())
		}
	})
	if err := p.Ready(t.Context()); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// endOfLog returns the last 4 kB of the log.
func (p *Process) endOfLog() string {
	text := p.Log()
	return text[max(0, len(text)-4096):]
}

// start returns once the process reports its address.
func start(bin string, env []string, args ...string) (*Process, error) {
	cmd := exec.Command(bin, args...)
	cmd.Env = append(append(os.Environ(), "TOOLSTREAM_LOG_FORMAT=text"), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, exited: make(chan error, 1)}
	found := make(chan string, 1)
	if err := servers.Child(cmd, func() { p.follow(stderr, found) }); err != nil {
		return nil, fmt.Errorf("start %s: %w", bin, err)
	}
	select {
	case url := <-found:
		p.Client = client.Client{Server: url, HTTP: &http.Client{}}
		return p, nil
	case err := <-p.exited:
		p.exited <- err
		return nil, fmt.Errorf("toolstream ended at start (%v):\n%s", err, p.Log())
	case <-time.After(startLimit):
		p.Kill()
		return nil, fmt.Errorf("toolstream did not say where it listens:\n%s", p.Log())
	}
}

// follow keeps what the process logs, reports the first address in it, and
// then the process's end.
func (p *Process) follow(stderr io.Reader, found chan<- string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for reported := false; lines.Scan(); {
		p.mu.Lock()
		p.log = append(p.log, lines.Text())
		p.mu.Unlock()
		if said := address.FindStringSubmatch(lines.Text()); said != nil && !reported {
			reported = true
			found <- said[1]
		}
	}
	p.exited <- p.cmd.Wait()
}

// Log returns the log of the process so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(append(p.log[:len(p.log):len(p.log)], ""), "\n")
}

// PID is the id of the process, for reading its statistics from the system.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ready waits until the process says that it is, by polling /readyz, which is the
// only way to learn it from outside.
func (p *Process) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err := Until(ctx, func() (bool, error) {
		body, _, err := p.Client.Send(ctx, http.MethodGet, "/readyz", nil, "", nil)
		var refused *client.Problem
		if errors.As(err, &refused) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, body.Close()
	})
	if err != nil {
		return fmt.Errorf("not ready: %w\n%s", err, p.Log())
	}
	return nil
}

// untilLimit bounds Until if ctx has no deadline: a test that waits for ever ends its whole
// package without saying why.
const untilLimit = 5 * time.Minute

// Until calls check every few milliseconds until it returns true, fails, or ctx
// ends.
func Until(ctx context.Context, check func() (bool, error)) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, untilLimit)
		defer cancel()
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := check()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Kill ends the process as a crash would (kill -9) and waits until it is gone.
func (p *Process) Kill() {
	// An error says that it has already ended.
	_ = p.cmd.Process.Kill()
	p.exited <- <-p.exited
}

// Stop asks the process to drain, as Ctrl-C does, and returns how it ended.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := <-p.exited
	p.exited <- err
	return err
}
