package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/produce"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// broken stands for a connection that breaks.
const broken = -100

// produced answers produce requests, one result after the other, and keeps the
// keys of those that it accepted.
type produced struct {
	results []produce.ResponsePartition
	keys    []string
}

func (p *produced) answer(req kafkago.Request) (kafkago.Response, error) {
	switch req := req.(type) {
	case *metadata.Request:
		return &metadata.Response{Topics: []metadata.ResponseTopic{{Name: req.TopicNames[0], Partitions: []metadata.ResponsePartition{{}}}}}, nil
	case *produce.Request:
		var result produce.ResponsePartition
		if len(p.results) > 0 {
			result, p.results = p.results[0], p.results[1:]
		}
		if result.ErrorCode == broken {
			return nil, errors.New("connection reset")
		}
		records := req.Topics[0].Partitions[0].RecordSet.Records
		for result.ErrorCode == 0 {
			r, err := records.ReadRecord()
			if err != nil {
				break
			}
			key, err := protocol.ReadAll(r.Key)
			if err != nil {
				return nil, err
			}
			p.keys = append(p.keys, string(key))
		}
		return &produce.Response{Topics: []produce.ResponseTopic{{Partitions: []produce.ResponsePartition{result}}}}, nil
	}
	return nil, errors.New("not expected")
}

// Four calls share a request; a, b, c and d are their keys.
func TestCallsThatShareARequest(t *testing.T) {
	code := func(e kafkago.Error) produce.ResponsePartition { return produce.ResponsePartition{ErrorCode: int16(e)} }
	tooLarge := code(kafkago.MessageSizeTooLarge)
	for name, tt := range map[string]struct {
		results []produce.ResponsePartition
		stored  string
		failed  string // the keys of the calls that fail
		reason  string
	}{
		"all is well":         {nil, "abcd", "", ""},
		"a leader moves":      {[]produce.ResponsePartition{code(kafkago.NotLeaderForPartition), code(kafkago.NotEnoughReplicas)}, "abcd", "", ""},
		"a connection breaks": {[]produce.ResponsePartition{{ErrorCode: broken}}, "abcd", "", ""},
		"not allowed":         {[]produce.ResponsePartition{code(kafkago.TopicAuthorizationFailed)}, "", "abcd", ""},
		"the second is refused": {
			[]produce.ResponsePartition{code(invalidRecord), code(invalidRecord), {}, code(invalidRecord)}, "acd", "b", reasonInvalid,
		},
		"together too large":     {[]produce.ResponsePartition{tooLarge}, "abcd", "", ""},
		"the first is too large": {[]produce.ResponsePartition{tooLarge, tooLarge, tooLarge}, "bcd", "a", stream.ReasonTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			p := &produced{results: tt.results}
			b := onWire(t, p.answer)
			quit := make(chan struct{})
			batcher := stream.NewBatcher(maxBatch, maxBatchBytes, quit, func(group []*write) {
				b.send(topicPartition{events.Searches, 0}, group)
			})
			writes := map[string]*write{}
			for _, key := range strings.Split("abcd", "") {
				writes[key] = &write{}
				writes[key].Add(stream.Message{Topic: events.Searches, Key: key}, 1)
				check.OK(t, batcher.Put(t.Context(), writes[key]))
			}
			gaveUp, giveUp := context.WithCancel(t.Context())
			given := &write{}
			given.Add(stream.Message{Topic: events.Searches, Key: "given up"}, 1)
			check.OK(t, batcher.Put(gaveUp, given))
			giveUp()
			close(quit)
			batcher.Run()
			failed := ""
			for _, key := range strings.Split("abcd", "") {
				err := batcher.Wait(t.Context(), writes[key])
				if err == nil {
					continue
				}
				failed += key
				if got := stream.Reason(err); got != tt.reason {
					t.Errorf("%s: %v of reason %q, want %q", key, err, got, tt.reason)
				}
			}
			if got := strings.Join(p.keys, ""); got != tt.stored || failed != tt.failed {
				t.Errorf("stored %q, failed %q; want %q and %q", got, failed, tt.stored, tt.failed)
			}
		})
	}
}

// What follows a message that failed in the same call is not stored: the caller
// publishes all of them again, and it would come before.
func TestNothingOvertakesWhatFailed(t *testing.T) {
	p := &produced{results: []produce.ResponsePartition{{ErrorCode: int16(kafkago.TopicAuthorizationFailed)}}}
	b := onWire(t, p.answer)
	var msgs []stream.Message
	for range 3 * maxBatch {
		msgs = append(msgs, stream.Message{Topic: events.Searches, Key: "a"})
	}
	if err := b.Publish(within(t), msgs...); !errors.Is(err, kafkago.TopicAuthorizationFailed) {
		t.Errorf("publish: %v", err)
	}
	if len(p.keys) > 0 {
		t.Errorf("%d messages are stored behind one that failed", len(p.keys))
	}
	check.OK(t, b.Publish(within(t), msgs...))
	if len(p.keys) != len(msgs) {
		t.Errorf("%d of %d messages are stored", len(p.keys), len(msgs))
	}
}

func TestPublishAfterClose(t *testing.T) {
	b := onWire(t, new(produced).answer)
	check.OK(t, b.Publish(within(t), stream.Message{Topic: events.Searches, Key: "a"}))
	closeBus(t, b)
	if err := b.Publish(within(t), stream.Message{Topic: events.Searches, Key: "a"}); !errors.Is(err, stream.ErrClosed) {
		t.Errorf("publish to a closed bus: %v", err)
	}
}
