package audit

import "time"

// Whoever reaches the server can have it refuse requests, as many as it likes. If each was a
// record, they would push all others out of the log. So refusals of unknown callers that are
// alike are one record a minute, with their number.

const (
	refusalWindow = time.Minute
	maxRefusals   = 256 // kinds of refusals that are told apart
)

// refusal is what refusals have in common that are counted together.
type refusal struct{ action, reason, address string }

// refused is how many there are to be written.
type refused struct {
	event Event
	count int
	until time.Time // when the next record may be written; zero: none was
}

// Refuse has it recorded that a request was refused of which nobody knows who sent it. It
// never blocks, and forgets none unless the process ends within a minute by itself.
func (l *Log) Refuse(e Event) {
	e.time, e.Decision = time.Now().UTC(), Denied
	kind := refusal{e.Action, e.Reason, e.Address}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals[kind] == nil && len(l.refusals) >= maxRefusals {
		kind = refusal{}
		e.Action, e.Reason, e.Address, e.Path, e.Trace = "several", "refused, as many others at the time", "", "", ""
	}
	r := l.refusals[kind]
	if r == nil {
		r = &refused{}
		l.refusals[kind] = r
		l.signal()
	}
	if r.count++; r.count == 1 {
		r.event = e
	}
}

// due returns the refusals whose time has come, or all. The caller holds mu.
func (l *Log) due(now time.Time, all bool) (out []Event) {
	for kind, r := range l.refusals {
		switch {
		case !all && now.Before(r.until):
		case r.count == 0:
			delete(l.refusals, kind)
		default:
			e := r.event
			if r.count > 1 {
				e.count = r.count
			}
			out = append(out, e)
			r.count, r.until = 0, now.Add(refusalWindow)
		}
	}
	return out
}
