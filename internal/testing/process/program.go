package process

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

// patience bounds the wait of a test for an event: a guard, not an expectation.
const patience = 5 * time.Minute

// Program is a server that a test starts, and may start again at the same address.
type Program struct {
	Addr string

	argv, env []string
	cmd       *exec.Cmd
	ended     chan struct{}
	log       strings.Builder
}

// LaunchAt starts a program that listens at a port.
func LaunchAt(t testing.TB, port string, env []string, argv ...string) *Program {
	t.Helper()
	p := &Program{argv: argv, env: env, Addr: "127.0.0.1:" + port}
	p.Start(t)
	return p
}

// Launch starts a program that gets its port by %s in one of its arguments or variables.
func Launch(t testing.TB, env []string, argv ...string) *Program {
	t.Helper()
	port := check.FreePort(t)
	fill := func(all []string) []string {
		out := make([]string, len(all))
		for i, s := range all {
			out[i] = strings.ReplaceAll(s, "%s", port)
		}
		return out
	}
	p := &Program{argv: fill(argv), env: fill(env), Addr: "127.0.0.1:" + port}
	p.Start(t)
	return p
}

// Start starts the program and returns once it can be connected to. It is killed when the
// test ends.
func (p *Program) Start(t testing.TB) {
	t.Helper()
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.ended = make(chan struct{})
	if err := servers.Child(p.cmd, func() { _ = p.cmd.Wait(); close(p.ended) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	Await(t, p.argv[0], func() (bool, error) {
		conn, err := net.Dial("tcp", p.Addr)
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	})
}

// Kill ends the program.
func (p *Program) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// Await waits until check returns true.
func Await(t testing.TB, what string, check func() (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := Until(ctx, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
