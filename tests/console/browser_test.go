package console

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

// patience is how long a script may take: a guard, not an expectation.
const patience = 10 * time.Minute

// browser runs scripts that open pages in Chromium.
type browser struct {
	node, chromium, folder string
}

// newBrowser skips where there is no Chromium, or what drives it was not made.
func newBrowser(t *testing.T) browser {
	t.Helper()
	node := servertest.Program(t, servers.ConsoleName, filepath.Join("node_modules", ".bin", "node"))
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium, which the distribution has: no browser to look with")
	}
	// Node looks for packages beside a script.
	folder := t.TempDir()
	check.OK(t, os.CopyFS(folder, os.DirFS(".")))
	check.OK(t, os.Symlink(filepath.Dir(filepath.Dir(node)), filepath.Join(folder, "node_modules")))
	return browser{node, chromium, folder}
}

// about is what a script is told.
type about map[string]any

// with returns a copy that says more.
func (a about) with(name string, value any) about {
	out := maps.Clone(a)
	out[name] = value
	return out
}

// thorough has pages looked at in both colour schemes and several widths, and pictures taken
// into the folder that the environment names.
func (a about) thorough() about {
	return a.with("thorough", true).with("screenshots", os.Getenv("TOOLSTREAM_SCREENSHOTS"))
}

// beside adds a server that has nothing.
func (a about) beside(empty *site) about {
	return a.with("empty", map[string]string{"server": empty.Client.Server, "token": empty.admin})
}

// line is what a script prints: see lib.mjs.
type line struct {
	Check    string
	Problems []string
	Figure   string
	Value    float64
	Ask      string
}

// run runs a script, whose checks are tests, and does what it asks for.
func (b browser) run(t *testing.T, script string, a about, does map[string]func()) {
	t.Helper()
	a = a.with("chromium", b.chromium)
	if os.Geteuid() == 0 {
		a["arguments"] = []string{"--no-sandbox"} // root cannot have one
	}
	given := check.Value(json.Marshal(a))(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.node, filepath.Join(b.folder, script+".mjs"), string(given))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends its browser
	cmd.WaitDelay = time.Minute
	var said strings.Builder
	cmd.Stderr = &said
	in := check.Value(cmd.StdinPipe())(t)
	out := check.Value(cmd.StdoutPipe())(t)
	check.OK(t, cmd.Start())
	checks := follow(t, out, in, does)
	if err := cmd.Wait(); err != nil || checks == 0 {
		t.Fatalf("%s.mjs made %d checks: %v\n%s", script, checks, err, said.String())
	}
}

// follow reads what a script prints until it ends, and returns how many checks it made.
func follow(t *testing.T, out io.Reader, in io.Writer, does map[string]func()) (checks int) {
	t.Helper()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Errorf("a script printed %q: %v", lines.Text(), err)
			continue
		}
		switch {
		case l.Check != "":
			checks++
			t.Run(l.Check, func(t *testing.T) {
				for _, p := range l.Problems {
					t.Error(p)
				}
			})
		case l.Figure != "":
			t.Logf("%s: %v", l.Figure, l.Value)
		case does[l.Ask] != nil:
			does[l.Ask]()
			fmt.Fprintln(in, "{}")
		default:
			t.Errorf("a script asks for %q", l.Ask)
		}
	}
	check.OK(t, lines.Err())
	return checks
}
