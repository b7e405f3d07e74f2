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
	Audit             Topic = "audit"
)

// Topics lists the topics that are always there, in the order of the flow.
func Topics() []Topic {
	return []Topic{ToolsRaw, ToolsStandardized, ToolsEmbedded, Searches, FeedbackTopic, DLQ, Audit}
}

// Embedded is the topic of the documents that an index version has embedded:
// ToolsEmbedded of the first version, and the same with the number behind a hyphen of
// the others. Each version has its own topic, because a compacted topic holds the last
// record of an entity, whichever model made it.
func Embedded(version int) Topic { return Topic(Numbered(string(ToolsEmbedded), version)) }

// Numbered names something that each index version has. The name of the first
// version's has no number.
func Numbered(name string, version int) string {
	if version == 1 {
		return name
	}
	return name + "-" + strconv.Itoa(version)
}

// IndexVersion returns the version whose topic t is, 0 for any other topic.
func (t Topic) IndexVersion() int {
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

// Known reports whether t is one of Topics or an index version's.
func (t Topic) Known() bool { return slices.Contains(Topics(), t) || t.IndexVersion() > 0 }

// Compacted reports whether the topic keeps only the newest record of a key.
// Dead letters are: a letter's key is its id, and closing one replaces it.
func (t Topic) Compacted() bool {
	return t == ToolsRaw || t == ToolsStandardized || t == DLQ || t.IndexVersion() > 0
}

// Header names on every record.
const (
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
	HeaderRevision    = "revision"
	HeaderHash        = "content-hash"
	HeaderSchema      = "schema"
	HeaderOp          = "op"
	HeaderRefresh     = "refresh"   // on tools.raw: standardize again; the value says why
	HeaderErased      = "erased"    // the erased tenant, on records that replace its records
	HeaderRefreshed   = "refreshed" // the record was published or standardized again, and the tool could be searched before
)

// providerMark separates the key spaces of providers and tools. It is a control
// character, which no id may contain, so no tool's key can equal a provider's.
const providerMark = "\x1f"

// Key is the record key of an entity: "tenant/id" for a tool. A tenant holds
// no slash, so the key splits at the first one.
func Key(r schema.Ref) string {
	if r.Kind == schema.KindProvider {
		return r.Tenant + "/" + providerMark + r.ID
	}
	return r.Tenant + "/" + r.ID
}

// TenantOf returns the tenant of a record key.
func TenantOf(key string) string {
	tenant, _, _ := strings.Cut(key, "/")
	return tenant
}

// ParseKey is the inverse of Key. A key without a tenant, or with a tenant or
// an id that is not acceptable, is an error.
func ParseKey(key string) (schema.Ref, error) {
	tenant, id, found := strings.Cut(key, "/")
	if !found {
		return schema.Ref{}, fmt.Errorf("key %s: must be tenant/id", schema.Quote(key))
	}
	ref := schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: id}
	if provider, marked := strings.CutPrefix(id, providerMark); marked {
		ref.Kind, ref.ID = schema.KindProvider, provider
	}
	if err := ref.Validate(); err != nil {
		return schema.Ref{}, fmt.Errorf("key %s: %w", schema.Quote(key), err)
	}
	return ref, nil
}
