package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/kafka"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

func TestTopics(t *testing.T) {
	t.Setenv("TOOLSTREAM_KAFKA_BROKERS", servertest.Start(t, servers.KafkaName).Addr)
	t.Setenv("TOOLSTREAM_KAFKA_PREFIX", "mine.")
	t.Setenv("TOOLSTREAM_KAFKA_PARTITIONS", "2")
	if code, out, errOut := called(t, "topics", "check"); code != program.Failed || !strings.Contains(out, "topic mine.tools.raw is missing") {
		t.Errorf("check of nothing: %d\n%s%s", code, out, errOut)
	}
	if code, out, errOut := called(t, "topics", "apply"); code != program.Done || !strings.Contains(out, "created mine.dlq") {
		t.Errorf("apply: %d\n%s%s", code, out, errOut)
	}
	if code, out, errOut := called(t, "topics", "check"); code != program.Done || !strings.Contains(out, "as wanted") {
		t.Errorf("check: %d\n%s%s", code, out, errOut)
	}

	t.Setenv("TOOLSTREAM_KAFKA_PARTITIONS", "3")
	code, out, errOut := called(t, "topics", "apply", "--json")
	var report struct {
		Created  []string
		Findings []kafka.Finding
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code != program.Partly || len(report.Created) != 0 || len(report.Findings) != 6 || report.Findings[0].String() != `topic mine.tools.raw: partitions is "2", wanted is "3"` {
		t.Errorf("apply with other settings: %d, %+v\n%s", code, report, errOut)
	}
	if code, out, _ := called(t, "topics", "check"); code != program.Failed || !strings.Contains(out, "partitions") {
		t.Errorf("check with other settings: %d\n%s", code, out)
	}
	t.Setenv("TOOLSTREAM_KAFKA_BROKERS", "nowhere")
	if code, _, errOut := called(t, "topics", "check"); code != program.Usage || !strings.Contains(errOut, "kafka.brokers") {
		t.Errorf("check with a broken setting: %d\n%s", code, errOut)
	}
}
