package calls

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Calls that this server has not made say nothing of a source: neither that it answers nor
// that it does not.
func TestCallsThatAreNotMadeDoNotConcernTheBreaker(t *testing.T) {
	b := newBreaker("default/shop", time.Hour, slog.New(slog.DiscardHandler))
	end := func(err error) { _, _ = b.try(func() (schema.CallResult, error) { return schema.CallResult{}, err }) }
	for range failuresInRow - 1 {
		end(unanswered("down"))
	}
	for range failuresInRow {
		end(refused(http.StatusForbidden, "no"))
		end(&Error{Outcome: schema.CallInvalidArguments, Status: http.StatusUnprocessableEntity})
	}
	if b.open() {
		t.Error("refused calls have opened it")
	}
	if end(unanswered("down")); !b.open() {
		t.Error("calls that were not made count as answers")
	}
}

func TestAFullPoolIsNoFaultOfTheSource(t *testing.T) {
	p := &pool{now: time.Now, entries: map[connKey]*entry{}}
	for i := range maxConnections {
		p.entries[connKey{source: string(rune(i))}] = &entry{users: 1}
	}
	var e *Error
	if _, _, err := p.take(t.Context(), connKey{source: "new"}, source.Spec{}, false, ""); !errors.As(err, &e) || e.Outcome != schema.CallRefused || e.Status != http.StatusServiceUnavailable || e.RetryAfter <= 0 {
		t.Errorf("%+v", err)
	}
}
