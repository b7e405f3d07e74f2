// Package boilerplate finds the sentences that stand word for word in many tools of a
// tenant. They say something of a catalogue, and nothing of one of its tools.
package boilerplate

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/events"
)

// least is in how many tools of different names a sentence is boilerplate. Copies of one
// tool under many providers have one name.
const least = 100

// Sentences returns the sentences of a raw document that are about the tool as a whole or
// its answers, each once. What is said of a parameter is none: a parameter of one
// meaning has one text in many tools.
func Sentences(raw json.RawMessage) (found []string) {
	v, err := jsondoc.Decode(raw, jsondoc.Limits{Bytes: len(raw), Nodes: len(raw)})
	if err != nil {
		return nil
	}
	source := provenance.NewSource(v)
	said := map[string]bool{}
	source.Strings(func(string) {}, func(path []string, s string) {
		if !provenance.Says(s) || slices.ContainsFunc(path, isSchema) || source.ReasonAt(path) != "" || provenance.ReasonOf(s) != "" {
			return
		}
		for _, sentence := range provenance.Sentences(s) {
			if folded := provenance.FoldWords(sentence); provenance.Says(sentence) && !said[folded] {
				said[folded] = true
				found = append(found, sentence)
			}
		}
	})
	return found
}

// isSchema reports whether what stands below a key describes values.
func isSchema(key string) bool {
	folded := provenance.Fold(key)
	return slices.ContainsFunc([]string{"parameters", "params", "arguments", "args", "inputs", "input", "properties", "requestbody", "schema", "headers"},
		func(end string) bool { return strings.HasSuffix(folded, end) })
}

// Tool is a tool as its newest record has it.
type Tool struct {
	Tenant, Key string
	Name        string // within its provider
	Sentences   []string
	Known       []string // those that the record says to be boilerplate
}

// ToolOf returns what is counted of the tool in a record whose document has the sentences.
func ToolOf(c *events.Change, sentences []string) Tool {
	name := strings.TrimPrefix(c.ID, c.Provider+"/")
	return Tool{Tenant: c.Tenant, Key: events.Key(c.Ref), Name: name, Sentences: sentences, Known: c.Boilerplate}
}

// Counter counts the tools in which sentences stand. A tool that is deleted or says
// something else is counted until the process ends, or its tenant has too many sentences.
// Its methods may be called concurrently.
type Counter struct {
	mu      sync.RWMutex // guards what follows
	seed    maphash.Seed
	tenants map[string]*tally
	most    int // of a tally
}

// tally is the sentences of one tenant.
type tally struct {
	uses map[uint64]*use // by sentence
	size int             // of all uses
}

// mostUses bounds the size of a tally: some 20 MB, and 50 more where keys are as long as they may be.
const mostUses = 1 << 19

// use is where a sentence stands.
type use struct {
	names  []uint64 // hashes of different names; nil once there are enough
	keys   []string // of tools whose records do not say that it is boilerplate; nil once there are enough
	common bool
}

// size stands for the memory that a use takes: 1 for itself, and 1 for each name and key.
func (u *use) size() int { return 1 + len(u.names) + len(u.keys) }

// mostKeys bounds the tools that are remembered of a sentence: of more, the others learn
// what is boilerplate when they change or are read again.
const mostKeys = 8 * least

// New returns a counter that knows no tool.
func New() *Counter {
	return &Counter{seed: maphash.MakeSeed(), tenants: map[string]*tally{}, most: mostUses}
}

// Forget begins to count anew for a tenant.
func (c *Counter) Forget(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tenants, tenant)
}

// Add counts a tool, and returns the keys of the tools whose records do not say what is
// boilerplate by now.
func (c *Counter) Add(t Tool) (outdated []string) {
	name, known := maphash.String(c.seed, t.Name), provenance.FoldedSet(t.Known)
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.tenants[t.Tenant]
	if all == nil && len(t.Sentences) > 0 {
		all = &tally{uses: map[uint64]*use{}}
		c.tenants[t.Tenant] = all
	}
	for _, s := range t.Sentences {
		folded := provenance.FoldWords(s)
		id := c.id(folded)
		u, before := all.uses[id], 0
		if u == nil {
			u = &use{}
			all.uses[id] = u
		} else {
			before = u.size()
		}
		if !known[folded] {
			outdated = append(outdated, u.lacking(t.Key)...)
		}
		outdated = append(outdated, u.named(name)...)
		if all.size += u.size() - before; all.size > c.most {
			all.shrink(c.most / 2)
		}
	}
	slices.Sort(outdated)
	return slices.Compact(outdated)
}

func (c *Counter) id(folded string) uint64 { return maphash.String(c.seed, folded) }

// shrink forgets the sentences that stand in the fewest tools of different names, until
// the size is at most this; those that are boilerplate come last. They are counted anew.
func (t *tally) shrink(size int) {
	var sizes [least + 1]int // of the uses, by how many names they have
	for _, u := range t.uses {
		sizes[u.rank()] += u.size()
	}
	lowest := 0
	for ; t.size > size; lowest++ {
		t.size -= sizes[lowest]
	}
	for id, u := range t.uses {
		if u.rank() < lowest {
			delete(t.uses, id)
		}
	}
}

// rank is how many names are known, least for boilerplate.
func (u *use) rank() int {
	if u.common {
		return least
	}
	return len(u.names)
}

// lacking notes a tool whose record does not say that the sentence is boilerplate, and
// returns it if that is so.
func (u *use) lacking(key string) []string {
	if u.common {
		return []string{key}
	}
	if len(u.keys) < mostKeys && !slices.Contains(u.keys, key) {
		u.keys = append(u.keys, key)
	}
	return nil
}

// named counts a name. With the last one that it takes it returns the tools before.
func (u *use) named(name uint64) (keys []string) {
	if u.common || slices.Contains(u.names, name) {
		return nil
	}
	if u.names = append(u.names, name); len(u.names) < least {
		return nil
	}
	keys = u.keys
	*u = use{common: true}
	return keys
}

// Of returns those of the sentences that are boilerplate in a tenant.
func (c *Counter) Of(tenant string, sentences []string) (found []string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := c.tenants[tenant]
	if all == nil {
		return nil
	}
	for _, s := range sentences {
		if u := all.uses[c.id(provenance.FoldWords(s))]; u != nil && u.common {
			found = append(found, s)
		}
	}
	return found
}

// Without returns a text without the sentences that are boilerplate, a set of
// provenance.FoldedSet, and which these are.
func Without(s string, boilerplate map[string]bool) (rest string, gone []string) {
	var kept []string
	for _, sentence := range text.Sentences(s) {
		if boilerplate[provenance.FoldWords(sentence)] {
			gone = append(gone, sentence)
		} else {
			kept = append(kept, sentence)
		}
	}
	if len(gone) == 0 {
		return s, nil
	}
	return strings.Join(kept, " "), gone
}
