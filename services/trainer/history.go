package trainer

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Status is the status of a version of the weights.
type Status string

// The statuses of a version.
const (
	Live       Status = "live"        // searches rank by it
	Replaced   Status = "replaced"    // was live until another version was
	RolledBack Status = "rolled_back" // was live until it was rolled back
	Kept       Status = "kept"        // nothing more is known of it
)

// History is the history of a version.
type History struct {
	Status         Status    `json:"state" doc:"live, replaced, rolled_back, or kept (nothing more is known of it)." enum:"live,replaced,rolled_back,kept"`
	Since          time.Time `json:"since,omitzero" doc:"When it got that state."`
	Reason         string    `json:"reason,omitempty" doc:"Why."`
	From           time.Time `json:"from,omitzero" doc:"Time of the first search that it was learned from."`
	To             time.Time `json:"to,omitzero" doc:"Time of the last one."`
	CrossValidated *Figures  `json:"cross_validated,omitempty" doc:"Gain of NDCG@10 over the built-in weights, on queries that these weights were not learned from."`
}

// Figures say how much better a version ranked.
type Figures struct {
	Searches int     `json:"searches" doc:"How many were compared."`
	Gain     float64 `json:"gain" doc:"Mean gain of the searches."`
}

// KeptWeights are a version with its history.
type KeptWeights struct {
	schema.Weights
	History
	Words []string `json:"words" doc:"Features that count more or less than in its parent, the largest change first. Empty if the parent is not kept or hardly differs."`
}

// Damaged is a version that is kept and cannot serve.
type Damaged struct {
	Version string `json:"version"`
	Reason  string `json:"reason"`
}

// setHistory records the history of a version. The oldest histories go when there are more
// than maxHistory.
func (t *tenantState) setHistory(m *memory, version string, h History) error {
	t.history[version] = h
	if len(t.history) > maxHistory {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(t.history)), byEpoch)
		delete(t.history, oldest)
		m.set(keyVersion+t.name+"/"+oldest, nil)
	}
	return m.setJSON(keyVersion+t.name+"/"+version, h)
}

// maxHistory is how many versions of a tenant the trainer knows the history of.
const maxHistory = 200

// byEpoch orders the names of versions, oldest first.
func byEpoch(a, b string) int {
	return cmp.Or(cmp.Compare(epochOf(a), epochOf(b)), cmp.Compare(a, b))
}

// epochOf reads the epoch of a version "w12-0a1b2c3d", 0 of any other.
func epochOf(version string) uint64 {
	digits, _, _ := strings.Cut(strings.TrimPrefix(version, "w"), "-")
	epoch, _ := strconv.ParseUint(digits, 10, 64)
	return epoch
}
