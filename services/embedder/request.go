package embedder

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxTexts bounds the texts of one request.
const maxTexts = 512

// Request asks for the vectors of texts.
type Request struct {
	Texts []string `json:"texts"`
}

// Response holds one unit vector for each text, in order; an empty one where
// the text holds nothing to embed.
type Response struct {
	Model   string          `json:"model"`
	Vectors []events.Vector `json:"vectors"`
}

// Handle answers a Request in JSON with a Response, for request-reply. Bytes
// that are no request are a *schema.Invalid.
func (s *Service) Handle(ctx context.Context, body []byte) ([]byte, error) {
	var req Request
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, &schema.Invalid{Reason: `must be {"texts": [...]}: ` + err.Error()}
	}
	if n := len(req.Texts); n == 0 || n > maxTexts {
		return nil, &schema.Invalid{Path: "/texts", Value: fmt.Sprint(n), Reason: fmt.Sprintf("must hold 1 to %d texts", maxTexts)}
	}
	vectors, err := s.Embed(ctx, req.Texts)
	if err != nil {
		return nil, err
	}
	resp := Response{Model: s.documents.model.Name(), Vectors: make([]events.Vector, len(vectors))}
	for i, v := range vectors {
		resp.Vectors[i] = v
	}
	return json.Marshal(resp)
}
