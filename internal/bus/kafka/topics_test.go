package kafka

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

func TestTopicsAreCreatedOnceAndNeverChanged(t *testing.T) {
	cfg := fresh(t, 2)
	specs := check.Value(Topics(cfg))(t)
	findings := check.Value(CheckTopics(within(t), cfg, specs...))(t)
	if len(findings) != len(events.Topics()) || findings[0].String() != "topic "+specs[0].Name+" is missing, wanted is there" {
		t.Fatalf("of topics that are not there: %v", findings)
	}
	created, findings, err := ApplyTopics(within(t), cfg, specs...)
	check.OK(t, err)
	if len(created) != len(specs) || len(findings) > 0 {
		t.Fatalf("created %v; findings %v", created, findings)
	}

	other := cfg
	other.Partitions, other.MaxMessage, other.Retention = 3, 1<<20, cfg.Retention+DefaultRetention/2
	wanted := check.Value(Topics(other))(t)
	created, findings, err = ApplyTopics(within(t), other, wanted...)
	check.OK(t, err)
	if len(created) > 0 {
		t.Errorf("created %v a second time", created)
	}
	for _, want := range []Finding{
		{specs[0].Name, "partitions", "2", "3"},
		{specs[0].Name, "max.message.bytes", specs[0].Settings["max.message.bytes"], wanted[0].Settings["max.message.bytes"]},
		{specs[3].Name, "retention.ms", specs[3].Settings["retention.ms"], wanted[3].Settings["retention.ms"]},
	} {
		if !slices.Contains(findings, want) {
			t.Errorf("%v is not among the findings %v", want, findings)
		}
	}
	findings = check.Value(CheckTopics(within(t), cfg, specs...))(t)
	if len(findings) > 0 {
		t.Errorf("applying other settings has changed topics: %v", findings)
	}
}

func TestTopicsSayWhyTheyCanNotBeCreated(t *testing.T) {
	cfg := fresh(t, 1)
	cfg.Replication = 3
	specs, err := Topics(cfg)
	check.OK(t, err)
	_, _, err = ApplyTopics(within(t), cfg, specs...)
	if err == nil || !strings.Contains(err.Error(), specs[0].Name) || !strings.Contains(err.Error(), "3 replicas") {
		t.Errorf("three replicas on one broker: %v", err)
	}
}

// Services that start together apply the topics at the same time.
func TestTopicsAreAppliedByManyAtOnce(t *testing.T) {
	cfg := fresh(t, 2)
	specs := check.Value(Topics(cfg))(t)
	var group errgroup.Group
	var made atomic.Int32
	for range 5 {
		group.Go(func() error {
			created, findings, err := ApplyTopics(within(t), cfg, specs...)
			made.Add(int32(len(created)))
			if len(findings) > 0 {
				t.Errorf("findings: %v", findings)
			}
			return err
		})
	}
	check.OK(t, group.Wait())
	if int(made.Load()) != len(specs) {
		t.Errorf("%d topics were created, want %d", made.Load(), len(specs))
	}
}

func TestTheClusterMayDecideOnReplicas(t *testing.T) {
	cfg := fresh(t, 1)
	cfg.Replication = 0
	create(t, cfg)
}

func TestSettingsOfTopics(t *testing.T) {
	specs := check.Value(Topics(Config{Brokers: []string{"b:1"}, Replication: 3}))(t)
	for i, s := range specs {
		compacted := events.Topics()[i].Compacted()
		want := map[bool]string{true: "compact", false: "delete"}[compacted]
		if s.Name != "toolstream."+string(events.Topics()[i]) || s.Settings["cleanup.policy"] != want || s.Settings["min.insync.replicas"] != "2" {
			t.Errorf("%+v", s)
		}
		if _, aged := s.Settings["retention.ms"]; aged == compacted {
			t.Errorf("%s: retention.ms given: %v", s.Name, aged)
		}
	}
}

// addPartitions makes a topic grow.
func addPartitions(t *testing.T, b *Bus, topic events.Topic, to int) {
	t.Helper()
	res := check.Value(b.client.CreatePartitions(within(t), &kafkago.CreatePartitionsRequest{
		Topics: []kafkago.TopicPartitionsConfig{{Name: b.cfg.topic(topic), Count: int32(to)}},
	}))(t)
	check.OK(t, res.Errors[b.cfg.topic(topic)])
}

// setConfigs changes settings of a topic, or of the broker if it is empty.
func setConfigs(t *testing.T, b *Bus, topic events.Topic, settings map[string]string) {
	t.Helper()
	resource := kafkago.IncrementalAlterConfigsRequestResource{ResourceType: kafkago.ResourceTypeBroker, ResourceName: "1"}
	if topic != "" {
		resource.ResourceType, resource.ResourceName = kafkago.ResourceTypeTopic, b.cfg.topic(topic)
	}
	for key, value := range settings {
		resource.Configs = append(resource.Configs, kafkago.IncrementalAlterConfigsRequestConfig{
			Name: key, Value: value, ConfigOperation: kafkago.ConfigOperationSet,
		})
	}
	res := check.Value(b.client.IncrementalAlterConfigs(within(t), &kafkago.IncrementalAlterConfigsRequest{
		Resources: []kafkago.IncrementalAlterConfigsRequestResource{resource},
	}))(t)
	for _, r := range res.Resources {
		check.OK(t, r.Error)
	}
}
