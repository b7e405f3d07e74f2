// Package servertest starts the servers of the distributed deployment for a
// test and ends them with it.
package servertest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/servers"
)

// Variable is the environment variable that decides about servers that are not
// there: with the value "required" they are made, and a test fails where that is
// impossible; without it the test skips.
const Variable = "TOOLSTREAM_SERVERS"

// Start starts the server called name on an empty temporary folder. The test's
// end stops it and removes the folder.
func Start(t testing.TB, name string) *servers.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server takes seconds to start")
	}
	required := os.Getenv(Variable) == "required"
	if !required && !servers.Provisioned(name) {
		t.Skipf("%s is not there: `make provision` makes it", name)
	}
	s, err := servers.Start(context.Background(), name, "")
	if err != nil && !required && errors.Is(err, servers.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

// stop has time of its own: the test's context is over by then.
func stop(t testing.TB, s *servers.Server) {
	if t.Failed() {
		t.Logf("the end of the log of %s:\n%s", s.Name, s.Log())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}
