// Package level divides the tests by their requirements. `make test` needs only Go;
// `make integration` adds running servers; `make campaign` adds tests that take
// minutes, and tests that start, kill and damage processes.
package level

import (
	"os"
	"testing"
)

// The environment variables that choose the level.
const (
	Servers  = "TOOLSTREAM_SERVERS"  // of `make integration`: kafka=HOST:PORT,nats=HOST:PORT,weaviate=HTTP/GRPC
	campaign = "TOOLSTREAM_CAMPAIGN" // of `make campaign`: any value but the empty one
)

// InCampaign reports whether the tests run as a campaign.
func InCampaign() bool { return os.Getenv(campaign) != "" }

// Campaign skips a test that does not run as part of a campaign.
func Campaign(t testing.TB) {
	t.Helper()
	if !InCampaign() {
		t.Skipf("%s is not set: `make campaign` runs this test", campaign)
	}
}
