package fusion

import (
	"maps"
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
)

// ModelOf resolves weights into a model. It refuses weights that cannot rank: numbers that are
// not finite or out of range, features unknown to this version, a hash that is absent or does
// not match the content. The error has path and value. A caller that gets an error keeps the
// model it has.
func ModelOf(w schema.Weights) (Model, error) {
	m, err := resolve(&w)
	if err != nil {
		return Model{}, err
	}
	hash, err := w.ContentHash()
	if err != nil {
		return Model{}, err
	}
	if hash != w.Hash {
		return Model{}, refused("/hash", w.Hash, "must be the SHA-256 of the content, "+hash)
	}
	return m, nil
}

// Seal checks everything that ModelOf checks except the hash, and returns the
// weights with the hash of their content.
func Seal(w schema.Weights) (schema.Weights, error) {
	if _, err := resolve(&w); err != nil {
		return schema.Weights{}, err
	}
	var err error
	w.Hash, err = w.ContentHash()
	return w, err
}

// Weights returns the model in its exchangeable form, without epoch and
// history and not yet sealed.
func (m *Model) Weights() schema.Weights {
	version := schema.WeightsSchema
	if !m.Shares {
		version = schema.WeightsInPoints
	}
	return schema.Weights{
		Schema:   version,
		Version:  m.Version,
		Features: m.Features.ByName(),
		Bias:     m.Bias,
		Tau:      m.Tau,
		Alpha:    m.Alpha,
		Required: m.Required,
		Optional: m.Optional,
	}
}

func resolve(w *schema.Weights) (Model, error) {
	if err := w.Validate(); err != nil {
		return Model{}, err
	}
	m := Model{
		Version: w.Version, Bias: w.Bias,
		Tau: w.Tau, Alpha: w.Alpha, Required: w.Required, Optional: w.Optional,
		Shares: w.Schema > schema.WeightsInPoints,
	}
	known := 0
	for i, name := range names {
		if x, ok := w.Features[name]; ok {
			m.Features[i] = x
			known++
		}
	}
	if known != len(w.Features) {
		for _, name := range slices.Sorted(maps.Keys(w.Features)) {
			if _, ok := FeatureNamed(name); !ok {
				return Model{}, refused("/features", name, "must name known features")
			}
		}
	}
	return m, nil
}

func refused(path, value, reason string) error {
	return &schema.Invalid{Path: path, Value: schema.Quote(value), Reason: reason}
}
