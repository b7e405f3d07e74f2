package documents

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Card reads the card of an A2A agent: the agent is the provider, and each of its skills a
// tool (A2A 0.3 and 1.0).
type Card struct{}

// wellKnown is where an agent has its card (A2A 1.0, section 8.2).
const wellKnown = "/.well-known/agent-card.json"

// Connect implements source.Connector. Nothing is asked before the first list.
func (Card) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	root, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	if strings.Trim(root.Path, "/") == "" {
		root = root.JoinPath(wellKnown)
	}
	return &site{at: at, root: root, read: (*reading).card}, nil
}

var errCard = errors.New("the address answers no agent card: it may be a login")

// card reads the one document of an agent.
func (r *reading) card(ctx context.Context) (source.Listing, error) {
	text, err := r.file(ctx, r.root)
	if err != nil {
		return source.Listing{}, err
	}
	var agent struct {
		Name        string             `json:"name"`
		Description string             `json:"description"`
		Skills      *[]json.RawMessage `json:"skills"`
	}
	if json.Unmarshal(text, &agent) != nil || agent.Name == "" || agent.Skills == nil {
		return source.Listing{}, errCard
	}
	about, _ := json.Marshal(map[string]string{"name": agent.Name, "description": agent.Description}) // texts always encode
	card := source.Document{Name: r.root.String(), Format: formats.A2A, Raw: text}
	return source.Listing{Owner: about, Documents: []source.Document{card}}, nil
}
