package toolschema

import (
	"encoding/json"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// maxApplied bounds how many schemas are applied within each other, and so the stack.
const maxApplied = 2_000

// checker applies a schema to arguments.
type checker struct {
	*work
	path    []step // to the value under way
	applied int
}

// step leads from a value into it.
type step struct {
	name  string
	index int // -1: by name
}

func (s step) String() string {
	if s.index >= 0 {
		return strconv.Itoa(s.index)
	}
	return s.name
}

// pointer returns the JSON pointer of the value under way, or of a member of it.
func (c *checker) pointer(member ...string) string {
	tokens := make([]string, 0, len(c.path)+1)
	for _, s := range c.path {
		tokens = append(tokens, s.String())
	}
	p := jsondoc.Pointer("", append(tokens, member...)...)
	c.spend(len(c.path)*(2*workMember) + len(p)*workPerByte)
	return p
}

// seen are the members and elements of a value that a schema has applied another schema to. It is
// nil if no schema asks for them.
type seen struct {
	names map[string]bool
	upTo  int // elements before it are seen
	items map[int]bool
}

func (c *checker) saw(s *seen, name string) {
	if s != nil {
		c.spend(2 * workMember)
		s.names[name] = true
	}
}

func (s *seen) before(i int) {
	if s != nil {
		s.upTo = max(s.upTo, i)
	}
}

func (c *checker) fresh() *seen {
	c.spend(workFound)
	return &seen{names: map[string]bool{}, items: map[int]bool{}}
}

// inner returns an empty set for a schema that applies to the same value: it counts only if the
// value fits.
func (c *checker) inner(outer *seen) *seen {
	if outer == nil {
		return nil
	}
	return c.fresh()
}

func (c *checker) merge(outer, inner *seen) {
	if outer == nil {
		return
	}
	c.spend((len(inner.names) + len(inner.items)) * 2 * workMember)
	for name := range inner.names {
		outer.names[name] = true
	}
	for i := range inner.items {
		outer.items[i] = true
	}
	outer.before(inner.upTo)
}

// at applies a schema to a value inside the one under way.
func (c *checker) at(s step, n *node, v any, r *report) bool {
	c.path = append(c.path, s)
	ok := c.apply(n, v, r, nil)
	c.path = c.path[:len(c.path)-1]
	return ok
}

// apply reports whether a value fits a schema. It adds the mistakes to r; without r it ends at the
// first one.
func (c *checker) apply(n *node, v any, r *report, outer *seen) bool {
	c.spend(workApply)
	if c.applied++; c.applied > maxApplied {
		panic(stopped{errWork})
	}
	ok := c.keywords(n, v, r, outer)
	c.applied--
	return ok
}

func (c *checker) keywords(n *node, v any, r *report, outer *seen) bool {
	if n.never {
		return c.wrong(r, n, mistake{kind: excluded})
	}
	if n.is != 0 && !n.is.has(v, c.work) {
		if r != nil {
			r.types, r.depth = n.types, len(c.path)
		}
		return c.wrong(r, n, mistake{kind: mistyping, had: v})
	}
	if n.constant != nil && !c.equal(v, *n.constant) {
		return c.wrong(r, n, mistake{kind: notConstant, had: v})
	}
	if n.enum != nil && !c.listed(n, v) {
		return c.wrong(r, n, mistake{kind: notListed, had: v})
	}
	s := outer
	if s == nil && (n.unevaluatedProperties != nil || n.unevaluatedItems != nil) {
		s = c.fresh()
	}
	ok := n.ref == nil || c.inPlace(n.ref, v, r, s)
	if !ok && r == nil {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		ok = c.object(n, v, r, s) && ok
	case []any:
		ok = c.array(n, v, r, s) && ok
	case string:
		ok = c.text(n, v, r) && ok
	case json.Number:
		ok = c.number(n, v, r) && ok
	}
	if !ok && r == nil {
		return false
	}
	ok = c.conditions(n, v, r, s) && ok
	if !ok && r == nil {
		return false
	}
	return c.unevaluated(n, v, r, s) && ok
}

// inPlace applies another schema to the same value.
func (c *checker) inPlace(n *node, v any, r *report, outer *seen) bool {
	s := c.inner(outer)
	ok := c.apply(n, v, r, s)
	if ok {
		c.merge(outer, s)
	}
	return ok
}

// has reports whether a value is of one of the kinds.
func (is kinds) has(v any, w *work) bool {
	switch v := v.(type) {
	case nil:
		return is&isNull != 0
	case bool:
		return is&isBoolean != 0
	case string:
		return is&isString != 0
	case json.Number:
		return is&isNumber != 0 || is&isInteger != 0 && readNumber(v, w).isInteger()
	case []any:
		return is&isArray != 0
	}
	return is&isObject != 0
}

func (c *checker) listed(n *node, v any) bool {
	if s, ok := v.(string); ok && n.words != nil {
		c.spend(workLookup + len(s)/8)
		_, there := n.words[s]
		return there
	}
	return slices.ContainsFunc(n.enum, func(e any) bool { return c.equal(v, e) })
}

func (c *checker) equal(v, w any) bool {
	c.spend(8)
	switch v := v.(type) {
	case string:
		w, ok := w.(string)
		if !ok || len(v) != len(w) {
			return false
		}
		c.spend(len(v) / 8)
		return v == w
	case json.Number:
		w, ok := w.(json.Number)
		return ok && (v == w || readNumber(v, c.work).cmp(readNumber(w, c.work), c.work) == 0)
	case []any:
		w, ok := w.([]any)
		return ok && slices.EqualFunc(v, w, c.equal)
	case map[string]any:
		w, ok := w.(map[string]any)
		if !ok || len(v) != len(w) {
			return false
		}
		for k, e := range v {
			c.spend(workMember + len(k)/4)
			other, there := w[k]
			if !there || !c.equal(e, other) {
				return false
			}
		}
		return true
	}
	switch w.(type) {
	case nil, bool:
		return v == w
	}
	return false
}

func (c *checker) object(n *node, v map[string]any, r *report, s *seen) bool {
	ok := true
	if n.minProperties != nil && len(v) < *n.minProperties {
		ok = c.wrong(r, n, mistake{kind: fewProperties, got: len(v), want: *n.minProperties})
	}
	if n.maxProperties != nil && len(v) > *n.maxProperties {
		ok = c.wrong(r, n, mistake{kind: manyProperties, got: len(v), want: *n.maxProperties})
	}
	ok = c.given(n, v, r) && ok
	if !ok && r == nil {
		return false
	}
	ok = c.members(n, v, r, s) && ok
	if !ok && r == nil {
		return false
	}
	for _, d := range n.dependent {
		c.spend(workLookup + len(d.name)/8)
		if _, there := v[d.name]; there && !c.inPlace(d.schema, v, r, s) {
			if ok = false; r == nil {
				return false
			}
		}
	}
	for _, d := range n.dependentRequired {
		c.spend(workLookup + len(d.name)/8)
		if _, there := v[d.name]; !there {
			continue
		}
		var missing []any
		for _, name := range d.needs {
			c.spend(workLookup + len(name)/8)
			if _, there := v[name]; !there {
				c.spend(48 * workPerByte)
				missing = append(missing, name)
			}
		}
		if missing != nil {
			ok = c.wrong(r, n, mistake{kind: dependent, name: d.name, names: missing})
		}
	}
	return ok
}

// given checks that the required members are there.
func (c *checker) given(n *node, v map[string]any, r *report) bool {
	ok := true
	for _, name := range n.required {
		c.spend(workLookup + len(name)/8)
		if _, there := v[name]; there {
			continue
		}
		if ok = c.wrong(r, n, mistake{kind: missing, name: name}, name); r == nil {
			return false
		}
	}
	return ok
}

// members checks every member of an object, in the order of their names.
func (c *checker) members(n *node, v map[string]any, r *report, s *seen) bool {
	if n.properties == nil && n.patterns == nil && n.additional == nil && n.names == nil {
		return true
	}
	ok := true
	for _, name := range c.names(v) {
		known := false
		if p, there := n.properties[name]; there {
			known = true
			ok = c.at(step{name, -1}, p, v[name], r) && ok
		}
		for _, p := range n.patterns {
			if p.pattern.matches(name, c.work) {
				known = true
				ok = c.at(step{name, -1}, p.schema, v[name], r) && ok
			}
		}
		if !known && n.additional != nil {
			known = true
			if n.additional.never {
				ok = c.wrong(r, n, mistake{kind: unknown, name: name}, name)
			} else {
				ok = c.at(step{name, -1}, n.additional, v[name], r) && ok
			}
		}
		if known {
			c.saw(s, name)
		}
		if n.names != nil && !c.apply(n.names, name, nil, nil) {
			ok = c.wrong(r, n, mistake{kind: wrongName, name: name})
		}
		if !ok && r == nil {
			return false
		}
	}
	return ok
}

// names returns the names of an object's members, sorted.
func (c *checker) names(v map[string]any) []string {
	cost := len(v) * (workMember + workCompare*bits.Len(uint(len(v))))
	for name := range v {
		cost += len(name)
	}
	c.spend(cost)
	return jsondoc.Keys(v)
}

func (c *checker) array(n *node, v []any, r *report, s *seen) bool {
	ok := true
	if n.minItems != nil && len(v) < *n.minItems {
		ok = c.wrong(r, n, mistake{kind: fewItems, got: len(v), want: *n.minItems})
	}
	if n.maxItems != nil && len(v) > *n.maxItems {
		ok = c.wrong(r, n, mistake{kind: manyItems, got: len(v), want: *n.maxItems})
	}
	if !ok && r == nil {
		return false
	}
	if n.unique {
		if i, j, twice := c.twice(v); twice {
			ok = c.wrong(r, n, mistake{kind: equalItems, got: i, want: j})
		}
	}
	first := min(len(n.prefix), len(v))
	for i, e := range v {
		item := n.items
		if i < first {
			item = n.prefix[i]
		}
		if item == nil {
			break
		}
		if ok = c.at(step{"", i}, item, e, r) && ok; !ok && r == nil {
			return false
		}
	}
	s.before(first)
	if n.items != nil {
		s.before(len(v))
	}
	return c.contains(n, v, r, s) && ok
}

func (c *checker) contains(n *node, v []any, r *report, s *seen) bool {
	if n.contains == nil {
		return true
	}
	found := 0
	for i, e := range v {
		if !c.apply(n.contains, e, nil, nil) {
			continue
		}
		found++
		if s != nil {
			c.spend(2 * workMember)
			s.items[i] = true
		}
	}
	ok := true
	least := 1
	if n.minContains != nil {
		least = *n.minContains
	}
	if found < least {
		ok = c.wrong(r, n, mistake{kind: lacking})
	}
	if n.maxContains != nil && found > *n.maxContains {
		ok = c.wrong(r, n, mistake{kind: misfit, name: "maxContains"})
	}
	return ok
}

// twice returns the first two elements that are equal.
func (c *checker) twice(v []any) (first, second int, found bool) {
	if len(v) <= 20 {
		for j := range v {
			for i := range j {
				if c.equal(v[i], v[j]) {
					return i, j, true
				}
			}
		}
		return 0, 0, false
	}
	seed := maphash.MakeSeed()
	c.spend(len(v) * 4 * workMember)
	like := make(map[uint64][]int, len(v))
	for j, e := range v {
		var h maphash.Hash
		h.SetSeed(seed)
		c.hash(&h, e)
		sum := h.Sum64()
		for _, i := range like[sum] {
			if c.equal(v[i], e) {
				return i, j, true
			}
		}
		like[sum] = append(like[sum], j)
	}
	return 0, 0, false
}

// hash adds a value to a hash. Equal values add the same.
func (c *checker) hash(h *maphash.Hash, v any) {
	c.spend(2 * workLookup)
	switch v := v.(type) {
	case nil:
		_ = h.WriteByte('n')
	case bool:
		_, _ = h.WriteString(strconv.FormatBool(v))
	case string:
		c.spend(len(v) / 2)
		_ = h.WriteByte('s')
		_, _ = h.WriteString(v)
		_ = h.WriteByte('"')
	case json.Number:
		c.spend(workNumber / 2)
		f, _ := v.Float64()
		if f == 0 { // also -0
			f = 0
		}
		maphash.WriteComparable(h, math.Float64bits(f))
	case []any:
		_ = h.WriteByte('[')
		for _, e := range v {
			c.hash(h, e)
		}
		_ = h.WriteByte(']')
	case map[string]any:
		_ = h.WriteByte('{')
		for _, name := range c.names(v) {
			c.hash(h, name)
			c.hash(h, v[name])
		}
		_ = h.WriteByte('}')
	}
}

func (c *checker) text(n *node, v string, r *report) bool {
	ok := true
	if n.minLength != nil || n.maxLength != nil {
		c.spend(3 * len(v))
		got := utf8.RuneCountInString(v)
		if n.minLength != nil && got < *n.minLength {
			ok = c.wrong(r, n, mistake{kind: tooShort, got: got, want: *n.minLength})
		}
		if n.maxLength != nil && got > *n.maxLength {
			ok = c.wrong(r, n, mistake{kind: tooLong, got: got, want: *n.maxLength})
		}
	}
	if (ok || r != nil) && n.pattern != nil && !n.pattern.matches(v, c.work) {
		ok = c.wrong(r, n, mistake{kind: unmatched, had: v})
	}
	return ok
}

func (c *checker) number(n *node, v json.Number, r *report) bool {
	if n.numbers == nil {
		return true
	}
	ok := true
	given := readNumber(v, c.work)
	for _, b := range n.numbers {
		fits := false
		switch b.keyword {
		case "minimum":
			fits = given.cmp(b.limit, c.work) >= 0
		case "maximum":
			fits = given.cmp(b.limit, c.work) <= 0
		case "exclusiveMinimum":
			fits = given.cmp(b.limit, c.work) > 0
		case "exclusiveMaximum":
			fits = given.cmp(b.limit, c.work) < 0
		case "multipleOf":
			fits = given.isMultipleOf(b.limit, c.work)
		}
		if !fits {
			ok = c.wrong(r, n, mistake{kind: beyond, name: b.keyword, had: v, limit: b.limit})
		}
	}
	return ok
}

func (c *checker) conditions(n *node, v any, r *report, s *seen) bool {
	ok := true
	if n.not != nil && c.inPlace(n.not, v, nil, nil) {
		ok = c.wrong(r, n, mistake{kind: refused})
	}
	for _, part := range n.allOf {
		if !ok && r == nil {
			return false
		}
		if !c.inPlace(part, v, r, s) {
			ok = false
			r.noTypes()
		}
	}
	if n.anyOf != nil && (ok || r != nil) {
		ok = c.anyOf(n, v, r, s) && ok
	}
	if n.condition != nil && (ok || r != nil) {
		then := n.then
		if !c.inPlace(n.condition, v, nil, s) {
			then = n.orElse
		}
		ok = (then == nil || c.inPlace(then, v, r, s)) && ok
	}
	return ok
}

// anyOf reports the mistakes of the alternative nearest to the value. If no alternative has its
// type, it lists the expected types.
func (c *checker) anyOf(n *node, v any, r *report, s *seen) bool {
	var wanted []string
	var best *report
	matched := false
	for _, alternative := range n.anyOf {
		var tried *report
		if r != nil {
			c.spend(workFound)
			tried = &report{}
		}
		if c.inPlace(alternative, v, tried, s) {
			if matched = true; s == nil {
				return true
			}
			continue
		}
		switch {
		case tried == nil:
		case tried.types != nil && tried.depth == len(c.path) && tried.total == 1:
			c.spend(len(tried.types) * workMember)
			wanted = append(wanted, tried.types...)
		case best == nil || tried.total < best.total:
			best = tried
		}
	}
	switch {
	case matched:
	case best != nil:
		r.add(best)
	case r != nil:
		slices.Sort(wanted)
		c.wrong(r, n, mistake{kind: mistyping, had: v, types: slices.Compact(wanted)})
	}
	return matched
}

func (c *checker) unevaluated(n *node, v any, r *report, s *seen) bool {
	ok := true
	switch v := v.(type) {
	case map[string]any:
		if n.unevaluatedProperties == nil {
			break
		}
		for _, name := range c.names(v) {
			if !s.names[name] {
				if ok = c.at(step{name, -1}, n.unevaluatedProperties, v[name], r) && ok; !ok && r == nil {
					return false
				}
				c.saw(s, name)
			}
		}
	case []any:
		if n.unevaluatedItems == nil {
			break
		}
		for i := s.upTo; i < len(v); i++ {
			c.spend(workLookup)
			if !s.items[i] {
				if ok = c.at(step{"", i}, n.unevaluatedItems, v[i], r) && ok; !ok && r == nil {
					return false
				}
			}
		}
		s.before(len(v))
	}
	return ok
}
