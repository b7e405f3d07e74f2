package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/pkg/schema"
)

// SearcherConfig says which query service is asked.
type SearcherConfig struct {
	Subject string        // SearchSubject when empty
	Timeout time.Duration // where the context has no deadline; 10 s when 0
}

// Searcher asks the query service. Its methods may be called concurrently.
type Searcher struct{ client *Client }

// NewSearcher returns a searcher; nobody needs to answer yet.
func NewSearcher(cfg SearcherConfig, conn *nats.Conn) (*Searcher, error) {
	if cfg.Subject == "" {
		cfg.Subject = SearchSubject
	}
	client, err := NewClient(ClientConfig(cfg), conn)
	if err != nil {
		return nil, err
	}
	return &Searcher{client}, nil
}

// Search answers a request for a tenant, "" for the default one. Errors are
// those of Client.Request: a request that is wrong is a *Refusal with status
// 422.
func (s *Searcher) Search(ctx context.Context, tenant string, req schema.SearchRequest) (schema.SearchResponse, error) {
	var resp schema.SearchResponse
	body, err := json.Marshal(req)
	if err != nil {
		return resp, fmt.Errorf("nats: search: %w", err)
	}
	answer, err := s.client.Request(ctx, tenant, body)
	if err != nil {
		return resp, err
	}
	if err := json.Unmarshal(answer, &resp); err != nil {
		return resp, fmt.Errorf("nats: search: answer: %w", err)
	}
	return resp, nil
}
