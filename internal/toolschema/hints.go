package toolschema

import (
	"encoding/json"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// Hints say what a call of a tool may do. They are what its source says, or what the
// protocol lets one assume where it says nothing: who must not rely on the source's word
// has to grant every call as if it were destructive.
type Hints struct {
	ReadOnly    bool // it changes nothing
	Destructive bool // it may change or delete what is there
	Idempotent  bool // a second call with the same arguments changes nothing more
	TaskOnly    bool // of MCP: it runs as a task alone (execution.taskSupport)
}

// HintsOf returns the hints of the tool that raw describes in the format.
//
// Of MCP they are the tool's annotations with the protocol's defaults: not read-only,
// destructive, not idempotent. Of OpenAPI they follow from the method: those that are safe
// and those that are idempotent (RFC 9110, 9.2.1 and 9.2.2; QUERY is both, as its draft
// says). Tools of every other format are taken for destructive.
func HintsOf(format string, raw json.RawMessage) Hints {
	switch format {
	case "mcp":
		return annotated(raw)
	case "openapi":
		return ofMethod(strings.Trim(string(jsondoc.Member(raw, "method")), `" `))
	}
	return Hints{Destructive: true}
}

func annotated(raw json.RawMessage) Hints {
	annotations := jsondoc.Member(raw, "annotations")
	hint := func(name string) string { return string(jsondoc.Member(annotations, name)) }
	readOnly := hint("readOnlyHint") == "true"
	return Hints{
		ReadOnly:    readOnly,
		Destructive: !readOnly && hint("destructiveHint") != "false",
		Idempotent:  readOnly || hint("idempotentHint") == "true",
		TaskOnly:    string(jsondoc.Member(jsondoc.Member(raw, "execution"), "taskSupport")) == `"required"`,
	}
}

func ofMethod(method string) Hints {
	switch strings.ToUpper(method) {
	case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY":
		return Hints{ReadOnly: true, Idempotent: true}
	case "PUT", "DELETE":
		return Hints{Destructive: true, Idempotent: true}
	}
	return Hints{Destructive: true}
}
