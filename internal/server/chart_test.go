package server

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// A pod of the Helm chart has the time to drain before it is killed: it leaves
// the Services, requests finish, then the batch that a stage works on, then
// Kafka and NATS take what is left.
func TestPodsHaveTheTimeToDrain(t *testing.T) {
	text := check.Value(os.ReadFile(filepath.Join("..", "..", "deploy", "helm", "toolstream", "values.yaml")))(t)
	var values struct {
		PreStop int `yaml:"preStopSeconds"`
		Grace   int `yaml:"terminationGracePeriodSeconds"`
	}
	check.OK(t, yaml.Unmarshal(text, &values))
	drain := time.Duration(values.PreStop)*time.Second + httpserver.DrainTimeout + stream.DrainTime + 2*closeTimeout
	if grace := time.Duration(values.Grace) * time.Second; values.PreStop == 0 || grace <= drain {
		t.Errorf("pods are killed after %v, draining may take %v", grace, drain)
	}
}
