package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
)

// request asks once the service is there: it comes up after HTTP does.
func request(t *testing.T, nc *nats.Conn, subject string, body any) *nats.Msg {
	t.Helper()
	raw, ok := body.([]byte)
	if !ok {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	var msg *nats.Msg
	process.Await(t, subject, func() (ok bool, err error) {
		msg, err = nc.Request(subject, raw, patience)
		if err == nats.ErrNoResponders {
			return false, nil
		}
		return true, err
	})
	return msg
}

// The one process listens at HTTP's address only: its bus is reached from inside alone.
func TestUpOpensNoPortOfNATS(t *testing.T) {
	t.Parallel()
	if n := listening(t, up(t, t.TempDir())); n != 1 {
		t.Errorf("it listens at %d addresses, want 1", n)
	}
	settings := writeFile(t, "toolstream.yaml", "nats: {listen: \"127.0.0.1:4222\"}\n")
	if o := cli(t, "", "up", "--data", t.TempDir(), "--config", settings); o.code != 2 || !strings.Contains(o.errOut, `"nats.listen"`) {
		t.Errorf("a setting of older versions: %+v", o)
	}
}

// listening counts the sockets at which the process listens, by its open files
// and the system's table.
func listening(t *testing.T, p *process.Process) int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID()))
	if err != nil || len(files) == 0 {
		t.Skip("the system does not show the open files of a process")
	}
	own := map[string]bool{}
	for _, f := range files {
		target, err := os.Readlink(f)
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	const stateListen = "0A"
	n := 0
	for _, table := range []string{"tcp", "tcp6"} {
		raw := check.Value(os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.PID(), table)))(t)
		for line := range strings.Lines(string(raw)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == stateListen && own[f[9]] {
				n++
			}
		}
	}
	return n
}
