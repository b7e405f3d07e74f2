package ingest

import (
	"regexp"
	"strings"
)

// The event types of our own. Beside them any type counts whose last word is a
// verb of eventVerbs.
const (
	TypeToolUpserted     = "io.toolstream.tool.upserted"     // data: one tool in any format; subject: its id
	TypeToolDeleted      = "io.toolstream.tool.deleted"      // subject: the tool's id
	TypeAgentUpserted    = "io.toolstream.agent.upserted"    // data: the agent's document; subject: its id
	TypeAgentDeleted     = "io.toolstream.agent.deleted"     // subject: the agent's id
	TypeOpenAPIPublished = "io.toolstream.openapi.published" // data: the whole document; subject: the agent, which then has its operations and no other tools
	TypeOpenAPIDeleted   = "io.toolstream.openapi.deleted"   // subject: the agent, which then has no tools
	TypeToolsPublished   = "io.toolstream.tools.published"   // data: a whole tools/list answer; subject: the agent, as above
	TypeToolsDeleted     = "io.toolstream.tools.deleted"     // subject: the agent, as above
)

const ownPrefix = "io.toolstream."

// noun is what an event is about.
type noun int

const (
	nounUnknown  noun = iota
	nounTool          // one tool
	nounAgent         // an owner of tools, by itself
	nounDocument      // all the tools of an agent
)

// meaning is what a type says.
type meaning struct {
	noun    noun
	deletes bool
	own     bool // one of our types: what it says is meant
}

// versionSuffix is a version at the end of a type, as in "tool.updated.v2".
var versionSuffix = regexp.MustCompile(`[._-]v[0-9]+$`)

// meaningOf reads an event's type: "io.toolstream.tool.upserted",
// "com.example.api.deployed.v1", "ApiDefinitionAdded".
func meaningOf(eventType string) (meaning, bool) {
	t := versionSuffix.ReplaceAllString(strings.ToLower(eventType), "")
	m := meaning{own: strings.HasPrefix(t, ownPrefix)}
	verb := suffixOf(t, deletingVerbs())
	if m.deletes = verb != ""; !m.deletes {
		verb = suffixOf(t, writingVerbs())
	}
	if verb == "" {
		return meaning{}, false
	}
	m.noun = nounOf(strings.TrimRight(strings.TrimSuffix(t, verb), "._-/:"))
	if m.own && m.noun == nounUnknown {
		return meaning{}, false
	}
	return m, true
}

func suffixOf(t string, words []string) string {
	for _, w := range words {
		if strings.HasSuffix(t, w) {
			return w
		}
	}
	return ""
}

// deletingVerbs come before writingVerbs, of which some are their endings.
func deletingVerbs() []string {
	return []string{"deleted", "removed", "undeployed", "unpublished", "unregistered", "retired"}
}

func writingVerbs() []string {
	return []string{"created", "updated", "upserted", "published", "deployed", "added", "changed", "registered"}
}

func nounOf(t string) noun {
	for n, words := range map[noun][]string{
		nounTool:     {"tool", "operation", "function", "endpoint", "skill"},
		nounAgent:    {"agent"},
		nounDocument: {"openapi", "swagger", "tools", "toolset", "api", "definition", "specification", "spec", "mcp", "server"},
	} {
		if suffixOf(t, words) != "" {
			return n
		}
	}
	return nounUnknown
}
