package paper

import (
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// ReferenceName is the version of the models that the authors learned.
const ReferenceName = "reference"

// References returns the fusion models that the authors learned with a
// retriever ("bm25", "all-MiniLM-L6-v2"), fold by fold in the order of
// Set.Folds.
func References(set *dataset.Set, retriever string, f Fields) ([]fusion.Model, error) {
	recorded, err := set.ReferenceWeights()
	if err != nil {
		return nil, err
	}
	recorded = slices.DeleteFunc(recorded, func(w dataset.ReferenceWeights) bool { return w.Retriever != retriever })
	slices.SortFunc(recorded, func(a, b dataset.ReferenceWeights) int { return a.Fold - b.Fold })
	if len(recorded) == 0 {
		return nil, fmt.Errorf("data set %s has no reference weights for %q", set.Name, retriever)
	}
	models := make([]fusion.Model, len(recorded))
	for i, w := range recorded {
		if models[i], err = reference(w, f); err != nil {
			return nil, fmt.Errorf("data set %s: %w", set.Name, err)
		}
	}
	return models, nil
}

// reference returns one fold's model. Its base weights have the order description, parameters,
// response, examples.
func reference(w dataset.ReferenceWeights, f Fields) (fusion.Model, error) {
	if len(w.Base[0]) != 4 {
		return fusion.Model{}, fmt.Errorf("reference weights of fold %d: %d base weights, want 4", w.Fold, len(w.Base[0]))
	}
	m := fusion.Model{
		Version: ReferenceName, Bias: w.Bias[0],
		Tau: w.Tau, Alpha: w.Alpha, Required: w.Required, Optional: w.Optional,
	}
	for i, feature := range f {
		m.Features[feature] = w.Base[0][i]
	}
	return m, nil
}
