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

// Status is what became of a version of the weights.
type Status string

// The statuses of a version.
const (
	Shadow     Status = "shadow"      // on trial beside the live version
	Refused    Status = "refused"     // lost its trial
	Live       Status = "live"        // searches rank by it
	Replaced   Status = "replaced"    // was live until another version was
	RolledBack Status = "rolled_back" // was live until it was rolled back
	Kept       Status = "kept"        // nothing more is known of it
)

// History is what is known of a version beside its content.
type History struct {
	Status         Status    `json:"state" doc:"shadow (on trial beside the live version), refused, live, replaced, rolled_back, or kept (nothing more is known of it)." enum:"shadow,refused,live,replaced,rolled_back,kept"`
	Since          time.Time `json:"since,omitzero" doc:"When it got that state."`
	Reason         string    `json:"reason,omitempty" doc:"Why."`
	From           time.Time `json:"from,omitzero" doc:"Time of the first search that it was learned from."`
	To             time.Time `json:"to,omitzero" doc:"Time of the last one."`
	CrossValidated *Figures  `json:"cross_validated,omitempty" doc:"On queries, each ranked by weights that were learned without it; the gain is that of NDCG@10 over the built-in weights."`
	Shadow         *Figures  `json:"shadow,omitempty" doc:"On searches that it ranked beside the live weights; the gain is that of 1/log2(1+rank) of what was used."`

	Trial []TrialPoint `json:"trial,omitempty" maxItems:"100" doc:"How these figures of its shadow trial came about, oldest first."`
}

// Figures say how much better a version ranked.
type Figures struct {
	Searches int     `json:"searches" doc:"How many were compared."`
	Gain     float64 `json:"gain" doc:"In the mean of the searches."`
	Margin   float64 `json:"margin,omitempty" doc:"How far the gain may be off."`
}

// TrialPoint is how a shadow trial stood at a time.
type TrialPoint struct {
	Time time.Time `json:"time" doc:"Of the newest feedback by then."`
	Figures
}

// KeptWeights are a version with its history.
type KeptWeights struct {
	schema.Weights
	History
	Words []string `json:"words" doc:"What counts more and what less than in its parent, the largest change first. None where the parent is not kept, or hardly differs."`
}

// ShadowTrial is the version on trial beside the live one.
type ShadowTrial struct {
	Version string    `json:"version"`
	Since   time.Time `json:"since" doc:"When it began."`
	Until   time.Time `json:"until" doc:"When it is decided at the latest."`
	Needed  int       `json:"needed" doc:"Searches that decide it at the earliest."`
}

// Damaged is a version that is kept and cannot serve.
type Damaged struct {
	Version string `json:"version"`
	Reason  string `json:"reason"`
}

// note keeps what became of a version, of the newest maxHistory versions.
func (t *tenantState) note(m *memory, version string, h History) error {
	t.history[version] = h
	if len(t.history) > maxHistory {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(t.history)), byEpoch)
		delete(t.history, oldest)
		m.put(keyVersion+t.name+"/"+oldest, nil)
	}
	return m.putJSON(keyVersion+t.name+"/"+version, h)
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
