package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/adapter/jetstream"
	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func (r *run) client() *client.Client {
	return &client.Client{Server: r.server.embedded.URL(), HTTP: http.DefaultClient}
}

// take imports the documents, twice: the second time they are unchanged.
func (r *run) take(ctx context.Context) error {
	if r.opt.Import != nil {
		begin := time.Now()
		if err := r.opt.Import(r.server.embedded.URL()); err != nil {
			return err
		}
		r.now, r.most = resident()
		if err := r.count(); err != nil {
			return err
		}
		r.add(Figure{Name: "given documents, until all are searchable", Value: float64(r.report.Tools) / time.Since(begin).Seconds(), Unit: "tools/s"})
		r.queries = newMaker(2).queries(r.opt.Queries)
		return nil
	}
	body := newMaker(1).tools(r.opt.Tools, 1)
	begin := time.Now()
	if err := r.batch(ctx, body); err != nil {
		return err
	}
	accepted := time.Since(begin)
	if err := r.settle(ctx); err != nil {
		return err
	}
	searchable := time.Since(begin)
	r.now, r.most = resident() // before the bare loops, which hold the tools too
	begin = time.Now()
	if err := r.batch(ctx, body); err != nil {
		return err
	}
	unchanged := time.Since(begin)
	if err := r.count(); err != nil {
		return err
	}
	bare, err := barePublish(ctx, filepath.Join(r.opt.Dir, "bare"), body)
	if err != nil {
		return err
	}
	n := float64(r.report.Tools)
	r.add(Figure{"accept over HTTP", n / accepted.Seconds(), "tools/s", n / bare.Seconds(), "publishing the same lines, nothing else", bare.Seconds() / accepted.Seconds()})
	r.add(Figure{Name: "accept, standardize, embed and index", Value: n / searchable.Seconds(), Unit: "tools/s"})
	r.add(Figure{"accept unchanged ones", n / unchanged.Seconds(), "tools/s", n / accepted.Seconds(), "accepting them the first time", accepted.Seconds() / unchanged.Seconds()})
	r.queries = newMaker(2).queries(r.opt.Queries)
	return nil
}

func (r *run) count() error {
	r.report.Tools = r.server.embedded.Stats().Tools
	if r.report.Tools == 0 {
		return errors.New("no tool was indexed")
	}
	return nil
}

// batch sends JSON Lines and reads the answers to their end.
func (r *run) batch(ctx context.Context, body []byte) error {
	answer, err := r.client().Send(ctx, http.MethodPost, "/v1/tools:batch", nil, "application/x-ndjson", bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer)
	return errors.Join(err, answer.Close())
}

const settlePause = 10 * time.Millisecond

// settle waits until no stage has anything left to read.
func (r *run) settle(ctx context.Context) error {
	for {
		lag, err := r.server.embedded.Lag(ctx)
		if err != nil || lag == 0 {
			return err
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// barePublish publishes the lines of body to a bus of its own and returns how
// long that took.
func barePublish(ctx context.Context, dir string, body []byte) (time.Duration, error) {
	bus, err := jetstream.Open(ctx, jetstream.Config{Dir: dir}, quiet())
	if err != nil {
		return 0, err
	}
	var msgs []stream.Message
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		msgs = append(msgs, stream.Message{Topic: events.ToolsRaw, Key: fmt.Sprintf("default/bench/%d", len(msgs)), Value: bytes.Clone(lines.Bytes())})
	}
	begin := time.Now()
	for part := range slices.Chunk(msgs, 256) {
		if err := bus.Publish(ctx, part...); err != nil {
			return 0, errors.Join(err, bus.Close(ctx))
		}
	}
	took := time.Since(begin)
	return took, bus.Close(ctx)
}

func (r *run) search(ctx context.Context) error {
	idle, err := r.latencies(ctx)
	if err != nil {
		return err
	}
	scan := barePass(r.server.embedded.Stats().Tools)
	r.add(Figure{"search, median", ms(at(idle, 0.5)), "ms", ms(scan), "one int8 pass over as many vectors, one core", float64(scan) / float64(at(idle, 0.5))})
	r.add(Figure{Name: "search, 99th percentile", Value: ms(at(idle, 0.99)), Unit: "ms"})
	return nil
}

// searchBesideImport searches while other documents come in at full rate.
func (r *run) searchBesideImport(ctx context.Context) error {
	idle, err := r.latencies(ctx)
	if err != nil {
		return err
	}
	importing, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for edition := 2; importing.Err() == nil; edition++ {
			if err := r.batch(importing, newMaker(3).tools(2000, edition)); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	busy, err := r.latencies(ctx)
	stop()
	if failed := <-ended; failed != nil && !errors.Is(failed, context.Canceled) {
		err = errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	r.add(Figure{"search beside an import, 99th percentile", ms(at(busy, 0.99)), "ms", ms(at(idle, 0.99)), "the same without an import", float64(at(idle, 0.99)) / float64(at(busy, 0.99))})
	return r.settle(ctx)
}

// latencies searches for every query, one after the other, and returns the
// times, shortest first.
func (r *run) latencies(ctx context.Context) ([]time.Duration, error) {
	out := make([]time.Duration, len(r.queries))
	for i, q := range r.queries {
		begin := time.Now()
		answer, err := r.server.embedded.Search(ctx, schema.SearchRequest{Query: q, K: 10})
		if err != nil {
			return nil, err
		}
		if len(answer.Degraded) > 0 {
			return nil, fmt.Errorf("search %q: degraded: %v", q, answer.Degraded)
		}
		out[i] = time.Since(begin)
	}
	slices.Sort(out)
	return out, nil
}

func at(sorted []time.Duration, quantile float64) time.Duration {
	return sorted[int(quantile*float64(len(sorted)-1))]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// rowsPerTool is about how many vectors a tool has: name, flat text,
// description, examples and parameters.
const rowsPerTool = 6

// barePass returns the median time of one int8 pass over the vectors of that
// many tools, on one core, without scoring anything.
func barePass(tools int) time.Duration {
	const dimensions, passes = 256, 21
	row := make([]byte, vector.Stride(dimensions))
	unit := make([]float32, dimensions)
	unit[0] = 1
	scale := vector.Quantize(row, unit)
	rows := bytes.Repeat(row, tools*rowsPerTool)
	scales := slices.Repeat([]float32{scale}, tools*rowsPerTool)
	scores := make([]float32, tools*rowsPerTool)
	q := vector.NewQuery(unit)
	times := make([]time.Duration, passes)
	for i := range times {
		begin := time.Now()
		q.Similarities(scores, rows, scales)
		times[i] = time.Since(begin)
	}
	slices.Sort(times)
	return times[passes/2]
}

// openIndex opens and closes the index.
func openIndex(ctx context.Context, folder string) error {
	index, err := flat.Open(ctx, flat.Config{Path: folder, Logger: quiet(), Registerer: prometheus.NewRegistry()})
	if err != nil {
		return err
	}
	return index.Close()
}
