// Package console opens the console in a real browser, with real data behind it: what it
// shows, who can use it, and what it does when the server is away or hostile documents come.
package console

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/access/tokenfile"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
)

func TestMain(m *testing.M) {
	if os.Getenv(level.Servers) == "" && !level.InCampaign() {
		os.Exit(m.Run()) // no test starts it
	}
	os.Exit(process.Main(m))
}

// cluster is what the distributed deployments of the package share.
var cluster process.Cluster

// credentials are what servers of the package take.
type credentials struct {
	file          string
	admin, reader string
	everybody     string // has no name: what it teaches is not of one
}

func newCredentials(t *testing.T) credentials {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	add := func(name string, role identity.Role) string {
		return tokentest.Add(t, file, identity.Caller{Tenant: identity.DefaultTenant, Subject: name, Role: role}, time.Time{})
	}
	return credentials{file: file, admin: add("ada", identity.Admin), reader: add("rob", identity.Reader), everybody: add("", identity.Calling)}
}

// settings are those of every server of the package, as its environment.
func (c credentials) settings() []string {
	return []string{
		"TOOLSTREAM_AUTH_TOKENS_FILE=" + c.file, "TOOLSTREAM_CRAWL_PRIVATE=127.0.0.0/8", "TOOLSTREAM_AUDIT_SEARCHES=0.1",
		// So that weights are learned within seconds.
		"TOOLSTREAM_TRAINER_PUBLISH=100ms", "TOOLSTREAM_TRAINER_MIN_PAIRS=64", "TOOLSTREAM_TRAINER_HALF_LIFE=240000h",
	}
}

// site is a server that people look at, at one address through all its restarts.
type site struct {
	*process.Process
	credentials
	data, port string
}

// newSite starts `up` on a folder with nothing but strays.
func newSite(t *testing.T, strays ...stray) *site {
	t.Helper()
	s := &site{credentials: newCredentials(t), data: filepath.Join(t.TempDir(), "data"), port: check.FreePort(t)}
	if len(strays) > 0 {
		lay(t, embedded(t, filepath.Join(s.data, "bus")), strays)
	}
	s.start(t)
	return s
}

// start starts the server where it does not run.
func (s *site) start(t *testing.T) {
	t.Helper()
	s.Process = process.StartIn(t, process.Binary(), s.data, s.settings(), "--listen", "127.0.0.1:"+s.port)
	s.Client.Token = s.admin
}

// What the console shows, and what becomes of it, in one process with all documents.
func TestTheConsoleShowsWhatIsThere(t *testing.T) {
	b := newBrowser(t)
	s := newSite(t, strays()...)
	s.fill(t)
	s.imports(t, dataSet(t, "mcp/tools.jsonl.gz"))
	about := s.about()
	t.Run("pages", func(t *testing.T) { b.run(t, "pages", about.thorough(), nil) })
	t.Run("keyboard", func(t *testing.T) { b.run(t, "keyboard", about.with("openapi", openAPI(t, boats).URL), nil) })
	t.Run("states", func(t *testing.T) { b.run(t, "states", about.beside(newSite(t)), nil) })
	t.Run("session", func(t *testing.T) {
		token, secret, err := tokenfile.Create(identity.Caller{Tenant: identity.DefaultTenant, Subject: "ada", Role: identity.Admin}, time.Time{})
		if err == nil {
			err = tokenfile.Add(s.file, token)
		}
		check.OK(t, err)
		b.run(t, "session", about.with("brief", secret), map[string]func(){"revoke": func() {
			if err := tokenfile.Remove(s.file, token.ID()); err != nil {
				t.Error(err)
			}
		}})
	})
	t.Run("measure", func(t *testing.T) {
		level.Campaign(t)
		b.run(t, "measure", about.with("lighthouse", check.FreePort(t)), nil) // Chromium's, for it
	})
	t.Run("reconnect", func(t *testing.T) {
		b.run(t, "reconnect", about, map[string]func(){
			"kill":  s.Kill,
			"start": func() { s.start(t) },
			"add":   func() { s.put(t, "reborn/rename_ferry", `{"name":"rename_ferry","description":"Renames a ferry."}`) },
		})
	})
}

// What was done is taken back by the button that says so. Nothing is learned meanwhile, which
// could replace what is live.
func TestTheConsoleTakesBack(t *testing.T) {
	newBrowser(t).run(t, "undo", newSite(t).about(), nil)
}

// Whatever documents, names, addresses and errors hold, the console shows it as text.
func TestTheConsoleShowsTextAsText(t *testing.T) {
	b := newBrowser(t)
	s := newSite(t, hostileStrays(t)...)
	b.run(t, "hostile", s.hostile(t), nil)
}

// If services run apart, the console of a query replica shows all of them. One process shows
// how pages look.
func TestTheConsoleOfServicesApart(t *testing.T) {
	b := newBrowser(t)
	c := newCredentials(t)
	d := process.ServeIn(t, &cluster, process.Binary(), c.settings())
	s := &site{Process: d.Fronts()[0], credentials: c}
	s.Client.Token = c.admin
	front := &site{Process: d.Front(), credentials: c}
	front.Client.Token = c.admin
	lay(t, ofCluster(t, d), strays())
	front.fill(t)
	s.await(t, "dead letters", func(st status.Status) bool { return st.DeadLetters == len(strays()) })
	b.run(t, "pages", s.about(), nil)
}
