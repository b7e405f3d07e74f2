package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/events"
)

// partitions that the topics of a deployment have.
const partitions = 2

// topicOf is a topic's name in the cluster.
func topicOf(d *process.Distributed, topic events.Topic) string { return d.Prefix + string(topic) }

func kafkaClient(d *process.Distributed) *kafkago.Client {
	return &kafkago.Client{Addr: kafkago.TCP(d.Cluster.Kafka.Addr), Timeout: patience}
}

// produce puts records on a partition as any program could, once its client has
// heard of the topic.
func produce(t *testing.T, d *process.Distributed, topic events.Topic, partition int, records ...kafkago.Record) {
	t.Helper()
	var res *kafkago.ProduceResponse
	err := until(t, func() (_ bool, err error) {
		res, err = kafkaClient(d).Produce(t.Context(), &kafkago.ProduceRequest{
			Topic: topicOf(d, topic), Partition: partition, RequiredAcks: kafkago.RequireAll, Records: kafkago.NewRecordReader(records...),
		})
		if err != nil && strings.Contains(err.Error(), "topic not found") {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil || res.Error != nil || len(res.RecordErrors) > 0 {
		t.Fatalf("produce to %s: %v, %+v", topic, err, res)
	}
}

// poison is what no reader of a topic can process, and why.
func poison() map[string]string {
	return map[string]string{
		"no JSON":                   stream.ReasonUndecodable,
		"\xff\xfe\x00binary":        stream.ReasonUndecodable,
		`{"schema":99,"op":"fold"}`: events.ReasonUnknownSchema,
	}
}

// lettersAre waits until the letters of a state are as many as wanted.
func lettersAre(t *testing.T, p *process.Process, state string, want int) []deadLetter {
	t.Helper()
	var list []deadLetter
	err := until(t, func() (bool, error) {
		list, _ = letters(t, p, state)
		return len(list) == want, nil
	})
	if err != nil {
		var keys []string
		for _, l := range list {
			keys = append(keys, l.ID+" "+l.Reason)
		}
		t.Fatalf("%d letters are %s, want %d: %q", len(list), state, want, keys)
	}
	return list
}

// Whatever lies on a topic, it does not hold its partition back: it goes to the
// dead letters as it was, once, however many processes come across it, and what
// is decided about it holds.
func TestDeploymentOutlastsPoison(t *testing.T) {
	t.Parallel()
	t.Run("distributed", outlastsPoison)
}

func outlastsPoison(t *testing.T) {
	d := process.Serve(t, &cluster, process.Binary())
	p := d.Front()
	poisoned := []events.Topic{events.ToolsRaw, events.ToolsStandardized, events.ToolsEmbedded, events.Searches, events.FeedbackTopic}
	for _, topic := range poisoned {
		for n := range partitions {
			for _, value := range slices.Sorted(maps.Keys(poison())) {
				produce(t, d, topic, n, kafkago.Record{Key: kafkago.NewBytes([]byte("default/poison")), Value: kafkago.NewBytes([]byte(value))})
			}
		}
	}
	// Its letter would be larger than what the bus takes, so it lacks the record.
	produce(t, d, events.ToolsRaw, 0, kafkago.Record{Key: kafkago.NewBytes([]byte("default/huge")), Value: kafkago.NewBytes(bytes.Repeat([]byte("no JSON "), 7<<17))})
	for n := range 4 { // behind it, in every partition
		put(t, p, fmt.Sprint("boat ", n), ferry)
		answer := found(t, p, "cross the strait", 1)
		if len(answer) != 1 {
			t.Errorf("found %q", answer)
		}
	}
	want := len(poisoned)*partitions*len(poison()) + 1
	seen := map[string]int{}
	for _, l := range lettersAre(t, p, "open", want) {
		var whole deadLetter
		at(t, p, "dlq", "show", l.ID, "--json").decode(t, &whole)
		if l.Key == "default/huge" {
			if len(whole.Original) != 0 || !strings.Contains(whole.Detail, "do not fit") {
				t.Errorf("of a record that fits no letter: %s, %d bytes", whole.Detail, len(whole.Original))
			}
			continue
		}
		seen[l.Topic+string(whole.Original)]++
		if reason := poison()[string(whole.Original)]; l.Reason != reason || l.Key != "default/poison" || l.Attempts > 2 {
			t.Errorf("%s: reason %s after %d attempts, want %s", l.ID, l.Reason, l.Attempts, reason)
		}
	}
	if len(seen) != len(poisoned)*len(poison()) {
		t.Errorf("%d records are in letters: %v", len(seen), seen)
	}
	if o := at(t, p, "dlq", "drop", "--all"); o.code != 0 {
		t.Fatalf("drop: %+v", o)
	}
	lettersAre(t, p, "open", 0)

	// A replica with nothing in its folder reads all of it again.
	var fresh struct{ Data string }
	check.OK(t, d.Replica("query-2").Client.Get(t.Context(), "/v1/status", nil, &fresh))
	d.Kill("query-2")
	check.OK(t, os.RemoveAll(fresh.Data))
	d.Start(t, "query-2")
	agree(t, d)
	d.Cycle(t, "ingest")
	lettersAre(t, d.Front(), "dropped", want)
	lettersAre(t, d.Front(), "open", 0)
}

// The topics grow while everything runs. Tools move to other partitions with
// their next change, and what is seen of them does not go back.
func TestTopicsThatGrow(t *testing.T) {
	level.Campaign(t)
	d := process.Serve(t, &cluster, process.Binary())
	p := d.Front()
	const tools = 12
	change := func(round int) map[string]uint64 {
		var lines []string
		for n := range tools {
			lines = append(lines, fmt.Sprintf(`{"id":"boat %d","document":%s}`, n, strings.Replace(ferry, "a ferry", fmt.Sprintf("ferry %d", round), 1)))
		}
		if s := load(t, p, writeFile(t, "tools.jsonl", strings.Join(lines, "\n"))); s.Accepted != tools || *s.Indexed != tools {
			t.Fatalf("round %d: %+v", round, s)
		}
		return agree(t, d)
	}
	before := change(0)
	for n, topic := range []events.Topic{events.ToolsRaw, events.ToolsStandardized, events.ToolsEmbedded, events.Searches, events.FeedbackTopic, events.DLQ} {
		res, err := kafkaClient(d).CreatePartitions(t.Context(), &kafkago.CreatePartitionsRequest{
			Topics: []kafkago.TopicPartitionsConfig{{Name: topicOf(d, topic), Count: 3 * partitions}},
		})
		if err != nil || res.Errors[topicOf(d, topic)] != nil {
			t.Fatalf("%v, %+v", err, res)
		}
		before = newer(t, before, change(1+n))
	}
	used := func() (bool, error) { // a record in the last partition of the last topic that tools pass
		res, err := kafkaClient(d).ListOffsets(t.Context(), &kafkago.ListOffsetsRequest{
			Topics: map[string][]kafkago.OffsetRequest{topicOf(d, events.ToolsEmbedded): {kafkago.LastOffsetOf(partitions), kafkago.LastOffsetOf(partitions + 1), kafkago.LastOffsetOf(partitions + 2)}},
		})
		if err != nil {
			return false, err
		}
		for _, at := range res.Topics[topicOf(d, events.ToolsEmbedded)] {
			if at.LastOffset > 0 {
				return true, nil
			}
		}
		before = newer(t, before, change(int(time.Now().UnixNano()%1e9)))
		return false, nil
	}
	process.Await(t, "nothing comes to the new partitions", used)
	d.Restart(t)
	p = d.Front()
	if after := agree(t, d); !maps.Equal(before, after) {
		t.Errorf("before a restart %v, after it %v", before, after)
	}
	newer(t, before, change(0))
	if list, _ := letters(t, p, "all"); len(list) != 0 {
		t.Errorf("letters: %+v", list)
	}
}

// newer fails unless every tool has moved on, and returns the later revisions.
func newer(t *testing.T, before, after map[string]uint64) map[string]uint64 {
	t.Helper()
	if len(before) != len(after) {
		t.Errorf("%d tools, before %d", len(after), len(before))
	}
	for id, revision := range after {
		if revision <= before[id] {
			t.Errorf("%s is at revision %d, before at %d", id, revision, before[id])
		}
	}
	return after
}
