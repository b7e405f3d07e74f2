package standardizer

import (
	"context"
	"errors"
	"strings"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/answer"
	"github.com/toolstream/toolstream/services/standardizer/grounding"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
)

// ask asks the model one question about a document: about all of it or, where the verdict
// so far is open, about the parts of the first answer that cannot be taken.
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
		return v, nil // it is paid for, and something of it can be taken
	}
	return second, err
}

// try asks once more than before.
func (f *filler) try(ctx context.Context, s *subject, before verdict, shape answer.Shape, user string) (verdict, error) {
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
		return verdict{Fallback: schema.FallbackDeclined, Refused: kept(e.Text)}, nil
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

// judge returns what can be taken of answers, the second of which was given to
// what was wrong with the first, and what is wrong with the last one.
func judge(s *subject, said []string) (verdict, []grounding.Violation) {
	v := verdict{Said: said, answer: &answer.Answer{}, again: s.question.Shape(), Fallback: schema.FallbackMalformed}
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

// refuse notes what is wrong with an answer, and returns where.
func (v *verdict) refuse(found []grounding.Violation, said string) (where []string) {
	for _, violation := range found {
		where = append(where, violation.Where)
		if len(v.Violations) < schema.MaxViolations {
			v.Violations = append(v.Violations, text.Truncate(violation.String(), schema.MaxViolation))
		}
	}
	if len(found) > 0 {
		v.Refused = kept(said)
	}
	return where
}

// kept bounds an answer that is kept to be looked at.
func kept(s string) string {
	return text.Truncate(strings.ToValidUTF8(s, "\uFFFD"), schema.MaxRefused)
}
