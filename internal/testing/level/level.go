// Package level divides the tests by what they need. `make test` needs Go alone;
// `make integration` adds running servers; `make campaign` adds tests that start,
// kill and damage processes, and those that take minutes.
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
