package audit

import "time"

// Anyone who reaches the server can cause any number of refusals. Recording each of them would
// push all other records out of the log, so identical refusals of unknown callers share one record
// a minute, with a count.

const (
	refusalWindow = time.Minute
	maxRefusals   = 256 // distinct kinds of refusals
)

// refusal is the key of the refusals that are counted together.
type refusal struct{ action, reason, address string }

// refused counts the refusals still to be written.
type refused struct {
	event Event
	count int
	until time.Time // when the next record may be written; zero: no record was written
}

// Refuse queues a record of a refused request from an unknown caller. It never blocks, and loses
// no refusal unless the process crashes within a minute.
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
