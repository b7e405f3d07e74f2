package standardizer

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/answer"
	"github.com/toolstream/toolstream/services/standardizer/grounding"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
)

// ask asks the model about a document, and once more where the answer cannot
// be taken.
func (f *filler) ask(ctx context.Context, s *subject) (verdict, error) {
	v, err := f.try(ctx, s, prompts.System(), s.question.User())
	if err != nil || v.Fallback == "" || len(v.Violations) == 0 {
		return v, err
	}
	second, err := f.try(ctx, s, prompts.RepairSystem(), s.question.RepairUser(v.Violations))
	if err != nil {
		return second, err
	}
	second.Repaired = true
	if second.Refused == "" && second.Fallback != "" {
		second.Refused = v.Refused
	}
	if len(second.Violations) == 0 && second.Fallback != "" {
		second.Violations = v.Violations
	}
	return second, nil
}

// try asks once.
func (f *filler) try(ctx context.Context, s *subject, system, user string) (verdict, error) {
	typed := s.question.Typed()
	got, err := f.model.Complete(ctx, llm.Request{
		Stage: llm.StageStandardize, Tenant: s.tenant, System: system, User: user,
		Schema:    llm.Schema{Name: schemaName(typed), JSON: answer.Schema(typed)},
		MaxTokens: prompts.MaxAnswer(len(s.question.Document.Parameters)),
	})
	if ctx.Err() != nil {
		return verdict{}, ctx.Err()
	}
	if err != nil {
		return failed(err)
	}
	return f.judge(s, got.JSON), nil
}

// judge checks an answer.
func (f *filler) judge(s *subject, raw json.RawMessage) verdict {
	a, err := answer.Decode(raw, s.question.Typed())
	if err != nil {
		return verdict{Fallback: schema.FallbackMalformed, Violations: malformed(err), Refused: kept(string(raw))}
	}
	if found := grounding.Check(a, s.source); len(found) > 0 {
		for _, v := range found {
			f.metrics.violations.WithLabelValues(string(v.Rule)).Inc()
		}
		return verdict{Fallback: schema.FallbackUngrounded, Violations: findings(found), Refused: kept(string(raw))}
	}
	return verdict{Answer: raw, answer: a}
}

// failed returns the verdict where there is no answer to judge, or err where one may
// come later. A verdict that has violations is worth a second attempt.
func failed(err error) (verdict, error) {
	var e *llm.Error
	if errors.As(err, &e) {
		switch e.Kind {
		case llm.Rejected, llm.Refused:
			return verdict{Fallback: schema.FallbackDeclined, Refused: kept(e.Text)}, nil
		case llm.Malformed:
			return verdict{Fallback: schema.FallbackMalformed, Violations: malformed(err), Refused: kept(e.Text)}, nil
		}
	}
	return verdict{}, err
}

// kept bounds an answer that is kept to be looked at.
func kept(s string) string {
	return text.Truncate(strings.ToValidUTF8(s, "\uFFFD"), schema.MaxRefused)
}

func schemaName(typed bool) string {
	if typed {
		return "tool_with_types"
	}
	return "tool"
}
