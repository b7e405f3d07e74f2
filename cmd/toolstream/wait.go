package main

import (
	"context"
	"time"
)

const (
	waitChunk = 1000 // changes asked about in one call
	waitPause = 50 * time.Millisecond
)

// wait asks what became of the changes, oldest first, until every one
// is indexed or dead.
func (i *importer) wait(ctx context.Context) error {
	indexed, dead := 0, 0
	pending := i.newest()
	bar := newProgress(i.con, "indexing", int64(len(pending)), false)
	defer bar.finish()
	for len(pending) > 0 {
		part := pending[:min(waitChunk, len(pending))]
		var answer struct{ States []struct{ State string } }
		if err := i.con.client().Post(ctx, "/v1/tools:states", map[string]any{"changes": part}, &answer); err != nil {
			return err
		}
		var left []change
		for n, s := range answer.States {
			switch s.State {
			case "indexed":
				indexed++
			case "dead_lettered":
				dead++
			default:
				left = append(left, part[n])
			}
		}
		bar.add(len(part) - len(left))
		pending = append(left, pending[len(part):]...)
		if len(left) == 0 {
			continue
		}
		select {
		case <-time.After(waitPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	i.summary.Indexed, i.summary.DeadLettered = &indexed, &dead
	return nil
}
