package standardizer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/topic"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
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
	Language   string   // of what the language model writes: "" that of the source, "en" English
	Quarantine []string // documents with one of these flags are kept from the language model, and out of answers
	Exempt     []string // flags that are wrong for a provider, as "flag=provider": its documents do not get them
}

// Deps is what the stage works with. Without a model, rules make all documents.
type Deps struct {
	Groups     stream.Groups
	Publisher  stream.Publisher
	Model      Model            // optional
	Answers    Answers          // what the model said before; needed with a model
	Vectors    topic.Vectors    // by which its answers are compared with documents; without, words decide
	Now        func() time.Time // needed with a model
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider // optional
}

// Service is the stage. It does not wait for the model: what that has not answered yet
// is as rules make it, until a Refresher has asked.
type Service struct {
	deps   Deps
	loop   *stream.Loop
	filler *filler
}

// New checks the configuration and registers metrics. It starts nothing.
func New(c Config, d Deps) (*Service, error) {
	if err := c.validate(d); err != nil {
		return nil, err
	}
	s := &Service{deps: d}
	s.loop = stream.New(stream.Stage{
		Name:    Name,
		Topic:   events.ToolsRaw,
		Handler: stream.Each(runtime.GOMAXPROCS(0), s.standardize),
	}, stream.Deps{Groups: d.Groups, Publisher: d.Publisher, Logger: d.Logger, Registerer: d.Registerer, Traces: d.Traces})
	var err error
	if s.filler, err = newFiller(c, d); err != nil {
		return nil, fmt.Errorf("standardizer: %w", err)
	}
	return s, nil
}

// Validate checks that there are such a language and such flags.
func (c Config) Validate() error {
	if c.Language != "" && c.Language != english {
		return fmt.Errorf("standardizer: language %q: it is that of the source (\"\") or %q", c.Language, english)
	}
	_, err := newPolicy(c.Quarantine, c.Exempt)
	return err
}

func (c Config) validate(d Deps) error {
	if d.Model != nil && (d.Answers == nil || d.Now == nil) {
		return errors.New("standardizer: with a model, answers and a clock are needed")
	}
	return c.Validate()
}

// Run works until ctx ends and what was begun is done.
func (s *Service) Run(ctx context.Context) error { return s.loop.Run(ctx) }

// standardize answers a raw change with the same change and its document, under
// the same key. A delete and a null record, which lets a compacted topic drop
// the key, go on as they came.
func (s *Service) standardize(ctx context.Context, m stream.Message) ([]stream.Message, error) {
	out := stream.Message{Topic: events.ToolsStandardized, Key: m.Key, Headers: maps.Clone(m.Headers)}
	why, again := out.Headers[events.HeaderRefresh]
	if again {
		out.Headers[events.HeaderRefreshed] = why
		delete(out.Headers, events.HeaderRefresh)
	}
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
	if err := s.filler.document(ctx, &c, s.filler.known); err != nil {
		return nil, err
	}
	if again && c.Document.Pending() {
		return nil, nil // what there is is no worse
	}
	if c.Kind == schema.KindTool {
		s.filler.metrics.made(c.Document.Standardized)
	}
	c.Edition = s.filler.edition(c.Document, again)
	if out.Value, err = events.Encode(&c); err != nil {
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
	c, err := stream.Decode[events.Change](m)
	switch {
	case err != nil:
		return c, err
	case m.Key == "" || m.Key != events.Key(c.Ref):
		return c, stream.Permanent(ReasonBadKey, fmt.Errorf("the key does not name the change's entity, %s %q", c.Kind, c.ID))
	case c.Op != events.OpUpsert && c.Op != events.OpDelete:
		return c, stream.Permanent(ReasonUndecodable, fmt.Errorf("unknown operation %q", c.Op))
	}
	return c, nil
}

// edition tells this document from earlier ones of the same version. Where rules alone
// made it, it is always the same, and any that the model made is newer.
func (f *filler) edition(doc *schema.Document, again bool) uint64 {
	if doc.Pending() || doc.Standardized == nil && !again {
		return 0
	}
	return uint64(f.now().UnixMicro())
}
