package kafka

import (
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/adapter/adaptertest"
)

func TestBus(t *testing.T) {
	for _, partitions := range []int{1, 3} {
		t.Run(map[int]string{1: "one partition", 3: "three partitions"}[partitions], func(t *testing.T) {
			var mu sync.Mutex
			places := map[string]Config{}
			adaptertest.BusSuite(t, adaptertest.BusAdapter{
				Open: func(t *testing.T, place string) (adaptertest.Bus, func()) {
					mu.Lock()
					defer mu.Unlock()
					cfg, known := places[place]
					if !known {
						cfg = fresh(t, partitions)
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
		})
	}
}
