package audit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Event is an action of a caller, before it becomes a record.
type Event struct {
	Caller  identity.Caller
	Address string // of an unidentified caller
	Action  string
	Path    string
	Status  int
	Trace   string
	Details

	time  time.Time
	count int
}

// Details are the facts of a request that only its handler knows.
type Details struct {
	Tenant   string    // the tenant of the record, if no credential names it
	Tools    []ToolRef // that something was done with
	Policy   string    // version of the policy that decided
	Decision Decision  // Allowed when empty
	Reason   string    // of a denial: a few words, none of the caller's; of a quarantine: what the caller says
	Search   string    // id
	Call     *Call     // of a tool
	Changed  []string  // grants, each after + or -
	DryRun   bool      // the caller previewed a change; comes with ReadOnly
	ReadOnly bool      // nothing is changed: the answer need not wait until the record is durable
}

// Notes are the details of one request. Its methods may be called concurrently.
type Notes struct {
	mu      sync.Mutex
	details Details
}

type notesKey struct{}

// WithNotes returns a context whose handlers add to the notes, and the notes.
func WithNotes(ctx context.Context) (context.Context, *Notes) {
	n := &Notes{}
	return context.WithValue(ctx, notesKey{}, n), n
}

// Annotate adds details to the record of the request: it appends tools, and other fields
// replace earlier ones unless they are empty. The record is written before the answer begins.
// Tools that are added later, as by a handler that answers line by line, come into another
// record, which is written before the next line. Without a request it does nothing.
func Annotate(ctx context.Context, d Details) {
	n, ok := ctx.Value(notesKey{}).(*Notes)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.details.Tools = append(n.details.Tools, d.Tools...)
	n.details.Changed = append(n.details.Changed, d.Changed...)
	n.details.DryRun = n.details.DryRun || d.DryRun
	n.details.ReadOnly = n.details.ReadOnly || d.ReadOnly
	if d.Call != nil {
		n.details.Call = d.Call
	}
	for to, value := range map[*string]string{
		&n.details.Tenant: d.Tenant, &n.details.Policy: d.Policy, &n.details.Reason: d.Reason, &n.details.Search: d.Search,
		(*string)(&n.details.Decision): string(d.Decision),
	} {
		if value != "" {
			*to = value
		}
	}
}

// Take returns the details, and forgets the tools.
func (n *Notes) Take() Details {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.details
	out.Tools = slices.Clip(out.Tools)
	n.details.Tools = nil
	return out
}

// More reports whether tools were added since the details were taken.
func (n *Notes) More() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.details.Tools) > 0
}

// recordKey is the key in an operation's Metadata that says whether it is always recorded.
const recordKey = "audit"

// Sampled is the Metadata of an operation that changes nothing although its method may, or
// whose records would outweigh all others: only a share of its requests is recorded.
func Sampled() map[string]any { return map[string]any{recordKey: "sampled"} }

// Recorded is the Metadata of an operation that is always recorded although it changes nothing,
// for example an export of a tenant.
func Recorded() map[string]any { return map[string]any{recordKey: "recorded"} }

// IsSampled reports whether an operation with a method and Metadata is recorded by a share
// of its requests.
func IsSampled(method string, metadata map[string]any) bool {
	if is, declared := metadata[recordKey]; declared {
		return is == "sampled"
	}
	return slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, method)
}
