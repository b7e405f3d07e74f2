package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/theory/jsonpath"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// List reads the APIs that a gateway or a portal lists as JSON, by a mapping.
type List struct{}

// Connect implements source.Connector. Nothing is asked before the first list.
func (List) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	root, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	paths := map[string]*jsonpath.Path{}
	for _, path := range []string{at.Mapping.Items, at.Mapping.Next, at.Mapping.ID, at.Mapping.Document, at.Mapping.Version} {
		if strings.HasPrefix(path, "$") {
			if paths[path], err = jsonpath.Parse(path); err != nil {
				return nil, err
			}
		}
	}
	return polled(func(ctx context.Context, _ bool) (source.Listing, error) {
		m := mapped{reader: newReader(at), Mapping: *at.Mapping, paths: paths, listing: source.Listing{Several: true}, ids: map[string]bool{}}
		return m.list(ctx, root)
	}), nil
}

// mapped is one list by a mapping.
type mapped struct {
	*reader
	source.Mapping
	paths   map[string]*jsonpath.Path // by their texts
	listing source.Listing
	ids     map[string]bool
}

func (m *mapped) list(ctx context.Context, page *url.URL) (source.Listing, error) {
	for page != nil {
		var values any
		if _, err := m.page(ctx, page, &values); err != nil {
			return source.Listing{}, err
		}
		for _, item := range m.paths[m.Items].Select(values) {
			if err := m.add(item, page); err != nil {
				return source.Listing{}, err
			}
		}
		if m.Next == "" {
			break
		}
		switch value, _ := text(m.at(m.Next, values)); {
		case value == "":
			page = nil
		case m.Cursor != "":
			page = with(page, m.Cursor, value)
		default:
			var err error
			if page, err = next(page, value); err != nil {
				return source.Listing{}, err
			}
		}
	}
	return m.listing, nil
}

// add adds an API. One without an id fails the list: it may be any that was there before.
func (m *mapped) add(item any, page *url.URL) error {
	id, ok := text(m.at(m.ID, item))
	switch {
	case !ok || id == "":
		return fmt.Errorf("the list has an API without an id at %s", m.ID)
	case m.ids[id]:
		return fmt.Errorf("the list has the API %q twice", id)
	}
	m.ids[id] = true
	value := m.Document
	if strings.HasPrefix(value, "$") {
		inside := m.at(m.Document, item)
		value, _ = text(inside)
		raw := []byte(nil) // the document itself, as text or as an object
		if object, ok := inside.(map[string]any); ok {
			var err error
			if raw, err = json.Marshal(object); err != nil {
				return err
			}
		} else if strings.HasPrefix(value, "{") || strings.Contains(value, "\n") {
			raw = []byte(value)
		}
		if raw != nil {
			m.listing.Documents = append(m.listing.Documents, source.Document{Name: id, Provider: id, Raw: raw})
			return nil
		}
	}
	found := source.Found{Name: id, Spec: source.Spec{Kind: cmp.Or(m.Kind, source.OpenAPI)}}
	if m.Version != "" {
		version, _ := text(m.at(m.Version, item))
		found.Owner = about(id, version)
	}
	address, err := page.Parse(strings.ReplaceAll(value, "{id}", url.PathEscape(id)))
	if value == "" || err != nil || address.Host == "" {
		found.Problem = "the list has no address of it at " + m.Document
	} else {
		found.Spec.URL = address.String()
	}
	m.listing.Found = append(m.listing.Found, found)
	return nil
}

// at returns the value at a path, or nil.
func (m *mapped) at(path string, value any) any {
	nodes := m.paths[path].Select(value)
	if len(nodes) == 0 {
		return nil
	}
	return nodes[0]
}

// text returns a string or a number as text.
func text(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}
