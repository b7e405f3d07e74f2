package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// WeightsSchema is the newest version of Weights that this code reads, and the version that it
// writes.
const WeightsSchema = 2

// WeightsInPoints is the version of Weights whose prices of missing parameters are
// points of a score. In later ones they are shares of the best score of a ranking.
const WeightsInPoints = 1

// MaxWeight bounds every number of a fusion model, so that a score stays
// finite whatever the features are.
const MaxWeight = 1e9

// ModelOwner names a tenant's searches by an embedding model in the keys of stores: the tenant,
// a dot and a hash of the model's name, or the tenant alone if the model has no name.
func ModelOwner(tenant, model string) string {
	if model == "" {
		return tenant
	}
	sum := sha256.Sum256([]byte(model))
	return tenant + "." + hex.EncodeToString(sum[:6])
}

// Validate checks every number of the weights. The error is an *Invalid about the first one
// that is not acceptable. fusion.ModelOf checks the names of features and the hash.
func (w *Weights) Validate() error {
	var c checks
	c.must(w.Schema >= 1 && w.Schema <= WeightsSchema, "/schema", w.Schema, "must be 1 to %d", WeightsSchema)
	c.must(w.Version != "", "/version", "", "must not be empty")
	for _, name := range sortedKeys(w.Features) {
		c.number("/features/"+pointer(name), w.Features[name], -MaxWeight)
	}
	c.number("/bias", w.Bias, -MaxWeight)
	c.must(w.Tau >= 0 && w.Tau <= 1, "/tau", w.Tau, "must be in [0, 1]")
	for _, n := range []struct {
		path  string
		value float64
	}{{"/alpha", w.Alpha}, {"/w_req", w.Required}, {"/w_opt", w.Optional}} {
		c.number(n.path, n.value, 0)
		c.must(n.value > 0, n.path, n.value, "must be above 0")
	}
	return c.err
}

// ContentHash returns the hex SHA-256 of the weights as JSON with sorted keys,
// without the hash itself. It fails if a number is not finite.
func (w *Weights) ContentHash() (string, error) {
	bare := *w
	bare.Hash = ""
	bare.Created = bare.Created.UTC()
	raw, err := json.Marshal(&bare)
	if err != nil {
		return "", fmt.Errorf("hash weights: %w", err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return "", fmt.Errorf("hash weights: %w", err)
	}
	delete(object, "hash")
	if raw, err = json.Marshal(object); err != nil {
		return "", fmt.Errorf("hash weights: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
