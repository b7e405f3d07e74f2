package flat

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/access/policy"
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
// holds for as long as the block is there. The blocks are known by their generations: pointers
// would keep replaced blocks, with their vectors, in memory until the scope is searched again.
type scopeMasks struct {
	mu          sync.Mutex
	generations []uint64 // of the blocks
	masks       []uint64 // never changed once it is returned
}

// update returns the masks of blocks and computes the new ones.
func (m *scopeMasks) update(scope *policy.Scope, blocks []*block) []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := 0
	for same < min(len(blocks), len(m.masks)) && blocks[same].generation == m.generations[same] {
		same++
	}
	if same == len(blocks) && same == len(m.masks) {
		return m.masks
	}
	masks, generations := make([]uint64, len(blocks)), make([]uint64, len(blocks))
	copy(masks, m.masks)
	copy(generations, m.generations)
	for n := same; n < len(blocks); n++ {
		if b := blocks[n]; n >= len(m.masks) || b.generation != generations[n] {
			masks[n] = keep(b.live, func(i int) bool { return b.entities[i].inScope(scope) })
			generations[n] = b.generation
		}
	}
	m.generations, m.masks = generations, masks
	return masks
}
