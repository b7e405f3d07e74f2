package documents

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// Card reads the card of an A2A agent: the agent is the provider, and each of its skills a
// tool (A2A 0.3 and 1.0).
type Card struct{}

// wellKnown is the path of an agent's card (A2A 1.0, section 8.2).
const wellKnown = "/.well-known/agent-card.json"

// Connect implements source.Connector. Nothing is asked before the first list.
func (Card) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	return newSite(at, (*reading).card)
}

var errCard = errors.New("the address answers no agent card: it may be a login")

// card reads the one document of an agent.
func (r *reading) card(ctx context.Context) (source.Listing, error) {
	at := r.root
	if strings.Trim(at.Path, "/") == "" {
		at = at.JoinPath(wellKnown)
	}
	text, err := r.file(ctx, at)
	if err != nil {
		return source.Listing{}, err
	}
	var agent struct {
		Name        string             `json:"name"`
		Description string             `json:"description"`
		Skills      *[]json.RawMessage `json:"skills"`
	}
	switch err := r.at.Limits.Decode(text, &agent); {
	case errors.Is(err, source.ErrSize):
		return source.Listing{}, err
	case err != nil || agent.Name == "" || agent.Skills == nil:
		return source.Listing{}, errCard
	}
	about, _ := json.Marshal(map[string]string{"name": agent.Name, "description": agent.Description}) // texts always encode
	card := source.Document{Name: at.String(), Format: tooldoc.A2A, Raw: text}
	return source.Listing{Owner: about, Documents: []source.Document{card}}, nil
}
