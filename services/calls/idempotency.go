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

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Store keeps the results of calls with an idempotency key, for all replicas. Its errors are those
// of package stream.
type Store interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (newRevision uint64, err error)
	Delete(ctx context.Context, key string) error
}

// idempotency makes calls with one key once.
type idempotency struct {
	store Store
	keep  time.Duration
	now   func() time.Time
	log   *slog.Logger
	kept  *ledger
}

// keyed identifies a call that is made once.
type keyed struct {
	key  string // of the store
	args string // digest of the arguments
}

// idempotent returns the key of a call, and the digest of its arguments.
func (c *call) idempotent() keyed {
	digest := func(parts ...string) string {
		sum := sha256.New()
		for _, part := range parts {
			fmt.Fprintf(sum, "%d:%s", len(part), part)
		}
		return hex.EncodeToString(sum.Sum(nil))
	}
	whose := []string{c.caller.Subject, c.tool.ID, c.IdempotencyKey}
	if c.caller.Credential != "" {
		whose = append(whose, c.caller.Credential)
	}
	return keyed{
		key:  c.tool.Tenant + "." + digest(whose...),
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
	Expires time.Time          `json:"expires"`          // the key, which is free again then
	Ends    time.Time          `json:"ends,omitzero"`    // a call in progress, or its replica has died
	Result  *schema.CallResult `json:"result,omitempty"` // nil while the call is in progress
	Failed  *failure           `json:"failed,omitempty"` // set instead of Result
}

// failure is an Error as the store has it.
type failure struct {
	Outcome schema.CallOutcome `json:"outcome"`
	Status  int                `json:"status"`
	Detail  string             `json:"detail"`
}

// maxKept is the largest result that is kept, in bytes.
const maxKept = 512 << 10

// once makes a call, or returns the result of an earlier call with its key. A call in progress
// goes on after its caller has left, who may come back for the result.
func (r *idempotency) once(ctx context.Context, call keyed, within time.Duration, invoke func(context.Context) (schema.CallResult, error)) (schema.CallResult, error) {
	pace := backoff.WithContext(backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(10*time.Millisecond), backoff.WithMaxInterval(500*time.Millisecond), backoff.WithMaxElapsedTime(0),
	), ctx)
	for {
		revision, err := r.claim(ctx, call, within)
		if err == nil {
			return r.run(ctx, call, revision, invoke)
		}
		var earlier *settled
		if errors.As(err, &earlier) {
			return earlier.result, earlier.err
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

// settled is how a call has ended; as an error, how an earlier call with the same key has.
type settled struct {
	result schema.CallResult
	err    error
}

func (s *settled) Error() string { return "settled" }

// claim takes the key for a call, or returns a *settled if an earlier call has it.
func (r *idempotency) claim(ctx context.Context, call keyed, within time.Duration) (revision uint64, err error) {
	now := r.now()
	value, _ := json.Marshal(stored{Args: call.args, Expires: now.Add(r.keep), Ends: now.Add(within)}) // texts and times always encode
	revision, err = r.store.Create(ctx, call.key, value)
	if !errors.Is(err, stream.ErrConflict) {
		return revision, err
	}
	e, err := r.store.Get(ctx, call.key)
	if errors.Is(err, stream.ErrNotFound) {
		return 0, errUnderWay // it was deleted meanwhile: try again
	}
	if err != nil {
		return 0, err
	}
	var m stored
	if err := json.Unmarshal(e.Value, &m); err != nil {
		return 0, err
	}
	switch {
	case now.After(m.Expires):
		if revision, err = r.store.Update(ctx, call.key, value, e.Revision); errors.Is(err, stream.ErrConflict) {
			return 0, errUnderWay
		}
		return revision, err
	case m.Args != call.args:
		return 0, &settled{err: &schema.Invalid{Path: "/idempotency_key", Reason: "was used for a call with other arguments"}}
	case m.Failed != nil:
		return 0, &settled{err: &Error{Outcome: m.Failed.Outcome, Status: m.Failed.Status, Detail: m.Failed.Detail + " (of an earlier call with this idempotency key)"}}
	case m.Result != nil:
		result := *m.Result
		result.Repeated = true
		return 0, &settled{result: result}
	case now.After(m.Ends):
		return 0, &settled{err: refused(http.StatusConflict, "a call with this idempotency key started, and its outcome is unknown: check its effect, then use another key")}
	}
	return 0, errUnderWay
}

// run makes a call and saves the result. It makes the call on a goroutine of its own and recovers
// a panic, which would otherwise end the process.
func (r *idempotency) run(ctx context.Context, call keyed, revision uint64, invoke func(context.Context) (schema.CallResult, error)) (schema.CallResult, error) {
	done := make(chan settled, 1)
	memory := inflight.From(ctx).Keep()
	go func() {
		defer memory.Close()
		ctx := context.WithoutCancel(ctx)
		var end settled
		defer func() {
			if reason := recover(); reason != nil {
				r.log.ErrorContext(ctx, "calls: a call made this server panic", "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
				end.err = &Error{Outcome: schema.CallProtocolError, Status: http.StatusInternalServerError, Detail: "the call made this server fail: its log says where"}
			}
			if err := r.save(ctx, call, revision, end); err != nil {
				r.log.Warn("calls: what became of a call with an idempotency key cannot be kept", "error", err)
			}
			done <- end
		}()
		end.result, end.err = invoke(ctx)
	}()
	select {
	case end := <-done:
		return end.result, end.err
	case <-ctx.Done():
		return schema.CallResult{}, context.Cause(ctx)
	}
}

// saveWithin bounds the time to save a result.
const saveWithin = 5 * time.Second

// save stores the result of a call. A call that did not reach the tool leaves its key free.
func (r *idempotency) save(ctx context.Context, call keyed, revision uint64, end settled) error {
	ctx, cancel := context.WithTimeout(ctx, saveWithin)
	defer cancel()
	var e *Error
	m := stored{Args: call.args, Expires: r.now().Add(r.keep)}
	switch {
	case end.err == nil:
		m.Result = &end.result
	case errors.As(end.err, &e) && e.unsent:
		return r.store.Delete(ctx, call.key)
	case errors.As(end.err, &e):
		m.Failed = &failure{e.Outcome, e.Status, e.Detail}
	default:
		m.Failed = &failure{schema.CallProtocolError, http.StatusBadGateway, end.err.Error()}
	}
	value, err := jsondoc.Plain(m)
	if err != nil {
		return err
	}
	if len(value) > maxKept {
		value = m.without("is too large to be kept")
	}
	if revision, err = r.store.Update(ctx, call.key, value, revision); err != nil {
		return err
	}
	for _, old := range r.kept.add(kept{key: call.key, args: call.args, revision: revision, bytes: len(value), expires: m.Expires}, r.now()) {
		m := stored{Args: old.args, Expires: old.expires}
		value := m.without("was dropped: there were too many, or too large ones, after it")
		if _, err := r.store.Update(ctx, old.key, value, old.revision); err != nil && !errors.Is(err, stream.ErrConflict) {
			return fmt.Errorf("drop an older result: %w", err)
		}
	}
	return nil
}

// without returns a call in the store's form without its result: that it was made stays known.
func (m *stored) without(because string) []byte {
	m.Result, m.Failed = nil, &failure{schema.CallRefused, http.StatusConflict, "the call was made, and its result " + because}
	value, _ := json.Marshal(m) // texts and times always encode
	return value
}
