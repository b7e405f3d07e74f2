package events

import "github.com/toolstream/toolstream/pkg/schema"

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

// Topics lists every topic, in the order of the flow.
func Topics() []Topic {
	return []Topic{ToolsRaw, ToolsStandardized, ToolsEmbedded, Searches, FeedbackTopic, DLQ}
}

// Compacted reports whether the topic keeps only the newest record of a key.
func (t Topic) Compacted() bool {
	return t == ToolsRaw || t == ToolsStandardized || t == ToolsEmbedded
}

// Header names on every record.
const (
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
	HeaderRevision    = "revision"
	HeaderHash        = "content-hash"
	HeaderSchema      = "schema"
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
