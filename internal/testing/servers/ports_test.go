//go:build linux

package servers

import (
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// Servers that start at the same time must not choose one port twice, before
// either of them listens.
func TestPortsAreChosenOnce(t *testing.T) {
	t.Setenv(CacheVariable, t.TempDir())
	chosen := map[int]bool{}
	for range 100 {
		dir := t.TempDir()
		out, err := ports(dir, 8)
		check.OK(t, err)
		for _, port := range out {
			if chosen[port] {
				t.Fatalf("port %d is chosen twice", port)
			}
			chosen[port] = true
		}
	}
}
