package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/text"
)

// page is one page of a list, as the server wrote it.
type page struct {
	Tools  []json.RawMessage `json:"tools"`
	Cursor string            `json:"nextCursor"`
	TTL    float64           `json:"ttlMs"`
	Scope  string            `json:"cacheScope"`
}

// List implements source.Session. It reads the pages as the server wrote them: the SDK
// drops members that it does not know, and refuses a page for one tool that is not as it
// should be.
func (s *session) List(ctx context.Context, _ bool) (source.Listing, error) {
	l := source.Listing{Owner: s.owner()}
	var size int64
	seen := map[string]bool{}
	cursor := ""
	for n := 0; ; n++ {
		if n == s.limits.Pages || seen[cursor] {
			return source.Listing{}, errPages
		}
		seen[cursor] = true
		p, valid, err := s.ask(ctx, cursor)
		if err != nil {
			return source.Listing{}, err
		}
		for _, raw := range p.Tools {
			size += int64(len(raw))
			l.Documents = append(l.Documents, document(raw, valid))
		}
		if size > s.limits.Bytes || len(l.Documents) > s.limits.Tools {
			return source.Listing{}, fmt.Errorf("the list is too large: more than %d bytes or %d tools", s.limits.Bytes, s.limits.Tools)
		}
		l.Private = l.Private || p.Scope == "private"
		if n == 0 && p.TTL > 0 {
			l.Fresh = time.Duration(min(p.TTL, float64(time.Hour.Milliseconds()))) * time.Millisecond
		}
		if cursor = p.Cursor; cursor == "" {
			return l, nil
		}
	}
}

// document returns one tool. A tool that the SDK refuses does not affect the others.
func document(raw []byte, valid map[string]bool) source.Document {
	d := source.Document{Format: "mcp", Tool: true, Raw: raw}
	var t struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &t) == nil {
		d.Name = t.Name
	}
	if !valid[d.Name] {
		d.Problem = "the tool is not as the protocol wants it"
	}
	return d
}

// ask asks for one page, and returns the names of its valid tools.
func (s *session) ask(ctx context.Context, cursor string) (page, map[string]bool, error) {
	s.wire.reset()
	seen := &sight{instead: readable}
	result, err := s.session.ListTools(seen.watch(ctx), &sdk.ListToolsParams{Cursor: cursor})
	if err != nil {
		return page{}, nil, s.wire.explain("list tools", err)
	}
	var p page
	if err := json.Unmarshal(seen.result, &p); err != nil || p.Tools == nil {
		return page{}, nil, errors.New("list tools: the answer holds no list")
	}
	valid := map[string]bool{}
	for _, t := range result.Tools {
		valid[t.Name] = t.Name != ""
	}
	return p, valid, nil
}

// readable returns a page of the tools that the SDK can read. It has no time to live: the SDK would
// answer from its own cache.
func readable(result []byte) []byte {
	var p struct {
		Tools []json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(result, &p) // without a list, ask refuses it
	p.Tools = slices.DeleteFunc(p.Tools, func(raw json.RawMessage) bool { return json.Unmarshal(raw, &sdk.Tool{}) != nil })
	out, err := json.Marshal(p)
	if err != nil {
		return []byte(`{}`)
	}
	return out
}

// receiving sees which changes the server has agreed to tell.
func (s *session) receiving(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if p, ok := req.GetParams().(*sdk.SubscriptionsAcknowledgedParams); ok {
			s.mu.Lock()
			s.heard = p.Notifications.ToolsListChanged
			s.mu.Unlock()
			s.acknowledged()
		}
		return next(ctx, method, req)
	}
}

// maxInstructions bounds the instructions of a server, in bytes.
const maxInstructions = 4 << 10

// owner returns the self-description of the server, or nil.
func (s *session) owner() json.RawMessage {
	r := s.session.InitializeResult()
	if r == nil {
		return nil
	}
	about := map[string]string{}
	if i := r.ServerInfo; i != nil {
		about["name"] = i.Name
		if i.Title != "" {
			about["name"] = i.Title
		}
	}
	if r.Instructions != "" {
		about["description"] = text.Truncate(r.Instructions, maxInstructions)
	}
	if about["name"] == "" {
		return nil
	}
	raw, _ := json.Marshal(about) // texts always encode
	return raw
}
