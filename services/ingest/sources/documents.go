package sources

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/redact"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// content holds the items of a listing.
type content struct {
	tools    []formats.Item  // one for each id
	owner    []formats.Item  // the provider's own document, if there is one
	kept     map[string]bool // ids of tools that are there and could not be read
	problems []string
	unread   []string // providers of documents that could not be read: any of their tools may have been in them
	unsure   bool     // another document could not be read: any tool may have been in it
}

// maxProblems is how many problems a status shows, and maxProblem how long each is in
// bytes.
const (
	maxProblems = 10
	maxProblem  = 300
)

func (c *content) problem(says string) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, shorten(redact.Text(says), maxProblem))
	}
}

// shorten returns a text of at most so many bytes, and an ellipsis where more follows.
func shorten(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	return text.Truncate(s, bytes) + "…"
}

// read takes a listing apart. Tools belong to the provider root, or to one below it where
// each document has its own.
func read(l source.Listing, root string) content {
	c := content{kept: map[string]bool{}}
	if len(l.Owner) > 0 {
		c.owner, _ = formats.Parse(l.Owner, formats.Options{ID: root, Kind: schema.KindProvider}) // what cannot be read is not said
	}
	seen := map[string]bool{}
	for _, d := range l.Documents {
		if d.Problem != "" {
			c.problem(strings.TrimPrefix(d.Name+": "+d.Problem, ": "))
			c.kept[below(root, d.Name)] = true
			if d.Provider != "" {
				c.unread = append(c.unread, root+"/"+d.Provider)
			}
			continue
		}
		opt := formats.Options{Source: d.Name, Format: d.Format, Provider: root, Base: d.Base}
		if l.Several {
			opt.Provider, opt.Below = "", root
		}
		if d.Provider != "" {
			opt.Provider, opt.Below = root+"/"+d.Provider, ""
		}
		items, problems := formats.Parse(d.Raw, opt)
		for _, item := range items {
			item.ID = below(root, item.ID)
			switch {
			case item.Kind != schema.KindTool || item.Delete:
			case schema.ValidateID(item.ID) != nil:
				c.problem(fmt.Sprintf("%s: the id is too long", item.ID))
			case seen[item.ID]:
				c.problem(fmt.Sprintf("%s: it is there twice", item.ID))
			default:
				seen[item.ID] = true
				item.SourceVersion = 0 // the order of listings decides
				c.tools = append(c.tools, item)
			}
		}
		for _, p := range problems {
			c.problem(p.Error())
			if p.ID == "" && d.Tool {
				p.ID = d.Name
			}
			switch {
			case p.ID != "" || d.Tool:
			case d.Provider != "":
				c.unread = append(c.unread, opt.Provider)
			default:
				c.unsure = true
			}
			c.kept[below(root, p.ID)] = true
		}
	}
	return c
}

// below returns an id that begins with the provider root: a document that names its own id
// must not name that of another source's tool.
func below(root, id string) string {
	if strings.HasPrefix(id, root+"/") {
		return id
	}
	return root + "/" + id
}

// digest is a hash of a whole listing.
func digest(l source.Listing) [sha256.Size]byte {
	h := sha256.New()
	part := func(b []byte) {
		_ = binary.Write(h, binary.LittleEndian, int64(len(b))) // a hash takes everything
		h.Write(b)
	}
	part(l.Owner)
	for _, d := range l.Documents {
		part([]byte(d.Name))
		part([]byte(d.Provider))
		part(d.Raw)
	}
	for _, f := range l.Found {
		raw, _ := json.Marshal(f) // texts and JSON
		part(raw)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// lossOf describes a loss, by the missing ids and names in order.
func lossOf(ids []string) *Loss {
	var all []any
	for _, i := range ids {
		all = append(all, i)
	}
	return &Loss{Missing: len(ids), Some: slices.Clone(ids[:min(len(ids), maxProblems)]), Digest: jsondoc.Hash(all)}
}
