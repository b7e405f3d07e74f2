package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
)

// Bounds of a schema that arguments are checked against.
const (
	maxSchemaNodes = 30_000 // values of any kind
	maxProgram     = 20_000 // instructions of a compiled pattern
)

// compiled is a schema as the checker applies it, with the keywords that package dialect writes.
type compiled struct {
	root *node
	defs map[string]any
}

// node is one schema.
type node struct {
	source map[string]any // for messages
	never  bool           // the schema false
	types  []string       // nil: any
	is     kinds

	constant *any
	enum     []any
	words    map[string]struct{} // the texts of a long enum
	ref      *node

	required                     []string
	requiredBytes                int
	properties                   map[string]*node
	patterns                     []named
	additional, names            *node
	minProperties, maxProperties *int
	dependent                    []named
	dependentRequired            []dependency

	prefix                       []*node
	items, contains              *node
	minItems, maxItems           *int
	minContains, maxContains     *int
	unique                       bool
	minLength, maxLength         *int
	pattern                      *pattern
	numbers                      []bound
	not, condition, then, orElse *node
	allOf, anyOf                 []*node
	unevaluatedItems             *node
	unevaluatedProperties        *node
}

type named struct {
	name    string
	pattern *pattern // of patternProperties
	schema  *node
}

type dependency struct {
	name  string
	needs []string
}

// bound is a keyword that compares numbers.
type bound struct {
	keyword string
	limit   number
}

// kinds is a set of types.
type kinds uint8

const (
	isNull kinds = 1 << iota
	isBoolean
	isString
	isInteger
	isNumber
	isArray
	isObject
)

var kindOfWord = map[string]kinds{"null": isNull, "boolean": isBoolean, "string": isString, "integer": isInteger, "number": isNumber, "array": isArray, "object": isObject}

// compiler makes nodes of a decoded schema.
type compiler struct {
	work  *work
	defs  map[string]any
	known map[string]*node // of defs
	left  []string         // of known, to be filled
	err   error
}

// newCompiled compiles a decoded schema.
func newCompiled(document any, w *work) (*compiled, error) {
	root, _ := document.(map[string]any)
	c := &compiler{work: w, defs: defsOf(root), known: map[string]*node{}}
	out := &compiled{defs: c.defs, root: c.schema(document)}
	for len(c.left) > 0 {
		name := c.left[len(c.left)-1]
		c.left = c.left[:len(c.left)-1]
		c.fill(c.known[name], c.defs[name])
	}
	return out, c.err
}

func (c *compiler) wrong(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// schemaBytes is about the size of a node.
const schemaBytes = 512

func (c *compiler) schema(v any) *node {
	n := &node{}
	c.fill(n, v)
	return n
}

func (c *compiler) fill(n *node, v any) {
	c.work.spend(schemaBytes * workPerByte)
	if b, ok := v.(bool); ok {
		n.never = !b
		return
	}
	s, ok := v.(map[string]any)
	if !ok {
		c.wrong("a schema is %s", kindOf(v))
		return
	}
	n.source = s
	for k, v := range s {
		c.work.spend(workLookup)
		c.keyword(n, k, v)
	}
}

func (c *compiler) keyword(n *node, k string, v any) {
	switch k {
	case "type":
		c.types(n, v)
	case "const":
		n.constant = &v
	case "enum":
		n.enum = asList(v)
		if len(n.enum) > 16 {
			n.words = make(map[string]struct{}, len(n.enum))
			for _, e := range n.enum {
				if s, ok := e.(string); ok {
					c.work.spend(workMember + len(s)/8)
					n.words[s] = struct{}{}
				}
			}
		}
	case "$ref":
		n.ref = c.reference(v)
	case "required":
		n.required = c.texts(v)
		for _, name := range n.required {
			n.requiredBytes += len(name)
		}
	case "uniqueItems":
		n.unique = v == true
	case "pattern":
		n.pattern = c.regexp(v)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		c.number(n, k, v)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		c.count(n, k, v)
	case "oneOf", "$dynamicRef", "$recursiveRef", "definitions", "additionalItems", "dependencies":
		c.wrong("input schemas are written without the keyword %s", k)
	default:
		c.applicator(n, k, v)
	}
}

func (c *compiler) applicator(n *node, k string, v any) {
	switch k {
	case "properties":
		all := c.object(k, v)
		n.properties = make(map[string]*node, len(all))
		for name, s := range all {
			n.properties[name] = c.schema(s)
		}
	case "patternProperties":
		for _, name := range jsondoc.Keys(c.object(k, v)) {
			n.patterns = append(n.patterns, named{name, c.regexp(name), c.schema(v.(map[string]any)[name])})
		}
	case "dependentSchemas":
		for _, name := range jsondoc.Keys(c.object(k, v)) {
			n.dependent = append(n.dependent, named{name: name, schema: c.schema(v.(map[string]any)[name])})
		}
	case "dependentRequired":
		for _, name := range jsondoc.Keys(c.object(k, v)) {
			n.dependentRequired = append(n.dependentRequired, dependency{name, c.texts(v.(map[string]any)[name])})
		}
	case "allOf":
		n.allOf = c.schemas(v)
	case "anyOf":
		n.anyOf = c.schemas(v)
	case "prefixItems":
		n.prefix = c.schemas(v)
	case "additionalProperties":
		n.additional = c.schema(v)
	case "propertyNames":
		n.names = c.schema(v)
	case "items":
		n.items = c.schema(v)
	case "contains":
		n.contains = c.schema(v)
	case "not":
		n.not = c.schema(v)
	case "if":
		n.condition = c.schema(v)
	case "then":
		n.then = c.schema(v)
	case "else":
		n.orElse = c.schema(v)
	case "unevaluatedProperties":
		n.unevaluatedProperties = c.schema(v)
	case "unevaluatedItems":
		n.unevaluatedItems = c.schema(v)
	}
}

func (c *compiler) object(k string, v any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		c.wrong("%s is %s", k, kindOf(v))
	}
	c.work.spend(len(m) * workMember)
	return m
}

func (c *compiler) schemas(v any) []*node {
	all := make([]*node, 0, len(asList(v)))
	for _, s := range asList(v) {
		all = append(all, c.schema(s))
	}
	if len(all) == 0 {
		c.wrong("a list of schemas is %s", kindOf(v))
	}
	return all
}

func (c *compiler) texts(v any) []string {
	out := make([]string, 0, len(asList(v)))
	for _, e := range asList(v) {
		s, ok := e.(string)
		if !ok {
			c.wrong("a name is %s", kindOf(e))
		}
		out = append(out, s)
	}
	c.work.spend(len(out) * workLookup)
	return out
}

func (c *compiler) types(n *node, v any) {
	all, isList := v.([]any)
	if !isList {
		all = []any{v}
	}
	for _, t := range all {
		word, _ := t.(string)
		is, ok := kindOfWord[word]
		if !ok {
			c.wrong("a type is %s", shown(t))
			return
		}
		n.is |= is
	}
	for _, word := range []string{"null", "boolean", "number", "integer", "string", "array", "object"} { // as messages have them
		if slices.Contains(all, any(word)) {
			n.types = append(n.types, word)
		}
	}
}

// reference returns the definition that a reference leads to. Definitions may refer to themselves.
func (c *compiler) reference(v any) *node {
	ref, _ := v.(string)
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	_, there := c.defs[name]
	if !ok || !there {
		c.wrong("schema %s is not in the document", bounded(ref))
		return nil
	}
	if n, done := c.known[name]; done {
		return n
	}
	n := &node{}
	c.known[name] = n
	c.left = append(c.left, name)
	return n
}

func (c *compiler) number(n *node, k string, v any) {
	text, ok := v.(json.Number)
	if !ok || !dialect.Plain(text) {
		c.wrong("%s is %s", k, kindOf(v))
		return
	}
	at, _ := slices.BinarySearchFunc(n.numbers, k, func(b bound, k string) int { return strings.Compare(b.keyword, k) })
	n.numbers = slices.Insert(n.numbers, at, bound{k, readNumber(text, c.work)})
}

func (c *compiler) count(n *node, k string, v any) {
	text, _ := v.(json.Number)
	i, err := text.Int64()
	if err != nil || i < 0 {
		c.wrong("%s is %s", k, kindOf(v))
		return
	}
	count := int(i)
	for word, to := range map[string]**int{
		"minLength": &n.minLength, "maxLength": &n.maxLength, "minItems": &n.minItems, "maxItems": &n.maxItems,
		"minProperties": &n.minProperties, "maxProperties": &n.maxProperties, "minContains": &n.minContains, "maxContains": &n.maxContains,
	} {
		if word == k {
			*to = &count
		}
	}
}

// pattern is a regular expression. It is compiled when a text is first matched.
type pattern struct {
	text    string
	program atomic.Pointer[program]
}

type program struct {
	*regexp.Regexp
	size int // instructions
}

func (c *compiler) regexp(v any) *pattern {
	s, ok := v.(string)
	if !ok {
		c.wrong("a pattern is %s", kindOf(v))
	}
	return &pattern{text: s}
}

var errPattern = errors.New("the input schema has a pattern that is too large to match")

// matches reports whether a text matches.
func (p *pattern) matches(s string, w *work) bool {
	compiled := p.program.Load()
	if compiled == nil {
		compiled = p.compile(w)
		p.program.Store(compiled)
	}
	w.spend((len(s) + 1) * (compiled.size + 2) * workStep)
	return compiled.MatchString(s)
}

// workInstruction is the cost of compiling one.
const workInstruction = 500

func (p *pattern) compile(w *work) *program {
	w.spend(dialect.PatternCost(p.text))
	parsed, err := syntax.Parse(p.text, syntax.Perl)
	if err != nil {
		panic(stopped{err})
	}
	size := programSize(parsed, 0)
	if size > maxProgram {
		panic(stopped{errPattern})
	}
	w.spend(size * workInstruction)
	compiled, err := regexp.Compile(p.text)
	if err != nil {
		panic(stopped{err})
	}
	return &program{compiled, size}
}

// programSize returns how many instructions a pattern has at most.
func programSize(re *syntax.Regexp, depth int) int {
	if depth > maxProgram {
		return maxProgram + 1
	}
	size := 1
	for _, sub := range re.Sub {
		size = min(size+programSize(sub, depth+1), maxProgram+1)
	}
	switch re.Op {
	case syntax.OpLiteral:
		size += len(re.Rune)
	case syntax.OpRepeat:
		size = min(size*max(re.Min, re.Max, 1)+re.Max+1, maxProgram+1)
	case syntax.OpCapture, syntax.OpAlternate, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		size += len(re.Sub) + 1
	}
	return size
}

// number is a JSON number to compute with.
type number struct {
	text  json.Number
	small int64 // if exact is nil
	exact *big.Rat
	cost  int // to compare it
}

// readNumber reads a number that is dialect.Plain.
func readNumber(text json.Number, w *work) number {
	if len(text) <= 18 {
		if i, err := text.Int64(); err == nil {
			return number{text: text, small: i, cost: workLookup}
		}
	}
	cost := workNumber
	if len(text) > 30 || strings.ContainsAny(string(text), "eE") {
		cost = workLong
	}
	w.spend(cost)
	exact, ok := new(big.Rat).SetString(string(text))
	if !ok { // no JSON
		exact = new(big.Rat)
	}
	return number{text: text, exact: exact, cost: cost}
}

func (n number) rat() *big.Rat {
	if n.exact != nil {
		return n.exact
	}
	return new(big.Rat).SetInt64(n.small)
}

func (n number) isInteger() bool { return n.exact == nil || n.exact.IsInt() }

func (n number) cmp(m number, w *work) int {
	if n.exact == nil && m.exact == nil {
		switch {
		case n.small < m.small:
			return -1
		case n.small > m.small:
			return 1
		}
		return 0
	}
	w.spend(max(n.cost, m.cost))
	return n.rat().Cmp(m.rat())
}

func (n number) isMultipleOf(m number, w *work) bool {
	if n.exact == nil && m.exact == nil {
		return m.small != 0 && n.small%m.small == 0
	}
	w.spend(n.cost + m.cost)
	divisor := m.rat()
	return divisor.Sign() != 0 && new(big.Rat).Quo(n.rat(), divisor).IsInt()
}
