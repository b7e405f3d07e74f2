package toolschema

import (
	"encoding/json"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// Hints describe the possible effects of a call, according to its source or to the defaults of
// the protocol. A caller that does not trust the source must treat every call as destructive.
type Hints struct {
	ReadOnly    bool // it changes nothing
	Destructive bool // it may change or delete existing things
	Idempotent  bool // a second call with the same arguments changes nothing more
	TaskOnly    bool // of MCP: it runs as a task alone (execution.taskSupport)
}

// HintsOf returns the hints of the tool that raw describes in the format.
//
// The hints of an MCP tool are its annotations with the protocol's defaults: not read-only,
// destructive, not idempotent. The hints of an OpenAPI operation follow from whether its
// method is safe or idempotent (RFC 9110, 9.2.1 and 9.2.2; QUERY is both, according to its
// draft). Tools of every other format count as destructive.
func HintsOf(format string, raw json.RawMessage) Hints {
	switch format {
	case tooldoc.MCP:
		annotations := jsondoc.Member(raw, "annotations")
		hint := func(name string) string { return string(jsondoc.Member(annotations, name)) }
		readOnly := hint("readOnlyHint") == "true"
		return Hints{
			ReadOnly:    readOnly,
			Destructive: !readOnly && hint("destructiveHint") != "false",
			Idempotent:  readOnly || hint("idempotentHint") == "true",
			TaskOnly:    string(jsondoc.Member(jsondoc.Member(raw, "execution"), "taskSupport")) == `"required"`,
		}
	case tooldoc.OpenAPI:
		switch strings.ToUpper(strings.Trim(string(jsondoc.Member(raw, "method")), `" `)) {
		case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY":
			return Hints{ReadOnly: true, Idempotent: true}
		case "PUT", "DELETE":
			return Hints{Destructive: true, Idempotent: true}
		}
	}
	return Hints{Destructive: true}
}
