package calls

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

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
