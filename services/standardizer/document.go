package standardizer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/toolstream/toolstream/internal/boilerplate"
	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/internal/topic"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/answer"
	"github.com/toolstream/toolstream/services/standardizer/injection"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// english is the one language that answers can be asked for in.
const english = "en"

// Model answers questions about documents; retries, limits and budgets are
// behind it. Its error is an *llm.Error, or that of ctx.
type Model interface {
	// Name identifies the model and everything its answers depend on but the
	// prompt.
	Name() string
	Complete(ctx context.Context, r llm.Request) (llm.Answer, error)
}

// wanted is the origin of documents that are made now.
type wanted struct {
	Prompt   string
	Model    string
	Language string
}

// debt is how much a document lacks of what would be made of it now.
type debt int

const (
	none   debt = iota
	better      // a later prompt, another model or language
	filled      // the model was never asked about it, or may be now
	held        // it is to be in quarantine, which takes no call
)

// owes returns what a document of a tool lacks that is to be in quarantine, or not.
func (w wanted) owes(hold bool, o *schema.Origin) debt {
	isHeld := o != nil && o.Fallback == schema.FallbackQuarantined
	switch {
	case hold && !isHeld:
		return held
	case o == nil || o.Fallback == schema.FallbackPending || isHeld && !hold:
		return filled
	case o.Prompt != w.Prompt || o.Model != w.Model || o.Language != w.Language:
		return better
	}
	return none
}

// String names the origin in a header.
func (w wanted) String() string { return w.Prompt + " " + w.Model }

// filler fills the fields of documents by a language model, checks what it
// says, and falls back on what the rules made.
type filler struct {
	model   Model
	vectors topic.Vectors
	wanted  wanted
	policy  policy
	answers *answerCache
	flights singleflight.Group // of questions that are being asked
	now     func() time.Time
	log     *slog.Logger
	metrics *metrics
}

func newFiller(c Config, d Deps) (*filler, error) {
	m := newMetrics(d.Registerer)
	f := &filler{model: d.Model, vectors: d.Vectors, now: d.Now, log: d.Logger, metrics: m, wanted: wanted{Language: c.Language}}
	if f.now == nil {
		f.now = time.Now
	}
	var err error
	if f.policy, err = newPolicy(c.Quarantine, c.Exempt); err != nil {
		return nil, err
	}
	if d.Model != nil {
		f.wanted.Prompt, f.wanted.Model = prompts.Version(), text.Truncate(d.Model.Name(), schema.MaxModel)
		f.answers, err = newAnswerCache(d.Answers, m, d.Logger)
	}
	return f, err
}

// document gives a change its document: by rules, and by the verdict of decide where
// there is a model. The error is a permanent one where there can be no document, or
// that of decide.
func (f *filler) document(ctx context.Context, c *events.Change, decide func(context.Context, *subject) (verdict, error)) error {
	doc, err := f.byRules(c)
	if err != nil {
		return err
	}
	if s := f.subject(c, &doc); s != nil {
		v := verdict{Fallback: schema.FallbackQuarantined}
		if !doc.Quarantined {
			if v, err = decide(ctx, s); err != nil {
				return err
			}
		}
		doc = f.complete(s, v)
	}
	c.Document = &doc
	return nil
}

// byRules returns the document that rules make of a change.
func (f *filler) byRules(c *events.Change) (schema.Document, error) {
	doc, err := rules.Standardize(c.Format, c.ID, c.Raw)
	switch {
	case errors.Is(err, rules.ErrFormat):
		return doc, stream.Permanent(ReasonUnknownFormat, err)
	case err != nil:
		if unread := (*jsondoc.Error)(nil); errors.As(err, &unread) {
			err = &schema.Invalid{Path: "/raw" + unread.Path, Reason: unread.Text()}
		}
		return doc, stream.Permanent(ReasonBadDocument, err)
	}
	leaveOut(&doc, c.Boilerplate)
	from := source{c.Ref, c.Provider, c.Hash, c.Released, c.Held}
	doc.Flags = f.policy.flags(from, doc.Flags)
	doc.Quarantined = f.policy.holds(from, doc.Flags)
	return doc, nil
}

// leaveOut takes the sentences that are boilerplate out of the description and the response
// of a document. A description that has no others keeps its first: it may say what many
// tools do alike, each to something else.
func leaveOut(d *schema.Document, sentences []string) {
	if len(sentences) == 0 {
		return
	}
	folded := provenance.FoldedSet(sentences)
	rest, gone := boilerplate.Without(d.Description, folded)
	if rest == "" && len(gone) > 0 {
		rest, gone = gone[0], gone[1:]
	}
	d.Description, d.Boilerplate = rest, gone
	rest, gone = boilerplate.Without(d.Response, folded)
	d.Response, d.Boilerplate = rest, append(d.Boilerplate, gone...)
	if len(d.Boilerplate) > 0 {
		d.Flags = append(slices.Clone(d.Flags), FlagBoilerplate)
	}
}

// answer has the model asked one question about the document of a raw record, unless its
// answer is kept or none is wanted. It returns whether another question is to follow.
func (f *filler) answer(ctx context.Context, m stream.Message) (open bool, err error) {
	c, err := decode(m)
	if err != nil {
		return false, err
	}
	doc, err := f.byRules(&c)
	if err != nil {
		return false, err
	}
	s := f.subject(&c, &doc)
	if s == nil || doc.Quarantined {
		return false, nil
	}
	v, err := f.decide(ctx, s)
	return v.Open, err
}

// subject is a document on its way through the model.
type subject struct {
	tenant   string
	key      string
	question prompts.Question
	vectors  topic.Vectors
}

// subject returns nil where the model has nothing to say.
func (f *filler) subject(c *events.Change, byRules *schema.Document) *subject {
	if f.model == nil || c.Kind != schema.KindTool {
		return nil
	}
	stated := rules.StatedBy(c.Format, c.Raw, byRules)
	if slices.Contains(byRules.Flags, injection.Flag) {
		stated.Names = true // a parameter that such a text speaks of may be one that it wants to have
	}
	return &subject{
		tenant:   c.Tenant,
		key:      c.Tenant + "." + answerKey(f.wanted, c.Format, byRules.Name, c.Raw),
		vectors:  f.vectors,
		question: prompts.Question{Raw: c.Raw, Format: c.Format, Document: byRules, Stated: stated, Language: f.wanted.Language},
	}
}

// verdict is what became of a question. What will not change is kept.
type verdict struct {
	Said       []string        `json:"said,omitempty"`       // the answers, as they came
	Open       bool            `json:"open,omitempty"`       // a second question is to follow
	Fallback   schema.Fallback `json:"fallback,omitempty"`   // why nothing can be taken of them
	Violations []string        `json:"violations,omitempty"` // what is wrong with what cannot
	Refused    string          `json:"refused,omitempty"`    // the last answer that was not taken whole

	answer *answer.Answer // what can be taken
	again  answer.Shape   // what cannot, and is worth a second attempt
}

// known returns the verdict that is kept, or that the document waits for one.
func (f *filler) known(ctx context.Context, s *subject) (verdict, error) {
	if v, ok := f.look(ctx, s); ok {
		return v, nil
	}
	return verdict{Fallback: schema.FallbackPending}, nil
}

// look recalls a verdict unless the store keeps it waiting.
func (f *filler) look(ctx context.Context, s *subject) (verdict, bool) {
	if f.answers.rests() {
		return verdict{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	v, ok, _ := f.recall(ctx, s) // the cache has told
	return v, ok
}

// decide returns the verdict on a document: the one that is kept, or by asking, once
// where several have the same text. It asks one question and keeps the answer, so that
// the verdict may be open still. The error is that of the model, of the store, or of ctx.
func (f *filler) decide(ctx context.Context, s *subject) (verdict, error) {
	if v, ok, err := f.recall(ctx, s); ok || err != nil {
		return v, err
	}
	shared, err, _ := f.flights.Do(s.key, func() (any, error) {
		v, ok, err := f.recall(ctx, s)
		if ok || err != nil {
			return v, err // the flight before ended in between
		}
		v, err = f.ask(ctx, s, v)
		if err != nil {
			return v, err
		}
		if !v.Open {
			f.metrics.judged(v)
		}
		return v, f.answers.put(ctx, s.key, v)
	})
	return shared.(verdict), err
}

// recall returns a kept verdict, and whether it is one that will not change. Answers are
// judged again: the checks may have changed since.
func (f *filler) recall(ctx context.Context, s *subject) (verdict, bool, error) {
	v, ok, err := f.answers.get(ctx, s.key)
	if ok && len(v.Said) > 0 {
		open := v.Open
		v, _ = judge(s, v.Said)
		v.Open = open && !v.again.Empty()
	}
	return v, ok && !v.Open, err
}

// complete returns the document that a verdict makes of what the rules made.
func (f *filler) complete(s *subject, v verdict) schema.Document {
	origin := &schema.Origin{
		Prompt: f.wanted.Prompt, Model: f.wanted.Model, Language: f.wanted.Language,
		Fallback: v.Fallback, Violations: v.Violations, Refused: v.Refused,
	}
	doc := *s.question.Document
	doc.Standardized = origin
	if v.Fallback == "" {
		m := answer.Merge(doc, s.question.Stated, v.answer)
		if f.wanted.Language != "" {
			m.Document.Language = f.wanted.Language
		}
		err := m.Document.Validate()
		if err == nil {
			origin.Fields, origin.Missing, origin.Repaired = m.Fields, m.Missing, len(v.Said) > 1
			return m.Document
		}
		origin.Fallback, origin.Violations = schema.FallbackUngrounded, []string{text.Truncate(err.Error(), schema.MaxViolation)}
	}
	if origin.Fallback != schema.FallbackPending && origin.Fallback != schema.FallbackQuarantined {
		doc.Quality = schema.QualityLow
	}
	return doc
}
