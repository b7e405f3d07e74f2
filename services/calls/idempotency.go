package calls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Store keeps what became of calls with an idempotency key, for all replicas. Errors are
// those of package stream.
type Store interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (newRevision uint64, err error)
	Delete(ctx context.Context, key string) error
}

// idempotency makes calls with the same key once.
type idempotency struct {
	store Store
	keep  time.Duration
	now   func() time.Time
	log   *slog.Logger
}

// keyed names a call that is to run once.
type keyed struct {
	key  string // of the store
	args string // digest of the arguments
}

// idempotent returns what the call is known by.
func (c *call) idempotent() keyed {
	digest := func(parts ...string) string {
		sum := sha256.New()
		for _, part := range parts {
			fmt.Fprintf(sum, "%d:%s", len(part), part)
		}
		return hex.EncodeToString(sum.Sum(nil))
	}
	return keyed{
		key:  c.tool.Tenant + "." + digest(c.caller.Subject, c.tool.ID, c.IdempotencyKey),
		args: digest(string(c.Arguments), string(c.InputResponses), c.RequestState),
	}
}

// TenantOfKey returns the tenant of a key of the store.
func TenantOfKey(key string) (tenant string, known bool) {
	tenant, _, known = strings.Cut(key, ".")
	return tenant, known
}

// stored is a call as the store has it.
type stored struct {
	Args    string             `json:"args"`
	Expires time.Time          `json:"expires"`          // then the key is free again
	Ends    time.Time          `json:"ends,omitzero"`    // of a call under way: then it has ended, or whoever made it has
	Result  *schema.CallResult `json:"result,omitempty"` // once it is there
	Failed  *failure           `json:"failed,omitempty"` // in its place
}

// failure is an Error as the store has it.
type failure struct {
	Outcome schema.CallOutcome `json:"outcome"`
	Status  int                `json:"status"`
	Detail  string             `json:"detail"`
}

// maxKept is the largest result that is kept, in bytes.
const maxKept = 512 << 10

// once runs a call, or returns what an earlier one with its key came to. A call that runs
// goes on when the caller leaves: it may come again for the result.
func (r *idempotency) once(ctx context.Context, of keyed, within time.Duration, run func(context.Context) (schema.CallResult, error)) (schema.CallResult, error) {
	pace := backoff.WithContext(backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(10*time.Millisecond), backoff.WithMaxInterval(500*time.Millisecond), backoff.WithMaxElapsedTime(0),
	), ctx)
	for {
		revision, err := r.begin(ctx, of, within)
		if err == nil {
			return r.run(ctx, of, revision, run)
		}
		var known *settled
		if errors.As(err, &known) {
			return known.result, known.err
		}
		if !errors.Is(err, errUnderWay) {
			r.log.Warn("calls: the store of idempotency keys does not answer", "error", err)
			return schema.CallResult{}, busy(http.StatusServiceUnavailable, 0, "what became of calls with idempotency keys is not known now")
		}
		timer := time.NewTimer(max(pace.NextBackOff(), time.Millisecond))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return schema.CallResult{}, context.Cause(ctx)
		}
	}
}

var errUnderWay = errors.New("the call is under way")

// settled is the error of a call that is not to be run.
type settled struct {
	result schema.CallResult
	err    error
}

func (s *settled) Error() string { return "settled" }

// begin takes the key, or says why not.
func (r *idempotency) begin(ctx context.Context, of keyed, within time.Duration) (revision uint64, err error) {
	now := r.now()
	value, _ := json.Marshal(stored{Args: of.args, Expires: now.Add(r.keep), Ends: now.Add(within)}) // texts and times always encode
	revision, err = r.store.Create(ctx, of.key, value)
	if !errors.Is(err, stream.ErrConflict) {
		return revision, err
	}
	e, err := r.store.Get(ctx, of.key)
	if errors.Is(err, stream.ErrNotFound) {
		return 0, errUnderWay // no longer: try anew
	}
	if err != nil {
		return 0, err
	}
	var m stored
	if err := json.Unmarshal(e.Value, &m); err != nil {
		return 0, err
	}
	if now.After(m.Expires) {
		if revision, err = r.store.Update(ctx, of.key, value, e.Revision); errors.Is(err, stream.ErrConflict) {
			return 0, errUnderWay
		}
		return revision, err
	}
	return 0, m.settled(of, now)
}

// settled returns what a call came to.
func (m *stored) settled(of keyed, now time.Time) error {
	switch {
	case m.Args != of.args:
		return &settled{err: &schema.Invalid{Path: "/idempotency_key", Reason: "was used for a call with other arguments"}}
	case m.Failed != nil:
		return &settled{err: &Error{Outcome: m.Failed.Outcome, Status: m.Failed.Status, Detail: m.Failed.Detail + " (of an earlier call with this idempotency key)"}}
	case m.Result != nil:
		result := *m.Result
		result.Repeated = true
		return &settled{result: result}
	case now.After(m.Ends):
		return &settled{err: refused(http.StatusConflict, "a call with this idempotency key was begun, and it is not known what became of it: look at what it was to change, and use another key")}
	}
	return errUnderWay
}

// run runs a call and keeps what it comes to. One that has not come as far as the tool leaves
// its key free.
func (r *idempotency) run(ctx context.Context, of keyed, revision uint64, run func(context.Context) (schema.CallResult, error)) (schema.CallResult, error) {
	type end struct {
		result schema.CallResult
		err    error
	}
	done := make(chan end, 1)
	go func() {
		ctx := context.WithoutCancel(ctx)
		result, err := r.guarded(ctx, run)
		if keepErr := r.settle(ctx, of, revision, result, err); keepErr != nil {
			r.log.Warn("calls: what became of a call with an idempotency key cannot be kept", "error", keepErr)
		}
		done <- end{result, err}
	}()
	select {
	case e := <-done:
		return e.result, e.err
	case <-ctx.Done():
		return schema.CallResult{}, context.Cause(ctx)
	}
}

// guarded runs a call on a goroutine of its own, where a panic would end the process.
func (r *idempotency) guarded(ctx context.Context, run func(context.Context) (schema.CallResult, error)) (result schema.CallResult, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			r.log.ErrorContext(ctx, "calls: a call made this server panic", "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
			err = &Error{Outcome: schema.CallProtocolError, Status: http.StatusInternalServerError, Detail: "the call made this server fail: its log says where"}
		}
	}()
	return run(ctx)
}

// settleWithin bounds the writing of what a call came to.
const settleWithin = 5 * time.Second

func (r *idempotency) settle(ctx context.Context, of keyed, revision uint64, result schema.CallResult, err error) error {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	var known *Error
	m := stored{Args: of.args, Expires: r.now().Add(r.keep)}
	switch {
	case err == nil:
		m.Result = &result
	case errors.As(err, &known) && known.unsent:
		return r.store.Delete(ctx, of.key)
	case errors.As(err, &known):
		m.Failed = &failure{known.Outcome, known.Status, known.Detail}
	default:
		m.Failed = &failure{schema.CallProtocolError, http.StatusBadGateway, err.Error()}
	}
	value, encodeErr := json.Marshal(m)
	if encodeErr != nil {
		return encodeErr
	}
	if len(value) > maxKept {
		m.Result, m.Failed = nil, &failure{schema.CallRefused, http.StatusConflict, "the call was made, and its result is too large to be kept"}
		value, _ = json.Marshal(m) // texts and times always encode
	}
	_, err = r.store.Update(ctx, of.key, value, revision)
	return err
}
