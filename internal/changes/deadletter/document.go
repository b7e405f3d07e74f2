package deadletter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Contents describes the tool or provider in the record of a dead letter.
type Contents struct {
	Kind     schema.Kind `json:"kind,omitempty" doc:"Subject of the record: tool or provider; absent if it is about neither."`
	Entity   string      `json:"entity,omitempty" doc:"Its id."`
	Provider string      `json:"provider,omitempty" doc:"Provider that the tool belongs to."`
	Format   string      `json:"format,omitempty" doc:"Format of the document."`
	Document string      `json:"document,omitempty" doc:"The raw document: JSON with each member on its own line (unchanged if that takes more than 1 MiB), or a text. Absent if the record holds no readable document."`
	Location *Location   `json:"location,omitempty"`
}

// Location is the place of an error.
type Location struct {
	Pointer string `json:"pointer,omitempty" doc:"JSON pointer (RFC 6901) into document; absent of a text."`
	Line    int    `json:"line,omitempty" doc:"Line in document, or in text without a document, from 1."`
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

// contentsOf describes the record of a dead letter.
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
	g.Document = string(c.Raw)
	var lines bytes.Buffer
	if json.Indent(&lines, c.Raw, "", "  ") == nil && lines.Len() <= maxShown {
		g.Document = lines.String()
	}
	g.Location = locate(l.Path, c, g.Document)
	return g
}

// maxShown is how long a document may become by indenting it, in bytes. A deep document would
// become many times as long, and could not be sent back.
const maxShown = 1 << 20

// syntax returns the place of a record's JSON syntax error, or nil if it is valid JSON or not
// text.
func syntax(record []byte) *Location {
	var wrong *json.SyntaxError
	if err := json.Unmarshal(record, new(json.RawMessage)); !errors.As(err, &wrong) || !utf8.Valid(record) || len(record) == 0 {
		return nil
	}
	at := jsondoc.PlaceAt(record, int(wrong.Offset)-1) // the offset is behind the wrong byte
	return &Location{Line: at.Line, Column: at.Column}
}

// locate returns the place, in a document as shown, of the value that an error of the change
// points to, or nil if unknown.
func locate(path string, c events.Change, document string) *Location {
	pointer, known := strings.CutPrefix(path, "/raw")
	if part, made := strings.CutPrefix(path, "/document"); made && c.Document != nil {
		source, err := provenance.Decode(c.Raw)
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
