package chart

import (
	"os"
	"testing"

	"github.com/toolstream/toolstream/tests/process"
)

// backends are the Kafka, NATS and Weaviate of a deployment whose processes run.
var backends process.Cluster

func TestMain(m *testing.M) { os.Exit(backends.Main(m)) }
