package flat

import (
	"github.com/toolstream/toolstream/internal/bus/segmentlog"
)

// records is the log of an index with the place of its newest state record. It belongs to the
// writer.
type records struct {
	log     *segmentlog.Log
	state   segmentlog.Place
	tenants *tenants
}

// setState replaces the newest state record.
func (r *records) setState(p segmentlog.Place) {
	if r.state != (segmentlog.Place{}) {
		r.state.Discard()
	}
	r.state = p
}

// isCurrent reports whether to keep a record of the log. The tombstone of a forgotten entity is
// kept as long as an older record of it may be left.
func (r *records) isCurrent(p segmentlog.Place, b []byte, oldest bool) bool {
	if b[0] == typeState {
		return p == r.state
	}
	var m meta
	if _, err := decodeMeta(b, &m); err != nil {
		return true
	}
	if e := r.tenants.entity(m.Ref); e != nil {
		return *e.place.Load() == p
	}
	return m.Deleted && !oldest
}

// moved notes the new place of a record.
func (r *records) moved(b []byte, to segmentlog.Place) {
	var m meta
	if b[0] == typeState {
		r.state = to
	} else if _, err := decodeMeta(b, &m); err == nil {
		if e := r.tenants.entity(m.Ref); e != nil {
			e.place.Store(&to)
		}
	}
}
