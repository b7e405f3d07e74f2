package httpserver

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// AuditLog records the actions of callers.
type AuditLog interface {
	// Admit returns an error as long as nothing can be written.
	Admit() error
	// Write returns nil once a record is durable.
	Write(ctx context.Context, e audit.Event) error
	// Sample queues a record, unless too many wait.
	Sample(e audit.Event)
	// Refuse counts a refusal of an unknown caller.
	Refuse(e audit.Event)
}

// audited collects the facts of a request for its record.
type audited struct {
	log    AuditLog
	notes  *audit.Notes
	ctx    context.Context
	cancel context.CancelFunc
	share  float64 // of reads that are recorded

	mu        sync.Mutex
	operation *huma.Operation  // nil: no operation of this process was reached
	caller    *identity.Caller // nil: not known
	route     string           // method and pattern
	path      string           // as it was sent
	address   string
	reason    string // of a refusal
	refused   bool   // a credential is, whatever is answered
	passed    bool   // this process did nothing: another process records the request, or the log cannot be written
}

type auditedKey struct{}

// audits returns the facts of a request, or nil if it is not recorded.
func audits(ctx context.Context) *audited {
	a, _ := ctx.Value(auditedKey{}).(*audited)
	return a
}

// maxPath bounds the path in a record, in bytes.
const maxPath = 1024

// recordRequests records requests before their answers begin: changes and denials always, a share
// of all others. If it cannot record a request, it answers 503.
func recordRequests(log AuditLog, share float64, mux *http.ServeMux, next http.Handler) http.Handler {
	if log == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		ctx, notes := audit.WithNotes(ctx)
		_, pattern := mux.Handler(r)
		a := &audited{log: log, notes: notes, cancel: cancel, share: share, route: pattern, path: r.URL.EscapedPath()}
		a.path = a.path[:min(len(a.path), maxPath)]
		if ip := clientAddress(r.Context()); ip.IsValid() {
			a.address = ip.String()
		}
		a.ctx = context.WithValue(ctx, auditedKey{}, a)
		answer := &auditWriter{ResponseWriter: w, of: a}
		next.ServeHTTP(answer, r.WithContext(a.ctx))
		answer.end()
	})
}

// note changes the facts of a request if it is recorded.
func note(ctx context.Context, change func(*audited)) {
	if a := audits(ctx); a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		change(a)
	}
}

// always reports whether an operation may not be done without a record.
func always(op *huma.Operation) bool { return !audit.IsSampled(op.Method, op.Metadata) }

// admitChanges notes the operation for the record, and refuses a change while the log cannot be
// written. A caller without the needed role is refused as such.
func admitChanges(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		a := audits(hc.Context())
		note(hc.Context(), func(a *audited) { a.operation = hc.Operation() })
		needed, has := identity.Needed(hc.Operation().Security), identity.From(hc.Context()).Role
		if a != nil && always(hc.Operation()) && (needed == "" || has.Includes(needed)) && a.log.Admit() != nil {
			note(hc.Context(), func(a *audited) { a.passed = true })
			hc.SetHeader("Retry-After", "1")
			_ = huma.WriteErr(api, hc, http.StatusServiceUnavailable, notRecorded)
			return
		}
		next(hc)
	}
}

const notRecorded = "the audit log cannot be written, and no change is made without it"

// record records the request once its status is known. It returns an error if a required record
// cannot be written.
func (a *audited) record(status int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := audit.Event{Path: a.path, Status: status, Details: a.notes.Take()}
	if span := oteltrace.SpanContextFromContext(a.ctx); span.HasTraceID() {
		e.Trace = span.TraceID().String()
	}
	refused := a.refused || status == http.StatusUnauthorized || status == http.StatusForbidden
	hidden := e.Decision == audit.Denied && !refused // the caller named something hidden from it
	if refused {
		e.Decision = audit.Denied
	}
	if e.Reason == "" {
		e.Reason = a.reason
	}
	if a.caller != nil {
		e.Caller = *a.caller
	}
	if a.operation != nil {
		e.Action = a.operation.OperationID
	}
	known := a.caller != nil || e.Tenant != "" // or the sender has proved itself otherwise
	switch {
	case a.passed:
	case e.Decision == audit.Denied && !known:
		e.Action, e.Path, e.Address = a.route, "", a.address
		a.log.Refuse(e)
	case hidden && !always(a.operation):
		a.log.Sample(e) // without waiting, as for a missing entity: a delay would reveal that it exists
	case e.Decision == audit.Denied:
		e.ReadOnly = hidden
		if e.Action == "" {
			e.Action = a.route
		}
		return a.log.Write(a.ctx, e)
	case a.operation == nil || !known:
	case always(a.operation):
		e.ReadOnly = e.ReadOnly || status >= http.StatusBadRequest && status < http.StatusInternalServerError
		return a.log.Write(a.ctx, e)
	case a.operation.Method != http.MethodOptions && rand.Float64() < a.share:
		a.log.Sample(e)
	}
	return nil
}

// auditWriter records a request before its answer begins, and later findings before the answer
// goes on.
type auditWriter struct {
	http.ResponseWriter
	of    *audited
	begun bool
	lost  error // if set, the answer is cut off, and the handler is to end
	cut   bool  // a part of the answer was sent before
}

// WriteHeader implements http.ResponseWriter.
func (w *auditWriter) WriteHeader(code int) {
	if code < http.StatusOK || w.begun {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	w.begun = true
	if w.lost = w.of.record(code); w.lost == nil {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	w.of.cancel()
	h := w.ResponseWriter.Header()
	h.Del("Content-Length")
	h.Del("Content-Encoding")
	WriteProblem(w.ResponseWriter, http.StatusServiceUnavailable, lostRecord)
}

const lostRecord = "what was asked for may have been done, and cannot be recorded in the audit log"

var errLost = errors.New(lostRecord)

// Write implements http.ResponseWriter.
func (w *auditWriter) Write(p []byte) (int, error) {
	if err := w.next(); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController.
func (w *auditWriter) FlushError() error {
	if err := w.next(); err != nil {
		return err
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// next makes sure that all is recorded that the answer will tell of.
func (w *auditWriter) next() error {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	} else if w.lost == nil && w.of.notes.More() {
		if w.lost = w.of.record(http.StatusOK); w.lost != nil {
			w.cut = true
			w.of.cancel()
		}
	}
	if w.lost != nil {
		return errLost
	}
	return nil
}

// end records a request whose handler answered nothing, and cuts an answer off that began
// and whose end cannot be recorded.
func (w *auditWriter) end() {
	if w.next() != nil && w.cut {
		panic(http.ErrAbortHandler)
	}
}

// Unwrap is for http.ResponseController.
func (w *auditWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
