package weaviate

import (
	"testing"

	"github.com/toolstream/toolstream/internal/index"
)

// Whoever wants very much is not to be refused by Weaviate, which would count as its
// being away.
func TestNoMoreIsAskedForThanWeaviateGives(t *testing.T) {
	s := &Search{client: &Client{config: Config{Limit: 100}}}
	for n, want := range map[int]uint32{10: 100, 1_000: 500, 24_800: maxProposals} {
		if got := s.proposals(&index.Lookup{N: n}); got != want {
			t.Errorf("of %d wanted %d are asked for, want %d", n, got, want)
		}
	}
}
