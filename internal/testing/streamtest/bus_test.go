package streamtest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestBus(t *testing.T) {
	places := map[string]*streamtest.Bus{}
	adaptertest.BusSuite(t, adaptertest.BusAdapter{
		Open: func(t *testing.T, place string) (adaptertest.Bus, func()) {
			b := places[place]
			if b == nil {
				b = streamtest.NewPartitionedBus(3)
				places[place] = b
			}
			b.Reopen()
			return b, func() { b.Close() }
		},
		MaxValue: 16 << 20,
	})
}
