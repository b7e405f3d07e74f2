//go:build linux

package servers_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/servers/servertest"
)

func TestKafkaKeepsMessagesOverACrash(t *testing.T) {
	s := servertest.Start(t, servers.KafkaName)
	ctx := bounded(t)
	client, done := kafkaClient(s)
	defer done()
	created, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic: "tools", NumPartitions: 1, ReplicationFactor: 1,
		ConfigEntries: []kafka.ConfigEntry{{ConfigName: "cleanup.policy", ConfigValue: "compact"}},
	}}})
	if err != nil || created.Errors["tools"] != nil {
		t.Fatal(err, created)
	}
	produce(t, ctx, client, "weather", "v1")
	if got := fetch(t, ctx, client); got != "weather=v1" {
		t.Fatalf("before the crash: %q", got)
	}
	crash(t, ctx, s)
	again, doneAgain := kafkaClient(s)
	defer doneAgain()
	if got := fetch(t, ctx, again); got != "weather=v1" {
		t.Fatalf("after the crash: %q", got)
	}
	leavesNothing(t, ctx, s)
}

func TestKafkaKnowsNoTopicThatWasNotCreated(t *testing.T) {
	s := servertest.Start(t, servers.KafkaName)
	client, done := kafkaClient(s)
	defer done()
	answer, err := client.Metadata(bounded(t), &kafka.MetadataRequest{Topics: []string{"typo"}})
	if err != nil || len(answer.Topics) != 1 || answer.Topics[0].Error == nil {
		t.Fatalf("%+v, %v", answer, err)
	}
}

func kafkaClient(s *servers.Server) (client *kafka.Client, done func()) {
	transport := &kafka.Transport{}
	return &kafka.Client{Addr: kafka.TCP(s.Addr), Transport: transport}, transport.CloseIdleConnections
}

// produce stores a record, as soon as the topic has a leader who knows that it
// is.
func produce(t *testing.T, ctx context.Context, client *kafka.Client, key, value string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := client.Produce(ctx, &kafka.ProduceRequest{
			Topic: "tools", RequiredAcks: kafka.RequireAll,
			Records: kafka.NewRecordReader(kafka.Record{
				Time: time.Now(), Key: kafka.NewBytes([]byte(key)), Value: kafka.NewBytes([]byte(value)),
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Error == nil {
			return
		}
		var code kafka.Error
		if !errors.As(answer.Error, &code) || !code.Temporary() {
			t.Fatal(answer)
		}
		<-tick.C
	}
}

// fetch returns the first record of the topic as key=value.
func fetch(t *testing.T, ctx context.Context, client *kafka.Client) string {
	t.Helper()
	answer, err := client.Fetch(ctx, &kafka.FetchRequest{Topic: "tools", MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 5 * time.Second})
	if err != nil || answer.Error != nil {
		t.Fatal(err, answer)
	}
	record, err := answer.Records.ReadRecord()
	if err != nil {
		t.Fatal(err)
	}
	key, err := io.ReadAll(record.Key)
	if err != nil {
		t.Fatal(err)
	}
	value, err := io.ReadAll(record.Value)
	if err != nil {
		t.Fatal(err)
	}
	return string(key) + "=" + string(value)
}
