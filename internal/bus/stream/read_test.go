package stream

import "testing"

func TestBehindCountsEveryPartition(t *testing.T) {
	for _, tc := range []struct {
		at, ends map[int]uint64
		want     uint64
	}{
		{nil, nil, 0}, {nil, map[int]uint64{0: 3, 1: 2}, 5}, {map[int]uint64{0: 3}, map[int]uint64{0: 3, 1: 0}, 0},
		{map[int]uint64{0: 9, 1: 1}, map[int]uint64{0: 3, 1: 2}, 1}, // a position may lie behind the end of compacted records
	} {
		if got := Behind(tc.at, tc.ends); got != tc.want {
			t.Errorf("%v of %v: %d, want %d", tc.at, tc.ends, got, tc.want)
		}
	}
}
