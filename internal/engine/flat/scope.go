package flat

import (
	"math/bits"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/policy"
)

// scopesKept is for how many scopes of a tenant masks are kept: 16 bytes for each of a
// tenant's blocks.
const scopesKept = 256

// scopes holds, for the scopes that were searched last, the slots that they allow.
type scopes struct {
	kept *lru.Cache[string, *scopeMasks] // by the scope's key
}

func newScopes() scopes {
	kept, err := lru.New[string, *scopeMasks](scopesKept)
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return scopes{kept}
}

// masks returns the slots of each block that a scope allows, nil for all.
func (s scopes) masks(scope *policy.Scope, blocks []*block) []uint64 {
	if scope == nil {
		return nil
	}
	of, there := s.kept.Get(scope.Key)
	if !there {
		of = &scopeMasks{}
		s.kept.Add(scope.Key, of)
	}
	return of.update(scope, blocks)
}

// scopeMasks are the slots that one scope allows. A block never changes, so that its mask
// holds for as long as the block is there.
type scopeMasks struct {
	mu     sync.Mutex
	blocks []*block
	masks  []uint64 // never changed once it is returned
}

// update returns the masks of blocks, of which it works out those that are new.
func (m *scopeMasks) update(scope *policy.Scope, blocks []*block) []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := 0
	for same < min(len(blocks), len(m.blocks)) && blocks[same] == m.blocks[same] {
		same++
	}
	if same == len(blocks) && same == len(m.blocks) {
		return m.masks
	}
	masks := make([]uint64, len(blocks))
	copy(masks, m.masks)
	for n := same; n < len(blocks); n++ {
		if n >= len(m.blocks) || m.blocks[n] != blocks[n] {
			masks[n] = allowedIn(scope, blocks[n])
		}
	}
	m.blocks, m.masks = blocks, masks
	return masks
}

// allowedIn returns the slots of a block that a scope allows.
func allowedIn(scope *policy.Scope, b *block) uint64 {
	var mask uint64
	for live := b.live; live != 0; live &= live - 1 {
		i := bits.TrailingZeros64(live)
		if b.entities[i].inScope(scope) {
			mask |= 1 << i
		}
	}
	return mask
}
