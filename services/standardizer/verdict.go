package standardizer

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/grounding"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
)

// verdict is the outcome of the questions about a document. A final verdict is kept.
type verdict struct {
	Said       []string        `json:"said,omitempty"`       // the answers as they came
	Open       bool            `json:"open,omitempty"`       // a second question is to follow
	Fallback   schema.Fallback `json:"fallback,omitempty"`   // why nothing in the answers can be used
	Violations []string        `json:"violations,omitempty"` // errors of the unusable parts
	Refused    string          `json:"refused,omitempty"`    // the last answer with an unusable part

	answer *prompts.Answer // the usable parts
	again  prompts.Shape   // the unusable parts that are worth a second question
}

// kept returns the verdict in the cache. Without one, or if the store keeps it waiting, the
// document is pending.
func (f *filler) kept(ctx context.Context, s *subject) (verdict, error) {
	pending := verdict{Fallback: schema.FallbackPending}
	// Only callers that need the store try it after a failure.
	if f.answers.store.Fails() && time.Since(time.Unix(0, f.answers.failed.Load())) < restTime {
		return pending, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if v, ok, _ := f.recall(ctx, s); ok { // the cache has logged the error
		return v, nil
	}
	return pending, nil
}

// answer asks the model one question about the document of a raw record, unless its answer
// is kept or none is needed. It reports whether another question is to follow.
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

// decide returns the verdict on a document: the kept one, or by asking, once for several
// documents with the same text. It asks one question and keeps the answer, so that the
// verdict may still be open. The error comes from the model, the store or ctx.
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
			f.metrics.verdicts.WithLabelValues(outcome(v.Fallback, len(v.Said) > 1)).Inc()
		}
		return v, f.answers.put(ctx, s.key, v)
	})
	return shared.(verdict), err
}

// recall returns a kept verdict, and whether it is final. It judges the answers again: the
// checks may have changed since.
func (f *filler) recall(ctx context.Context, s *subject) (verdict, bool, error) {
	v, ok, err := f.answers.get(ctx, s.key)
	if ok && len(v.Said) > 0 {
		open := v.Open
		v, _ = judge(s, v.Said)
		v.Open = open && !v.again.Empty()
	}
	return v, ok && !v.Open, err
}

// ask asks the model one question: about all of a document or, if the verdict so far is
// open, about the unusable parts of the first answer.
func (f *filler) ask(ctx context.Context, s *subject, v verdict) (verdict, error) {
	if !v.Open {
		v, err := f.try(ctx, s, verdict{}, s.question.Shape(), s.question.User())
		v.Open = !v.again.Empty()
		return v, err
	}
	v.Open = false
	second, err := f.try(ctx, s, v, v.again, s.question.RepairUser(v.Violations))
	switch {
	case ctx.Err() != nil:
		return second, err
	case v.Fallback == "" && (err != nil || second.Fallback != ""):
		return v, nil // the first answer is paid for and partly usable
	}
	return second, err
}

// try adds one question and its answer to the verdict before.
func (f *filler) try(ctx context.Context, s *subject, before verdict, shape prompts.Shape, user string) (verdict, error) {
	got, err := f.model.Complete(ctx, llm.Request{
		Stage: llm.StageStandardize, Tenant: s.tenant, System: prompts.System(), User: user,
		Schema:    llm.Schema{Name: "tool", JSON: shape.Schema()},
		MaxTokens: prompts.MaxAnswer(shape),
	})
	if ctx.Err() != nil {
		return verdict{}, ctx.Err()
	}
	said := string(got.JSON)
	var e *llm.Error
	switch {
	case errors.As(err, &e) && (e.Kind == llm.Rejected || e.Kind == llm.Refused):
		return verdict{Fallback: schema.FallbackDeclined, Refused: boundedAnswer(e.Text)}, nil
	case errors.As(err, &e) && e.Kind == llm.Malformed:
		said = e.Text
	case err != nil:
		return verdict{}, err // an answer may come later
	}
	v, found := judge(s, append(before.Said[:len(before.Said):len(before.Said)], said))
	for _, violation := range found {
		f.metrics.violations.WithLabelValues(string(violation.Rule)).Inc()
	}
	return v, nil
}

// judge returns the usable parts of the answers, and the violations of the last one. The
// second answer corrects the violations of the first.
func judge(s *subject, said []string) (verdict, []grounding.Violation) {
	v := verdict{Said: said, answer: &prompts.Answer{}, again: s.question.Shape(), Fallback: schema.FallbackMalformed}
	source := grounding.NewSource(s.vectors, s.question.Language == english, s.question.Raw, s.question.Stated, s.question.Document)
	var found []grounding.Violation
	for _, one := range said {
		a, problems, err := s.question.Shape().Decode([]byte(one))
		if err != nil {
			found = []grounding.Violation{{Rule: grounding.RuleShape, Where: "answer", What: err.Error()}}
			v.refuse(found, one)
			continue
		}
		v.answer.Complete(a)
		v.answer, found = grounding.Accept(v.answer, source)
		for _, p := range problems {
			found = append(found, grounding.Violation{Rule: grounding.RuleShape, Where: p.Where, What: p.What})
		}
		open := v.again.Again(v.refuse(found, one), v.answer)
		if v.again = open; open.Empty() && len(found) == 0 {
			v.Violations, v.Refused = nil, ""
		}
		if v.Fallback = ""; v.answer.Empty() {
			v.Fallback = schema.FallbackUngrounded
		}
	}
	return v, found
}

// refuse adds the violations of an answer, and returns their places.
func (v *verdict) refuse(found []grounding.Violation, said string) (where []string) {
	for _, violation := range found {
		where = append(where, violation.Where)
		if len(v.Violations) < schema.MaxViolations {
			v.Violations = append(v.Violations, text.Truncate(violation.String(), schema.MaxViolation))
		}
	}
	if len(found) > 0 {
		v.Refused = boundedAnswer(said)
	}
	return where
}

// boundedAnswer bounds an answer that is kept for inspection.
func boundedAnswer(s string) string {
	return text.Truncate(strings.ToValidUTF8(s, "\uFFFD"), schema.MaxRefused)
}
