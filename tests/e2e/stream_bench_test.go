package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// listeners is how many listen beside the searches.
const listeners = 200

// BenchmarkSearchBesideStreams searches 5,000 tools, of which some change all the time, in
// turns with and without 200 callers that listen to what changes, and reports the times of
// both and how the medians and the 99th percentiles compare.
func BenchmarkSearchBesideStreams(b *testing.B) {
	d := process.Up(b, process.Binary())
	c := d.Front().Client
	put := func(i, n int) {
		body := map[string]any{"name": fmt.Sprintf("forecast %d", i), "description": fmt.Sprintf("Gives the weather forecast number %d of the city number %d.", n, i)}
		if err := c.Put(b.Context(), fmt.Sprintf("/v1/tools/forecast%%2F%d?provider=weather", i), body, nil); err != nil && b.Context().Err() == nil {
			b.Error(err)
		}
	}
	for i := range 5000 {
		put(i, 0)
	}
	indexed := func() (bool, error) {
		var s struct{ Tools int }
		err := c.Get(b.Context(), "/v1/status", nil, &s)
		return s.Tools == 5000, err
	}
	check.OK(b, process.Until(b.Context(), indexed))
	writing, stop := context.WithCancel(b.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 1; writing.Err() == nil; n++ {
			put(n%5000, n)
			select {
			case <-writing.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	var times [2][]time.Duration
	events := 0
	for round := 0; b.Loop(); round++ {
		listening := round%2 == 1
		var leave func() int
		if listening {
			leave = listenAll(b, &c)
		}
		for i := range 200 {
			begin := time.Now()
			check.Value(c.Search(b.Context(), schema.SearchRequest{Query: fmt.Sprintf("weather of city number %d", i), K: 10}))(b)
			times[round%2] = append(times[round%2], time.Since(begin))
			select {
			case <-b.Context().Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
		if listening {
			events += leave()
		}
	}
	stop()
	writer.Wait()
	at := func(t []time.Duration, share int) float64 {
		slices.Sort(t)
		return float64(t[len(t)*share/100].Microseconds()) / 1000
	}
	for _, share := range []int{50, 99} {
		alone, beside := at(times[0], share), at(times[1], share)
		b.ReportMetric(alone, fmt.Sprintf("ms-alone-p%d", share))
		b.ReportMetric(beside, fmt.Sprintf("ms-beside-p%d", share))
	}
	b.ReportMetric(float64(events), "events")
}

// listenAll opens streams, waits until each has told something, and returns what ends them
// and counts the events that they have told.
func listenAll(b *testing.B, c *client.Client) (leave func() int) {
	ctx, cancel := context.WithCancel(b.Context())
	counts, begun := make([]int, listeners), make(chan struct{}, listeners)
	var all sync.WaitGroup
	for i := range listeners {
		all.Go(func() {
			err := c.Watch(ctx, func(client.Event) error {
				if counts[i]++; counts[i] == 1 {
					begun <- struct{}{}
				}
				return nil
			})
			if ctx.Err() == nil {
				b.Error(err)
			}
		})
	}
	for range listeners {
		<-begun
	}
	return func() int {
		cancel()
		all.Wait()
		sum := 0
		for _, n := range counts {
			sum += n
		}
		return sum
	}
}
