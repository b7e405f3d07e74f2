package kafka

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/segmentio/kafka-go/protocol/listoffsets"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// wire answers requests in the place of a cluster: what a broker cannot be
// brought to answer when a test wants it.
type wire func(kafkago.Request) (kafkago.Response, error)

func (w wire) RoundTrip(_ context.Context, _ net.Addr, req kafkago.Request) (kafkago.Response, error) {
	return w(req)
}

func onWire(t *testing.T, w wire) *Bus {
	t.Helper()
	b := check.Value(New(Config{Brokers: []string{"broker:1"}, RetryBudget: time.Second}, Deps{Logger: logger(t), Registerer: prometheus.NewRegistry()}))(t)
	b.client.Transport = w
	t.Cleanup(func() { closeBus(t, b) })
	return b
}

// batch is a stored batch that begins at base and covers a number of offsets;
// of its records only those at the given ones are left.
type batch struct {
	base, covers int64
	left         []int64
	control      bool
}

func (b batch) reader() protocol.RecordReader {
	var records []protocol.Record
	for _, offset := range b.left {
		records = append(records, protocol.Record{Offset: offset, Time: time.UnixMilli(1), Key: protocol.NewBytes([]byte("k"))})
	}
	if b.control {
		return &protocol.ControlBatch{BaseOffset: b.base, Records: protocol.NewRecordReader()}
	}
	return &protocol.RecordBatch{BaseOffset: b.base, Records: protocol.NewRecordReader(records...)}
}

// log answers fetches as a broker that hands out one batch at a time.
func answerFetch(log []batch, first, end int64) wire {
	return func(req kafkago.Request) (kafkago.Response, error) {
		switch req := req.(type) {
		case *fetch.Request:
			asked := req.Topics[0].Partitions[0].FetchOffset
			p := fetch.ResponsePartition{HighWatermark: end}
			if asked < first || asked > end {
				p.ErrorCode = int16(kafkago.OffsetOutOfRange)
			}
			for _, b := range log {
				if p.ErrorCode == 0 && asked < b.base+b.covers {
					p.RecordSet.Records = &protocol.RecordStream{Records: []protocol.RecordReader{b.reader()}}
					break
				}
			}
			return &fetch.Response{Topics: []fetch.ResponseTopic{{Partitions: []fetch.ResponsePartition{p}}}}, nil
		case *listoffsets.Request:
			t := req.Topics[0]
			var out []listoffsets.ResponsePartition
			for _, p := range t.Partitions {
				offset := map[int64]int64{kafkago.FirstOffset: first, kafkago.LastOffset: end}[p.Timestamp]
				out = append(out, listoffsets.ResponsePartition{Partition: p.Partition, Timestamp: p.Timestamp, Offset: offset})
			}
			return &listoffsets.Response{Topics: []listoffsets.ResponseTopic{{Topic: t.Topic, Partitions: out}}}, nil
		}
		return nil, errors.New("not expected")
	}
}

func TestReaderPassesWhatIsNotThere(t *testing.T) {
	log := []batch{
		{base: 0, covers: 5, left: []int64{0, 2}},     // its last records are gone
		{base: 5, covers: 4},                          // all its records are gone
		{base: 9, covers: 1, control: true},           // marks a transaction
		{base: 20, covers: 10, left: []int64{20, 25}}, // batches before it are gone
		{base: 30, covers: 1, left: []int64{30}},
	}
	for name, tt := range map[string]struct {
		first int64
		above uint64
		want  []uint64
	}{
		"from the beginning":               {0, 0, []uint64{1, 3, 21, 26, 31}},
		"from within a batch":              {0, 1, []uint64{3, 21, 26, 31}},
		"from a record that is gone":       {0, 4, []uint64{21, 26, 31}},
		"from before what is still stored": {21, 3, []uint64{26, 31}},
		"the beginning is gone":            {21, 0, []uint64{26, 31}},
	} {
		t.Run(name, func(t *testing.T) {
			r := onWire(t, answerFetch(log, tt.first, 31)).reader(events.ToolsRaw, 0, tt.above)
			var got []uint64
			for len(got) < len(tt.want) {
				msgs := check.Value(r.Fetch(within(t), 1))(t)
				got = append(got, msgs[0].Offset)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("offsets %v, want %v", got, tt.want)
			}
		})
	}
}

func TestReaderReportsALoss(t *testing.T) {
	r := onWire(t, answerFetch(nil, 0, 31)).reader(events.ToolsRaw, 0, 32)
	if _, err := r.Fetch(within(t), 1); stream.Reason(err) != stream.ReasonLost || !strings.Contains(err.Error(), "toolstream.tools.raw") {
		t.Errorf("%v, want %s", err, stream.ReasonLost)
	}
}
