package standardizer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strconv"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Name is the stage's name: of its consumer group, in metrics, logs and dead
// letters.
const Name = "standardizer"

// Reasons of the dead letters that this stage writes.
const (
	ReasonUndecodable   = stream.ReasonUndecodable
	ReasonUnknownSchema = events.ReasonUnknownSchema
	ReasonUnknownFormat = "unknown_format"
	ReasonBadKey        = "bad_key"
	ReasonBadDocument   = "bad_document"
)

// Config of the stage.
type Config struct {
	Workers int // documents in work at once; one per processor when 0
	Batch   int // most changes read at once; stream.DefaultBatch when 0
}

// Deps is what the stage works with.
type Deps = stream.Deps

// Service is the stage.
type Service struct {
	loop *stream.Loop
}

// New checks the configuration and registers metrics. It starts nothing.
func New(c Config, d Deps) (*Service, error) {
	if c.Workers < 0 || c.Batch < 0 {
		return nil, errors.New("standardizer: workers and batch can not be negative")
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	loop, err := stream.New(stream.Stage{
		Name:    Name,
		Topic:   events.ToolsRaw,
		Handler: stream.Each(c.Workers, standardize),
		Batch:   c.Batch,
	}, d)
	if err != nil {
		return nil, fmt.Errorf("standardizer: %w", err)
	}
	return &Service{loop: loop}, nil
}

// Run works until ctx ends and what was begun is done.
func (s *Service) Run(ctx context.Context) error { return s.loop.Run(ctx) }

// standardize answers a raw change with the same change and its document, under
// the same key. A delete and a null record, which lets a compacted topic drop
// the key, go on as they came.
func standardize(_ context.Context, m stream.Message) ([]stream.Message, error) {
	out := stream.Message{Topic: events.ToolsStandardized, Key: m.Key, Headers: maps.Clone(m.Headers)}
	if m.IsNull() {
		return []stream.Message{out}, nil
	}
	c, err := decode(m)
	if err != nil {
		return nil, err
	}
	if c.Op == events.OpDelete {
		out.Value = m.Value
		return []stream.Message{out}, nil
	}
	doc, err := rules.Standardize(c.Format, c.ID, c.Raw)
	if errors.Is(err, rules.ErrFormat) {
		return nil, stream.Permanent(ReasonUnknownFormat, err)
	}
	if err != nil {
		return nil, stream.Permanent(ReasonBadDocument, err)
	}
	c.Document = &doc
	if out.Value, err = events.EncodeChange(&c); err != nil {
		return nil, stream.Permanent(ReasonBadDocument, err)
	}
	out.Headers = withSchema(out.Headers)
	return []stream.Message{out}, nil
}

// withSchema corrects the header where the record came in an older version.
func withSchema(h map[string]string) map[string]string {
	if _, set := h[events.HeaderSchema]; set {
		h[events.HeaderSchema] = strconv.Itoa(events.ChangeSchema)
	}
	return h
}

// decode reads a change and refuses what no later attempt could read either.
func decode(m stream.Message) (events.Change, error) {
	if len(m.Value) == 0 {
		return events.Change{}, stream.Permanent(ReasonBadKey, errors.New("the record has no value"))
	}
	c, err := events.DecodeChange(m.Value)
	switch {
	case events.IsUnknownSchema(err):
		return c, stream.Permanent(ReasonUnknownSchema, err)
	case err != nil:
		return c, stream.Permanent(ReasonUndecodable, err)
	case m.Key == "" || m.Key != events.Key(c.Ref):
		return c, stream.Permanent(ReasonBadKey, fmt.Errorf("the key does not name the change's entity, %s %q", c.Kind, c.ID))
	case c.Op != events.OpUpsert && c.Op != events.OpDelete:
		return c, stream.Permanent(ReasonUndecodable, fmt.Errorf("unknown operation %q", c.Op))
	}
	return c, nil
}
