package gateway

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// record is a record of AWS Agent Registry
// (https://docs.aws.amazon.com/agent-registry/latest/APIReference). A descriptor holds a
// document as text: of an MCP server its server.json.
type record struct {
	ID          string `json:"recordId"`
	Name        string `json:"name"`
	Type        string `json:"recordType"`
	Version     string `json:"recordVersion"`
	Updated     string `json:"updatedAt"`
	Descriptors struct {
		Server struct {
			Data       string `json:"data"`
			Additional struct {
				Tools struct {
					Data string `json:"data"`
				} `json:"tools"`
			} `json:"additionalData"`
		} `json:"mcpServer"`
		Card struct {
			Data string `json:"data"`
		} `json:"a2aAgentCard"`
		Skill struct {
			Additional struct {
				Text struct {
					Data string `json:"data"`
				} `json:"skillMd"`
			} `json:"additionalData"`
		} `json:"agentSkillsDefinition"`
	} `json:"descriptors"`
}

// recordPage is how many records are asked for at once, which is the most that is allowed.
const recordPage = 100

// registry reads the approved records of a registry, which are discoverable.
func registry(at source.Place, address *url.URL) source.Session {
	var last []record
	return polled(func(ctx context.Context, whole bool) (source.Listing, error) {
		r := newReader(at)
		all, err := listRecords(ctx, r, address)
		if err != nil {
			return source.Listing{}, err
		}
		if !whole && slices.Equal(all, last) {
			return source.Listing{Same: true}, nil
		}
		named := map[string]int{}
		for _, rec := range all {
			named[rec.Name]++
		}
		l := source.Listing{Several: true}
		for some := range slices.Chunk(all, recordPage) {
			records, err := readRecords(ctx, r, address, some)
			if err != nil {
				return source.Listing{}, err
			}
			for _, rec := range records {
				name := rec.Name
				if named[name] > 1 { // names need not be unique, and ids are
					name += "-" + rec.ID
				}
				rec.add(&l, name)
			}
		}
		last = all
		return l, nil
	})
}

// listRecords lists the records, without their descriptors, page by page.
func listRecords(ctx context.Context, r *reader, address *url.URL) ([]record, error) {
	question := map[string]any{"maxResults": recordPage}
	var all []record
	for range r.at.Limits.Pages {
		var page struct {
			Records []record `json:"registryRecords"`
			Next    string   `json:"nextToken"`
		}
		if err := r.post(ctx, address.JoinPath("discoverable-records-list"), question, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Records...)
		if page.Next == "" {
			return all, nil
		}
		question["nextToken"] = page.Next
	}
	return nil, errPages
}

// readRecords reads whole records. A missing record is no longer approved.
func readRecords(ctx context.Context, r *reader, address *url.URL, some []record) ([]record, error) {
	var ids []string
	for _, rec := range some {
		ids = append(ids, rec.ID)
	}
	question := map[string]any{"entries": []any{map[string]any{"registryId": path.Base(address.Path), "recordIds": ids}}}
	var answer struct {
		Records []record `json:"registryRecords"`
		Errors  []struct {
			ID   string `json:"recordId"`
			Code string `json:"errorCode"`
		} `json:"errors"`
	}
	root := *address
	root.Path = ""
	if err := r.post(ctx, root.JoinPath("discoverable-records-batch"), question, &answer); err != nil {
		return nil, err
	}
	missing := 0
	for _, e := range answer.Errors {
		if e.Code != "RESOURCE_NOT_FOUND" {
			return nil, fmt.Errorf("the record %s cannot be read: %s", e.ID, e.Code)
		}
		missing++
	}
	if len(answer.Records)+missing != len(some) {
		return nil, fmt.Errorf("of %d records that were asked for, %d were answered", len(some), len(answer.Records))
	}
	return answer.Records, nil
}

// add adds the subject of a record: an MCP server by its address, or without an address the tools
// in the record; an agent by its card; a skill by its text.
func (rec record) add(l *source.Listing, name string) {
	d := rec.Descriptors
	document := func(file, text string) {
		l.Documents = append(l.Documents, source.Document{Name: file, Provider: name, Raw: []byte(text)})
	}
	server := remote(d.Server.Data)
	switch {
	case rec.Type == "MCP" && server != "":
		l.Found = append(l.Found, source.Found{Name: name, Spec: source.Spec{Kind: source.MCP, URL: server}, Owner: about(rec.Name, rec.Version+" "+rec.Updated)})
	case rec.Type == "MCP" && d.Server.Additional.Tools.Data != "":
		document(name+".json", d.Server.Additional.Tools.Data)
	case rec.Type == "AGENT" && d.Card.Data != "":
		document(name+".json", d.Card.Data)
	case rec.Type == "SKILL" && d.Skill.Additional.Text.Data != "":
		document("SKILL.md", d.Skill.Additional.Text.Data)
	default:
		l.Documents = append(l.Documents, source.Document{Name: name, Provider: name, Problem: "a record of type " + rec.Type + " that names neither a server nor tools"})
	}
}

// remote returns the address of an MCP server from its server.json, "" without a complete
// address.
func remote(data string) string {
	var server struct {
		Remotes []struct {
			Type string `json:"type"`
			URL  string `json:"url"`
		} `json:"remotes"`
	}
	if jsondoc.Unmarshal([]byte(data), jsondoc.Limits{}, &server) != nil {
		return ""
	}
	for _, kind := range []string{"streamable-http", "sse"} {
		for _, r := range server.Remotes {
			if r.Type == kind && !strings.Contains(r.URL, "{") {
				return r.URL
			}
		}
	}
	return ""
}
