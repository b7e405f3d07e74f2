package flat

import (
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// maxExpired bounds what one Expire forgets.
const maxExpired = 1000

// grave is a tombstone that has to be dropped one day.
type grave struct {
	ref      schema.Ref
	version  schema.Version
	accepted time.Time
}

// bury adds a tombstone where it belongs by its time: nearly always at the end, but the
// clock of who accepted it may have been ahead.
func (i *Index) bury(g grave) {
	at := len(i.graves)
	for at > 0 && i.graves[at-1].accepted.After(g.accepted) {
		at--
	}
	i.graves = slices.Insert(i.graves, at, g)
}

// expire adds the tombstones whose grace time is over, oldest first, to the
// transaction. One whose entity has changed since is no tombstone any more.
func (i *Index) expire(tx *transaction) {
	limit := i.config.Now().Add(-i.config.Grace)
	n := 0
	for ; n < len(i.graves) && n < maxExpired && i.graves[n].accepted.Before(limit); n++ {
		g := i.graves[n]
		if e := i.entry(g.ref); e != nil && e.slot == noSlot && e.version == g.version {
			tx.expired = append(tx.expired, g.ref)
		}
	}
	tx.buried = n
}
