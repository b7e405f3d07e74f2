package jsondoc

// Limits bound what a document may cost. A zero field means its default.
type Limits struct {
	Bytes   int // of the document's text, 1 MiB
	Depth   int // nested objects and arrays, 64
	Nodes   int // values of any kind, 200,000; this is what bounds memory
	Aliases int // values that YAML aliases may add, 100,000, but never more than Nodes
}

// The default limits.
const (
	DefaultBytes   = 1 << 20
	DefaultDepth   = 64
	DefaultNodes   = 200_000
	DefaultAliases = 100_000
)

// maxAnchors bounds the anchors of one YAML document, however small the trees
// behind them: real documents have tens.
const maxAnchors = 1_000

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.Bytes, DefaultBytes}, {&l.Depth, DefaultDepth}, {&l.Nodes, DefaultNodes}, {&l.Aliases, DefaultAliases},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}
