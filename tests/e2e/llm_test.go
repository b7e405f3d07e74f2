package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/scripted"
)

// listen starts a language model, and returns it with the settings that name it.
// Its name is its own: what models answered is kept by their names, in a NATS that
// outlives a test.
func listen(t *testing.T, cfg llmtest.Config) (*llmtest.Server, []string) {
	t.Helper()
	cfg.Model = fmt.Sprintf("scripted-%d", time.Now().UnixNano())
	s := listenAt(t, "", cfg)
	return s, []string{"TOOLSTREAM_LLM_BASE_URL=" + s.URL(), "TOOLSTREAM_LLM_MODEL=" + cfg.Model}
}

func listenAt(t *testing.T, address string, cfg llmtest.Config) *llmtest.Server {
	t.Helper()
	s := check.Value(llmtest.Listen(t.Context(), address, cfg))(t)
	t.Cleanup(func() { _ = s.Close() }) // it may have been closed before
	return s
}

// askedFor returns the query of a question about a search.
func askedFor(r llmtest.Request) (string, bool) {
	var m struct{ Query *string }
	if json.NewDecoder(strings.NewReader(r.User)).Decode(&m) != nil || m.Query == nil {
		return "", false
	}
	return *m.Query, true
}

// repeating answers with what documents and queries say themselves.
func repeating(r llmtest.Request) llmtest.Reply {
	if query, ok := askedFor(r); ok {
		raw, err := json.Marshal(map[string]any{"needs": []schema.Need{{UserIntent: query}}, "arguments": []string{}})
		return replied(string(raw), err)
	}
	q, err := scripted.Read(r.User)
	if err != nil {
		return replied("", err)
	}
	return replied(q.JSON())
}

func replied(content string, err error) llmtest.Reply {
	if err != nil {
		return llmtest.Reply{Refusal: err.Error()}
	}
	return llmtest.Reply{Content: content}
}
