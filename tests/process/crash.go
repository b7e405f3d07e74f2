package process

import "testing"

// Crashing is a deployment of which processes can be killed.
type Crashing interface {
	Deployment
	// Crash kills these replicas and starts them again; where everything is one
	// process, that one.
	Crash(t testing.TB, names ...string)
}

// Crash kills the process and starts another on its folder.
func (e *Embedded) Crash(t testing.TB, _ ...string) {
	t.Helper()
	e.process.Kill()
	e.start(t)
}

// Crash kills the replicas at once and starts them again.
func (d *Distributed) Crash(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		d.Kill(name)
	}
	for _, name := range names {
		d.Start(t, name)
	}
}
