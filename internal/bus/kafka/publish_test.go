package kafka

import (
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// The hashes are those that the Java client's own tests expect.
func TestKeysLieWhereJavaClientsPutThem(t *testing.T) {
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "abc": 479470107,
		"a-little-bit-long-string": -985981536, "a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
	} {
		for _, partitions := range []int{1, 2, 6, 50} {
			if got, want := partitionOf(key, upTo(partitions)), int(hash&0x7fffffff)%partitions; got != want {
				t.Errorf("%q lies in partition %d of %d, want %d", key, got, partitions, want)
			}
		}
	}
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// What is committed reads the same for whoever asks the cluster.
func TestCommitted(t *testing.T) {
	cfg := fresh(t, 1)
	create(t, cfg)
	b := open(t, cfg)
	defer closeBus(t, b)
	check.OK(t, b.Publish(within(t), numbered(events.ToolsRaw, "k", 0, 9)...))
	committed := func(want uint64) {
		t.Helper()
		got := check.Value(b.Committed(within(t), events.ToolsRaw, "g"))(t)
		if len(got) != 1 || got[0] != want {
			t.Errorf("committed %v, want %d", got, want)
		}
	}
	committed(0)
	l := newLedger()
	stop := runMember(t, cfg, work(l, nop))
	check.OK(t, l.await(within(t), 9))
	stop()
	committed(9)
}
