//go:build linux

package servers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/servers/servertest"
)

// parentVariable makes this test's program start a server and wait: the process
// that TestServersDieWithTheirParent kills.
const parentVariable = "TOOLSTREAM_SERVERS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) == "" {
		// The client's finalizer waits for ever once a client is collected.
		goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/weaviate/weaviate-go-client/v4/weaviate/connection.finalizer"))
		return
	}
	s, err := servers.NATS(context.Background(), os.Getenv(parentVariable))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.PID())
	<-s.Done()
}

// bounded is the context of a whole test of a server on a busy machine.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// crash kills the server and starts it again, and holds that it is another
// process at the same address.
func crash(t *testing.T, ctx context.Context, s *servers.Server) {
	t.Helper()
	addr, pid := s.Addr, s.PID()
	s.Kill()
	if alive(pid) {
		t.Fatalf("%s is alive after Kill", s.Name)
	}
	if s.Ready(ctx) == nil {
		t.Fatalf("%s answers after Kill", s.Name)
	}
	began := time.Now()
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s is back after %v", s.Name, time.Since(began))
	if s.Addr != addr || s.PID() == pid {
		t.Fatalf("%s was %s, process %d; is %s, process %d", s.Name, addr, pid, s.Addr, s.PID())
	}
}

// leavesNothing stops the server and holds that process and folder are gone.
func leavesNothing(t *testing.T, ctx context.Context, s *servers.Server) {
	t.Helper()
	began := time.Now()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s stopped in %v", s.Name, time.Since(began))
	if alive(s.PID()) {
		t.Errorf("%s, process %d, is alive after Stop", s.Name, s.PID())
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there after Stop: %v", s.Dir, err)
	}
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestServersDieWithTheirParent(t *testing.T) {
	servertest.Start(t, servers.NATSName) // skips where there is none
	ctx := bounded(t)
	parent := exec.CommandContext(ctx, os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanErr := fmt.Sscan(line, &pid); err != nil || scanErr != nil {
		t.Fatalf("the parent said %q: %v", line, err)
	}
	if !alive(pid) {
		t.Fatalf("process %d is not there", pid)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // its status is the signal
	awaitEnd(t, ctx, pid)
}

// awaitEnd waits for a process that is not our child any more.
func awaitEnd(t *testing.T, ctx context.Context, pid int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for alive(pid) && !defunct(pid) {
		select {
		case <-ctx.Done():
			t.Fatalf("process %d outlives its parent", pid)
		case <-tick.C:
		}
	}
}

// defunct reports a process that has ended and that whoever inherited it has
// not waited for yet.
func defunct(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.Contains(string(text), "State:\tZ")
}
