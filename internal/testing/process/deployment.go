package process

import (
	"path/filepath"
	"testing"
)

// Deployment is a running toolstream, in one process or in several.
type Deployment interface {
	// Front is the process that answers every call of the API.
	Front() *Process
	// Fronts are all processes that answer searches.
	Fronts() []*Process
	// Restart ends every process in order and starts it again, one after the
	// other.
	Restart(t testing.TB)
	// Crash kills these replicas and starts them again, or the only process of an
	// embedded deployment.
	Crash(t testing.TB, names ...string)
}

// Embedded is `up`: everything in one process.
type Embedded struct {
	bin, data string
	env       []string
	door      *door // the fixed address of the process
	process   *Process
}

// Up starts `up` on an empty data folder, with env, of KEY=VALUE, added to its
// environment now and at every start.
func Up(t testing.TB, bin string, env ...string) *Embedded {
	t.Helper()
	e := &Embedded{bin: bin, data: filepath.Join(t.TempDir(), "data"), env: env, door: newDoor(t)}
	e.start(t)
	return e
}

func (e *Embedded) start(t testing.TB) {
	t.Helper()
	p, err := run(t, e.bin, e.env, upOn(e.data)...)
	if err != nil {
		t.Fatal(err)
	}
	p.Client.Server = e.door.lead(p.Client.Server)
	e.process = p
}

// Folder returns the data folder of the process.
func (e *Embedded) Folder() string { return e.data }

// Front returns the process.
func (e *Embedded) Front() *Process { return e.process }

// Fronts returns the process.
func (e *Embedded) Fronts() []*Process { return []*Process{e.process} }

// Restart drains the process and starts another on its folder.
func (e *Embedded) Restart(t testing.TB) {
	t.Helper()
	err := e.process.Stop()
	e.door.shut()
	if err != nil {
		t.Fatalf("stop: %v\n%s", err, e.process.Log())
	}
	e.start(t)
}

// Crash kills the process and starts another on its folder.
func (e *Embedded) Crash(t testing.TB, _ ...string) {
	t.Helper()
	e.door.shut()
	e.process.Kill()
	e.start(t)
}
