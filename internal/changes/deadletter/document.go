package deadletter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Contents is what the record of a dead letter says of a tool or provider.
type Contents struct {
	Kind     schema.Kind `json:"kind,omitempty" doc:"tool or provider: what the record is about; absent where it is about neither."`
	Entity   string      `json:"entity,omitempty" doc:"Its id."`
	Provider string      `json:"provider,omitempty" doc:"Provider that the tool belongs to."`
	Format   string      `json:"format,omitempty" doc:"Format of the document."`
	Document string      `json:"document,omitempty" doc:"The raw document as it was given: JSON with its members on lines of their own (as it is where that takes more than 1 MiB), or a text. Absent where the record holds none that can be read."`
	Location *Location   `json:"location,omitempty"`
}

// Location is where the error is.
type Location struct {
	Pointer string `json:"pointer,omitempty" doc:"JSON pointer (RFC 6901) into document; absent of a text."`
	Line    int    `json:"line,omitempty" doc:"Line in document, in text where there is no document: from 1."`
	Column  int    `json:"column,omitempty" doc:"Character in the line, from 1."`
}

// ref returns the entity that a dead letter is about, and whether it is about one.
func ref(topic events.Topic, key string) (schema.Ref, bool) {
	if topic != events.ToolsRaw && topic != events.ToolsStandardized && topic.IndexVersion() == 0 {
		return schema.Ref{}, false
	}
	r, err := events.ParseKey(key)
	return r, err == nil
}

// changeOf reads the change that the record of a dead letter holds.
func changeOf(l events.DeadLetter) (c events.Change, err error) {
	about, ok := ref(l.Topic, l.Key)
	if !ok {
		return c, errors.New("it is about no tool or provider")
	}
	if c, err = events.Decode[events.Change](l.Original); err != nil {
		return c, fmt.Errorf("its record cannot be read: %w", err)
	}
	if c.Ref != about || c.Revision == 0 || c.Revision > events.MaxRevision {
		return c, errors.New("its record is no change of the tool or provider that its key names")
	}
	return c, nil
}

// contentsOf describes what the record of a dead letter says.
func contentsOf(l events.DeadLetter) (g Contents) {
	about, _ := ref(l.Topic, l.Key)
	g.Kind, g.Entity = about.Kind, about.ID
	c, err := changeOf(l)
	if err != nil || len(c.Raw) == 0 {
		g.Location = syntax(l.Original)
		return g
	}
	g.Provider, g.Format = c.Provider, c.Format
	if json.Unmarshal(c.Raw, &g.Document) == nil { // a text
		return g
	}
	g.Document = shown(c.Raw)
	g.Location = locate(l.Path, c, g.Document)
	return g
}

// maxShown is how long a document may get by lines of its own for each member, in bytes: that
// of a deep one gets many times as long, and could not be sent back.
const maxShown = 1 << 20

// shown returns a document with its members on lines of their own, as it is where that would be
// very long.
func shown(raw json.RawMessage) string {
	var lines bytes.Buffer
	if json.Indent(&lines, raw, "", "  ") != nil || lines.Len() > maxShown {
		return string(raw)
	}
	return lines.String()
}

// syntax returns where a record ends to be JSON, nil where it is JSON or no text.
func syntax(record []byte) *Location {
	var wrong *json.SyntaxError
	if err := json.Unmarshal(record, new(json.RawMessage)); !errors.As(err, &wrong) || !utf8.Valid(record) || len(record) == 0 {
		return nil
	}
	at := jsondoc.PlaceAt(record, int(wrong.Offset)-1) // that of the byte behind the wrong one
	return &Location{Line: at.Line, Column: at.Column}
}

// locate returns where in a document, as it is shown, is what an error points to in its change,
// nil where that is not known.
func locate(path string, c events.Change, document string) *Location {
	pointer, known := strings.CutPrefix(path, "/raw")
	if part, made := strings.CutPrefix(path, "/document"); made && c.Document != nil {
		source, err := jsondoc.Decode(c.Raw, jsondoc.Limits{Bytes: len(c.Raw), Nodes: len(c.Raw)})
		if err != nil {
			return nil
		}
		pointer, known = provenance.Where(source, c.Document, part)
	}
	for known {
		if at, found := jsondoc.Find([]byte(document), pointer); found {
			return &Location{Pointer: pointer, Line: at.Line, Column: at.Column}
		}
		if known = pointer != ""; known { // it points into the JSON in a text
			pointer = pointer[:strings.LastIndexByte(pointer, '/')]
		}
	}
	return nil
}
