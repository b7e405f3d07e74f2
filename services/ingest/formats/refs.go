package formats

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// Bounds of the references of one document.
const (
	maxComponents = 100_000   // different targets
	maxExpansions = 1_000_000 // references met when everything that one operation uses is written out
)

type digest = [sha256.Size]byte

// refs are the references of a document: what they lead to, and of each target
// what it says with everything that it refers to in turn. Targets are hashed
// once, strongly connected ones together, so that circles have hashes too
// (Tarjan 1972).
type refs struct {
	doc   map[string]any
	byRef map[string]*component
	order int
	stack []*component
}

// component is what one reference leads to.
type component struct {
	pointer string
	value   any  // nil where the reference leads nowhere
	outward bool // the reference leaves the document: it is never followed

	scanned bool
	local   digest // of its own text, references as they stand
	size    int    // bytes of its canonical text
	edges   []edge
	leaves  exit // among its own references

	index, low int // Tarjan's; index 0 is not visited
	onStack    bool
	closure    digest // of its text and of all that it reaches
	reaches    exit   // in all that it reaches
	expansions int    // references in it when written out, those within a circle left out

	weights [inputDepth + 1]int // bytes of it with references in place, by depth; 0 is not computed
}

// exit is a reference outward: where it stands and what it says. There is none
// where at is empty.
type exit struct{ at, ref string }

// edge is a reference that stands in a component, count times.
type edge struct {
	to    *component
	count int
}

func newRefs(doc map[string]any) *refs {
	return &refs{doc: doc, byRef: map[string]*component{}}
}

// component returns what a reference leads to.
func (r *refs) component(ref string) *component {
	pointer, local := localPointer(ref)
	if local {
		pointer = respell(pointer)
	}
	if c, ok := r.byRef[pointer]; ok {
		return c
	}
	c := &component{pointer: pointer, outward: !local}
	if local {
		c.value = r.resolve(pointer)
	}
	r.byRef[pointer] = c
	return c
}

// localPointer returns the JSON pointer of a reference within the document, as
// "#/…" in one spelling. An anchor or an empty reference is local and leads
// nowhere.
func localPointer(ref string) (pointer string, local bool) {
	if ref != "" && ref[0] != '#' {
		return ref, false
	}
	if decoded, err := url.PathUnescape(ref); err == nil {
		return decoded, true
	}
	return ref, true
}

// The escapes of RFC 6901.
var (
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
)

// respell returns a pointer in the one spelling that RFC 6901 has for what it points
// to, so that a target is one component however many ways it is written. A "~" that
// begins no escape is taken for itself. jsondoc.Pointer does not serve here: it cuts
// long tokens, and two targets would be one.
func respell(pointer string) string {
	if !strings.Contains(pointer, "~") {
		return pointer
	}
	tokens := strings.Split(pointer, "/")
	for i, token := range tokens {
		tokens[i] = escape.Replace(unescape.Replace(token))
	}
	return strings.Join(tokens, "/")
}

func (r *refs) resolve(pointer string) any {
	if pointer == "#" {
		return r.doc
	}
	rest, ok := strings.CutPrefix(pointer, "#/")
	if !ok {
		return nil
	}
	var v any = r.doc
	for token := range strings.SplitSeq(rest, "/") {
		switch at := v.(type) {
		case map[string]any:
			v = at[unescape.Replace(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) || strconv.Itoa(i) != token { // no sign, no zero in front
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// scan finds the references that stand in a value and hashes its text.
func (r *refs) scan(c *component) {
	if c.scanned {
		return
	}
	c.scanned = true
	text := jsondoc.Canonical(c.value)
	c.local, c.size = sha256.Sum256(text), len(text)
	w := walk{refs: r, counts: map[*component]int{}, base: c.pointer}
	w.value(c.value, false)
	c.leaves = w.outward
	for to, n := range w.counts {
		c.edges = append(c.edges, edge{to, n})
	}
	slices.SortFunc(c.edges, func(a, b edge) int { return strings.Compare(a.to.pointer, b.to.pointer) })
}

// walk collects references where the specifications have them: not in
// examples, defaults and extensions, which are data.
type walk struct {
	refs    *refs
	counts  map[*component]int
	base    string // pointer to where the walk began
	path    []string
	outward exit // the first one
}

func (w *walk) value(v any, names bool) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			w.child(strconv.Itoa(i), e, false)
		}
	case map[string]any:
		if ref, ok := reference(v, names); ok {
			w.reference(ref)
		}
		for _, k := range jsondoc.Keys(v) {
			switch {
			case names || !opaque(k):
				w.child(k, v[k], !names && named(k))
			case k == "examples":
				w.examples(v[k])
			}
		}
	}
}

func (w *walk) child(key string, v any, names bool) {
	switch v.(type) {
	case map[string]any, []any:
		w.path = append(w.path, key)
		w.value(v, names)
		w.path = w.path[:len(w.path)-1]
	}
}

// examples looks at the references to whole examples, which OpenAPI allows in
// its map of them.
func (w *walk) examples(v any) {
	m, _ := v.(map[string]any)
	for _, k := range jsondoc.Keys(m) {
		example, _ := m[k].(map[string]any)
		if ref, ok := reference(example, false); ok {
			w.path = append(w.path, "examples", k)
			w.reference(ref)
			w.path = w.path[:len(w.path)-2]
		}
	}
}

func (w *walk) reference(ref string) {
	c := w.refs.component(ref)
	if c.outward && w.outward.at == "" {
		w.outward = exit{jsondoc.Pointer(w.base, w.path...) + "/$ref", ref}
	}
	w.counts[c]++
}

// reference returns the reference that an object is; in a map from names
// "$ref" is a name.
func reference(m map[string]any, names bool) (string, bool) {
	if names {
		return "", false
	}
	ref, ok := m["$ref"].(string)
	return ref, ok
}

// visit computes the closure of c and of all that it reaches.
func (r *refs) visit(c *component) {
	if len(r.byRef) <= maxComponents {
		r.scan(c)
	}
	r.order++
	c.index, c.low, c.onStack = r.order, r.order, true
	r.stack = append(r.stack, c)
	for _, e := range c.edges {
		if e.to.index == 0 {
			r.visit(e.to)
			c.low = min(c.low, e.to.low)
		} else if e.to.onStack {
			c.low = min(c.low, e.to.index)
		}
	}
	if c.low == c.index {
		r.close(c)
	}
}

// close ends the circle that root was met first of.
func (r *refs) close(root *component) {
	n := len(r.stack) - 1
	for r.stack[n] != root {
		n--
	}
	circle := slices.Clone(r.stack[n:])
	r.stack = r.stack[:n]
	slices.SortFunc(circle, func(a, b *component) int { return strings.Compare(a.pointer, b.pointer) })
	outside := map[*component]bool{}
	sum := sha256.New()
	for _, c := range circle {
		sum.Write(frame(c.pointer))
		sum.Write(c.local[:])
		for _, e := range c.edges {
			outside[e.to] = !e.to.onStack
		}
	}
	reaches := r.outside(circle, outside, sum.Write)
	for _, c := range circle {
		c.onStack = false
		c.reaches = reaches
		c.closure = sha256.Sum256(append(frame(c.pointer), sum.Sum(nil)...))
	}
}

// outside adds the closures of what a circle refers to, counts expansions and
// returns a reference outward, if there is one.
func (r *refs) outside(circle []*component, outside map[*component]bool, write func([]byte) (int, error)) exit {
	var targets []*component
	for c, is := range outside {
		if is {
			targets = append(targets, c)
		}
	}
	slices.SortFunc(targets, func(a, b *component) int { return strings.Compare(a.pointer, b.pointer) })
	var reaches exit
	for _, c := range targets {
		_, _ = write(c.closure[:]) // a hash never fails
		if reaches.at == "" {
			reaches = c.reaches
		}
	}
	for _, c := range circle {
		if c.leaves.at != "" {
			reaches = c.leaves
		}
		for _, e := range c.edges {
			c.expansions = add(c.expansions, e.count)
			if outside[e.to] {
				c.expansions = add(c.expansions, times(e.count, e.to.expansions))
			}
		}
	}
	return reaches
}

// frame keeps a text apart from what follows it in a hash.
func frame(s string) []byte {
	return append(strconv.AppendInt(nil, int64(len(s)), 10), ":"+s...)
}

// add and times stop just above the limit of expansions.
func add(a, b int) int { return min(a+b, maxExpansions+1) }

func times(a, b int) int {
	if b > 0 && a > maxExpansions/b {
		return maxExpansions + 1
	}
	return a * b
}

// hash returns the hash of an operation: its method, path and text, and the
// closures of all that it refers to.
func (a *api) hash(op operation, value map[string]any) (string, *Problem) {
	root := &component{pointer: op.at, value: map[string]any{"method": op.method, "path": op.path, "operation": value}}
	a.refs.scan(root)
	if at, out := strings.CutPrefix(root.leaves.at, op.at+"/operation"); out {
		return "", outward(exit{op.at + at, root.leaves.ref})
	}
	sum := sha256.New()
	sum.Write(root.local[:])
	expansions := 0
	for _, e := range root.edges {
		if e.to.index == 0 {
			a.refs.visit(e.to)
		}
		if at, out := strings.CutPrefix(e.to.reaches.at, "#"); out {
			return "", outward(exit{a.path + at, e.to.reaches.ref})
		}
		expansions = add(expansions, add(e.count, times(e.count, e.to.expansions)))
		sum.Write(e.to.closure[:])
	}
	if expansions > maxExpansions || len(a.refs.byRef) > maxComponents {
		return "", &Problem{Path: op.at, Reason: TooComplex, Detail: "too many references, or they expand to more than a million"}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
