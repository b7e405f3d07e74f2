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
}

// Embedded is `up`: everything in one process.
type Embedded struct {
	bin, data string
	process   *Process
}

// Up starts `up` on an empty data folder.
func Up(t testing.TB, bin string) *Embedded {
	t.Helper()
	e := &Embedded{bin: bin, data: filepath.Join(t.TempDir(), "data")}
	e.process = Start(t, bin, e.data)
	return e
}

// Front returns the process.
func (e *Embedded) Front() *Process { return e.process }

// Fronts returns the process.
func (e *Embedded) Fronts() []*Process { return []*Process{e.process} }

// Restart drains the process and starts another on its folder.
func (e *Embedded) Restart(t testing.TB) {
	t.Helper()
	if err := e.process.Stop(); err != nil {
		t.Fatalf("stop: %v\n%s", err, e.process.Log())
	}
	e.process = Start(t, e.bin, e.data)
}
