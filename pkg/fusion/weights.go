package fusion

import (
	"github.com/toolstream/toolstream/pkg/schema"
)

// ModelOf resolves weights into a model. It refuses, naming path and value,
// what could not rank: numbers that are not finite or out of range, features
// that this version does not know, a hash that is absent or not that of the
// content. A caller that gets an error keeps the model it has.
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
		return Model{}, unknownFeature(w.Features)
	}
	return m, nil
}

// unknownFeature names the first feature, in string order, that has no
// position.
func unknownFeature(features map[string]float64) error {
	first, found := "", false
	for name := range features {
		if _, ok := FeatureNamed(name); !ok && (!found || name < first) {
			first, found = name, true
		}
	}
	return refused("/features", first, "must name known features")
}

func refused(path, value, reason string) error {
	return &schema.Invalid{Path: path, Value: schema.Quote(value), Reason: reason}
}
