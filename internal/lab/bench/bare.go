package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/bus/jetstream"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/vector"
	"github.com/toolstream/toolstream/pkg/events"
)

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

// rowsPerTool is about how many vectors a tool has: name, flat text,
// description, examples and parameters.
const rowsPerTool = 6

// barePass returns the median time in milliseconds of one int8 pass over the
// vectors of that many tools, on one core, without scoring anything.
func barePass(tools int) float64 {
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
	return at(times, 0.5)
}

// bareRead reads every file of a folder to its end and returns how long that
// took.
func bareRead(folder string) (time.Duration, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	for _, entry := range files {
		f, err := os.Open(filepath.Join(folder, entry.Name()))
		if err != nil {
			return 0, err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 1<<20))
		if err = errors.Join(err, f.Close()); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}
