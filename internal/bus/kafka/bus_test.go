package kafka

import (
	"testing"

	"github.com/toolstream/toolstream/internal/testing/adaptertest"
)

func TestBus(t *testing.T) {
	places := map[string]Config{}
	adaptertest.BusSuite(t, adaptertest.BusAdapter{
		Open: func(t *testing.T, place string) (adaptertest.Bus, func()) {
			cfg, known := places[place]
			if !known {
				cfg = fresh(t, 3)
				create(t, cfg)
				places[place] = cfg
			}
			b := open(t, cfg)
			return b, func() { closeBus(t, b) }
		},
		CompactsLate: true,
		MaxValue:     DefaultMaxMessage - 4096,
		TooLarge:     DefaultMaxMessage + 1,
	})
}
