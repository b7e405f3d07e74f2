package events

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Topic is a topic's name without the deployment's prefix.
type Topic string

// The topics.
const (
	ToolsRaw          Topic = "tools.raw"
	ToolsStandardized Topic = "tools.standardized"
	ToolsEmbedded     Topic = "tools.embedded"
	Searches          Topic = "searches"
	FeedbackTopic     Topic = "feedback"
	DLQ               Topic = "dlq"
)

// Topics lists the topics that are always there, in the order of the flow.
func Topics() []Topic {
	return []Topic{ToolsRaw, ToolsStandardized, ToolsEmbedded, Searches, FeedbackTopic, DLQ}
}

// Embedded is the topic of what a generation has embedded: ToolsEmbedded of the
// first one, and of the others the same with their number behind a hyphen. Each
// has one of its own, because a compacted topic holds the record of an entity
// that came last, whichever model made it.
func Embedded(generation int) Topic { return Topic(Numbered(string(ToolsEmbedded), generation)) }

// Numbered is the name of what every generation has one of. The first one's has
// no number.
func Numbered(name string, generation int) string {
	if generation == 1 {
		return name
	}
	return name + "-" + strconv.Itoa(generation)
}

// Generation returns whose topic t is, 0 for one that is not Embedded of any.
func (t Topic) Generation() int {
	if t == ToolsEmbedded {
		return 1
	}
	digits, ok := strings.CutPrefix(string(t), string(ToolsEmbedded)+"-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 2 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// Known reports whether t is one of Topics or a generation's.
func (t Topic) Known() bool { return slices.Contains(Topics(), t) || t.Generation() > 0 }

// Compacted reports whether the topic keeps only the newest record of a key.
// Dead letters are: a letter's key is its id, and closing one replaces it.
func (t Topic) Compacted() bool {
	return t == ToolsRaw || t == ToolsStandardized || t == DLQ || t.Generation() > 0
}

// Header names on every record.
const (
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
	HeaderRevision    = "revision"
	HeaderHash        = "content-hash"
	HeaderSchema      = "schema"
	HeaderOp          = "op"
	HeaderRefresh     = "refresh"   // on tools.raw: make the document anew, as this says
	HeaderRefreshed   = "refreshed" // after tools.raw: a document made anew, of what could be searched before
)

// agentMark separates the key spaces of agents and tools. It is a control
// character, which no id may contain, so no tool's key can equal an agent's.
const agentMark = "\x1f"

// Key is the record key of an entity: "tenant/id" for a tool. A tenant holds
// no slash, so the key splits at the first one.
func Key(r schema.Ref) string {
	if r.Kind == schema.KindAgent {
		return r.Tenant + "/" + agentMark + r.ID
	}
	return r.Tenant + "/" + r.ID
}

// ParseKey is the inverse of Key. A key without a tenant, or with a tenant or
// an id that is not acceptable, is an error.
func ParseKey(key string) (schema.Ref, error) {
	tenant, id, found := strings.Cut(key, "/")
	if !found {
		return schema.Ref{}, fmt.Errorf("key %s: must be tenant/id", schema.Quote(key))
	}
	ref := schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: id}
	if agent, marked := strings.CutPrefix(id, agentMark); marked {
		ref.Kind, ref.ID = schema.KindAgent, agent
	}
	if err := ref.Validate(); err != nil {
		return schema.Ref{}, fmt.Errorf("key %s: %w", schema.Quote(key), err)
	}
	return ref, nil
}

// SearchKey is the record key of an impression and of all feedback on it, so
// that they share a partition.
func SearchKey(tenant, searchID string) string { return tenant + "/" + searchID }
