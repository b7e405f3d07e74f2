package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Names of the settings of topics that matter here.
const (
	cleanupPolicy     = "cleanup.policy"
	retentionMillis   = "retention.ms"
	deleteRetention   = "delete.retention.ms"
	minCompactionLag  = "min.compaction.lag.ms"
	minInSyncReplicas = "min.insync.replicas"
	maxMessageBytes   = "max.message.bytes"
)

// nullRetention is how long a null of a compacted topic stays, in milliseconds: readers that
// were away have a week to come back and see it.
const nullRetention = 7 * 24 * 60 * 60 * 1000

// TopicSpec is how a topic has to be.
type TopicSpec struct {
	Name        string // in the cluster, with its prefix
	Partitions  int
	Replication int               // 0 leaves it to the cluster
	Settings    map[string]string // by Kafka's names
}

// Finding is something about a topic that is not as wanted.
type Finding struct {
	Topic string `json:"topic"`
	Key   string `json:"key"`   // "partitions", "replication" or a setting; empty for the topic as such
	Value string `json:"value"` // the actual value; empty if it is missing
	Want  string `json:"want"`
}

// missing reports whether the topic as such is not there.
func (f Finding) missing() bool { return f.Key == "" }

// String is a line for an operator.
func (f Finding) String() string {
	if f.missing() {
		return fmt.Sprintf("topic %s is %s, wanted is %s", f.Topic, f.Value, f.Want)
	}
	return fmt.Sprintf("topic %s: %s is %q, wanted is %q", f.Topic, f.Key, f.Value, f.Want)
}

// Topics returns the required topics, in the order of the flow, with further index versions at the
// end. A write is acknowledged by most of the replicas, so that one of three may be down.
func Topics(cfg Config, versions ...int) ([]TopicSpec, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	var specs []TopicSpec
	for _, t := range events.Topics() {
		specs = append(specs, cfg.spec(t))
	}
	for _, n := range versions {
		specs = append(specs, cfg.spec(events.Embedded(n)))
	}
	return specs, nil
}

// spec is how a topic has to be.
func (c Config) spec(t events.Topic) TopicSpec {
	settings := map[string]string{
		// Compressing incompressible data makes it a little larger.
		maxMessageBytes: strconv.Itoa(c.MaxMessage + c.MaxMessage/256 + 1024),
	}
	if c.Replication > 0 {
		settings[minInSyncReplicas] = strconv.Itoa(c.Replication/2 + 1)
	}
	if t.Compacted() {
		settings[cleanupPolicy] = "compact"
		settings[deleteRetention] = strconv.Itoa(nullRetention)
		settings[minCompactionLag] = strconv.FormatInt(stream.CompactionLag.Milliseconds(), 10)
	} else {
		settings[cleanupPolicy] = "delete"
		settings[retentionMillis] = strconv.FormatInt(c.Retention.Milliseconds(), 10)
	}
	partitions := c.Partitions
	if t == events.Audit {
		partitions = 1 // one more would tear the chains of its records apart
	}
	return TopicSpec{Name: c.topic(t), Partitions: partitions, Replication: c.Replication, Settings: settings}
}

// ApplyTopics creates missing topics and returns their names, and how the existing topics
// differ from their specification. It never changes a topic.
func ApplyTopics(ctx context.Context, cfg Config, specs ...TopicSpec) (created []string, findings []Finding, err error) {
	err = withAdmin(cfg, func(a admin) error {
		created, err = a.create(ctx, specs)
		if err != nil {
			return err
		}
		findings, err = a.compareApplied(ctx, specs)
		return err
	})
	return created, findings, err
}

// CheckTopics returns how the topics differ from their specification, including missing topics.
func CheckTopics(ctx context.Context, cfg Config, specs ...TopicSpec) (findings []Finding, err error) {
	err = withAdmin(cfg, func(a admin) error {
		findings, err = a.compare(ctx, specs)
		return err
	})
	return findings, err
}

// admin asks the cluster about topics. It remembers nothing of them.
type admin struct{ client *kafkago.Client }

func withAdmin(cfg Config, do func(admin) error) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	transport, _, err := cfg.connect()
	if err != nil {
		return err
	}
	life, cancel := context.WithCancel(context.Background())
	defer cancel()
	transport.Context, transport.MetadataTTL = life, time.Second
	defer transport.CloseIdleConnections()
	return do(admin{&kafkago.Client{Addr: kafkago.TCP(cfg.Brokers...), Transport: transport, Timeout: requestTimeout}})
}

// create makes the topics that are not there.
func (a admin) create(ctx context.Context, specs []TopicSpec) ([]string, error) {
	var wanted []kafkago.TopicConfig
	for _, s := range specs {
		t := kafkago.TopicConfig{Topic: s.Name, NumPartitions: s.Partitions, ReplicationFactor: s.Replication}
		if s.Replication == 0 {
			t.ReplicationFactor = -1 // the cluster's default.replication.factor
		}
		for _, key := range slices.Sorted(maps.Keys(s.Settings)) {
			t.ConfigEntries = append(t.ConfigEntries, kafkago.ConfigEntry{ConfigName: key, ConfigValue: s.Settings[key]})
		}
		wanted = append(wanted, t)
	}
	res, err := a.client.CreateTopics(ctx, &kafkago.CreateTopicsRequest{Topics: wanted})
	if err != nil {
		return nil, fmt.Errorf("kafka: create topics: %w", err)
	}
	var created []string
	var errs []error
	for _, s := range specs {
		switch err := res.Errors[s.Name]; {
		case err == nil:
			created = append(created, s.Name)
		case !errors.Is(err, kafkago.TopicAlreadyExists):
			errs = append(errs, fmt.Errorf("kafka: create topic %s with %d partitions, %d replicas: %w", s.Name, s.Partitions, s.Replication, err))
		}
	}
	return created, errors.Join(errs...)
}

// compareApplied compares topics that were just created, here or elsewhere at
// the same time: it waits until the cluster shows them.
func (a admin) compareApplied(ctx context.Context, specs []TopicSpec) ([]Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for {
		findings, err := a.compare(ctx, specs)
		if err != nil || !slices.ContainsFunc(findings, Finding.missing) || !pause(ctx, retryFirst) {
			return findings, err
		}
	}
}

// compare returns the differences from the specification.
func (a admin) compare(ctx context.Context, specs []TopicSpec) ([]Finding, error) {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	meta, err := a.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: names})
	if err != nil {
		return nil, fmt.Errorf("kafka: look at topics: %w", err)
	}
	var findings []Finding
	there := map[string]kafkago.Topic{}
	for _, t := range meta.Topics {
		switch {
		case errors.Is(t.Error, kafkago.UnknownTopicOrPartition):
			findings = append(findings, Finding{Topic: t.Name, Value: "missing", Want: "there"})
		case t.Error != nil:
			return nil, fmt.Errorf("kafka: look at topic %s: %w", t.Name, t.Error)
		default:
			there[t.Name] = t
		}
	}
	settings, err := describe(ctx, a.client, slices.Sorted(maps.Keys(there)))
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		if t, ok := there[s.Name]; ok {
			findings = append(findings, s.compare(t, settings[s.Name])...)
		}
	}
	return findings, nil
}

// compare returns how a topic that is there differs.
func (s TopicSpec) compare(t kafkago.Topic, settings map[string]string) []Finding {
	var findings []Finding
	differ := func(key, value, want string) {
		if value != want {
			findings = append(findings, Finding{s.Name, key, value, want})
		}
	}
	differ("partitions", strconv.Itoa(len(t.Partitions)), strconv.Itoa(s.Partitions))
	if len(t.Partitions) > 0 && s.Replication > 0 {
		differ("replication", strconv.Itoa(len(t.Partitions[0].Replicas)), strconv.Itoa(s.Replication))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Settings)) {
		differ(key, settings[key], s.Settings[key])
	}
	return findings
}

// describe returns the settings of topics by topic and key.
func describe(ctx context.Context, client *kafkago.Client, names []string) (map[string]map[string]string, error) {
	out := make(map[string]map[string]string, len(names))
	if len(names) == 0 {
		return out, nil
	}
	req := &kafkago.DescribeConfigsRequest{}
	for _, name := range names {
		req.Resources = append(req.Resources, kafkago.DescribeConfigRequestResource{
			ResourceType: kafkago.ResourceTypeTopic, ResourceName: name,
		})
	}
	res, err := client.DescribeConfigs(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("kafka: settings of topics: %w", err)
	}
	for _, r := range res.Resources {
		if r.Error != nil {
			return nil, fmt.Errorf("kafka: settings of topic %s: %w", r.ResourceName, r.Error)
		}
		out[r.ResourceName] = map[string]string{}
		for _, e := range r.ConfigEntries {
			out[r.ResourceName][e.ConfigName] = e.ConfigValue
		}
	}
	return out, nil
}
