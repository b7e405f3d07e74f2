package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// written returns the lines of chains that were written by turns, as turns says, each with a
// first record that names the ends of those before it.
func written(t testing.TB, turns []int) [][]byte {
	t.Helper()
	var lines [][]byte
	ends := map[int]Head{}
	var begun []int
	at := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	for n, chain := range turns {
		end, known := ends[chain]
		r := Record{
			Tenant: "acme", Chain: fmt.Sprintf("%032x", chain), Sequence: end.Sequence + 1, Previous: end.Hash,
			Time: at.Add(time.Duration(n) * time.Second), Action: "put-tool", Decision: Allowed, Status: 202,
			Key: "0123456789abcdef", Sealed: fmt.Appendf(nil, "twelve bytes and what is sealed of the tool at revision %d", n),
		}
		if !known {
			for _, other := range begun {
				r.After = append(r.After, ends[other])
			}
			begun = append(begun, chain)
		}
		line, hash, err := r.line()
		check.OK(t, err)
		ends[chain] = Head{r.Chain, r.Sequence, hash, r.Time}
		lines = append(lines, line)
	}
	return lines
}

// verified returns what a verification finds, which ends with the heads that are given.
func verified(t testing.TB, lines [][]byte, partial bool, heads ...Head) Report {
	t.Helper()
	v := &Verifier{Partial: partial}
	check.OK(t, v.Read(bytes.NewReader(append(bytes.Join(lines, []byte("\n")), '\n'))))
	return v.Finish(heads...)
}

func turns(rt *rapid.T) []int {
	return rapid.SliceOfN(rapid.IntRange(0, 3), 2, 40).Draw(rt, "turns")
}

func TestAnIntactLogHasNoFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := written(t, turns(rt))
		r := verified(t, lines, false)
		if len(r.Faults) != 0 || r.Records != len(lines) || r.Repeated != 0 {
			rt.Fatalf("%+v", r)
		}
		if again := verified(t, lines, false, r.Heads...); len(again.Faults) != 0 {
			rt.Fatalf("with its own heads: %+v", again.Faults)
		}
		// A call of the bus that failed is made again, and part of it may be there twice.
		from := rapid.IntRange(0, len(lines)-1).Draw(rt, "from")
		to := rapid.IntRange(from+1, len(lines)).Draw(rt, "to")
		twice := slices.Concat(lines[:to], lines[from:])
		if r := verified(t, twice, false); len(r.Faults) != 0 || r.Repeated != to-from {
			rt.Fatalf("with lines %d to %d twice: %+v", from, to, r)
		}
		// The beginning of the log ages out.
		cut := rapid.IntRange(0, len(lines)-1).Draw(rt, "cut")
		if old := verified(t, lines[cut:], true, r.Heads...); len(old.Faults) != 0 {
			rt.Fatalf("without the first %d lines: %+v", cut, old.Faults)
		}
	})
}

func TestAChangedByteIsFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := written(t, turns(rt))
		all := append(bytes.Join(lines, []byte("\n")), '\n')
		at := rapid.IntRange(0, len(all)-2).Draw(rt, "at") // the last line may lack its end
		change := rapid.ByteRange(1, 255).Draw(rt, "change")
		all[at] ^= change
		var v Verifier
		check.OK(rt, v.Read(bytes.NewReader(all)))
		if r := v.Finish(); len(r.Faults) == 0 {
			rt.Fatalf("byte %d, changed by %02x, is not found", at, change)
		}
	})
}

// A record at the end of its chain can be removed without a trace in the log: heads show it.
func TestARemovedRecordIsFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := written(t, turns(rt))
		heads := verified(t, lines, false).Heads
		at := rapid.IntRange(0, len(lines)-1).Draw(rt, "at")
		r := verified(t, slices.Delete(slices.Clone(lines), at, at+1), false, heads...)
		if len(r.Faults) == 0 {
			rt.Fatalf("line %d is gone, and nobody sees it", at)
		}
	})
}

func TestAnInsertedRecordIsFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := written(t, turns(rt))
		at := rapid.IntRange(0, len(lines)-1).Draw(rt, "at")
		before := check.Value(parse(lines[at]))(rt)
		forged := before
		forged.Action = "forged"
		forged.Sequence += uint64(rapid.IntRange(0, 1).Draw(rt, "behind"))
		if forged.Sequence > before.Sequence {
			forged.Previous, _, _ = parseLine(lines[at])
		}
		line, _, err := forged.line()
		check.OK(rt, err)
		goes := slices.ContainsFunc(lines[at+1:], func(line []byte) bool {
			r, _ := parse(line)
			return r.Chain == before.Chain
		})
		if forged.Sequence > before.Sequence && !goes {
			rt.Skip("it is found once the chain goes on")
		}
		heads := verified(t, lines, false).Heads
		if r := verified(t, slices.Insert(slices.Clone(lines), at+1, line), false, heads...); len(r.Faults) == 0 {
			rt.Fatalf("a record behind line %d was forged, and nobody sees it", at)
		}
	})
}

// Records of different chains have no order among each other but by what a chain begins with.
func TestMovedRecordsAreFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := written(t, turns(rt))
		at := rapid.IntRange(0, len(lines)-2).Draw(rt, "at")
		to := rapid.IntRange(at+1, len(lines)-1).Draw(rt, "to")
		a, _ := parse(lines[at])
		same := slices.ContainsFunc(lines[at+1:to+1], func(line []byte) bool {
			b, _ := parse(line)
			return a.Chain == b.Chain
		})
		if !same {
			rt.Skip("nothing of its chain in between")
		}
		moved := slices.Insert(slices.Delete(slices.Clone(lines), at, at+1), to, lines[at])
		if r := verified(t, moved, false); len(r.Faults) == 0 {
			rt.Fatalf("line %d stands behind line %d, and nobody sees it", at, to)
		}
	})
}

func TestAChainThatIsGoneIsFound(t *testing.T) {
	lines := written(t, []int{0, 0, 1, 1, 2})
	for _, chain := range []string{"0", "1"} {
		left := slices.DeleteFunc(slices.Clone(lines), func(line []byte) bool {
			r, _ := parse(line)
			return strings.HasSuffix(r.Chain, "000"+chain)
		})
		if r := verified(t, left, false); len(r.Faults) == 0 || !strings.Contains(r.Faults[0].Reason, "the whole chain is missing") {
			t.Errorf("without chain %s: %+v", chain, r.Faults)
		}
	}
}

func TestAChainWithoutAWriterIsFound(t *testing.T) {
	lines := written(t, []int{0, 0})
	forged, _ := parse(lines[0])
	forged.Chain, forged.Time = "forged", time.Now()
	line, _, _ := forged.line()
	v := &Verifier{Known: verified(t, lines, false).Heads}
	check.OK(t, v.Read(bytes.NewReader(bytes.Join(append(lines, line), []byte("\n")))))
	if r := v.Finish(); len(r.Faults) != 1 || r.Faults[0].Chain != "forged" {
		t.Errorf("%+v", r.Faults)
	}
}

func TestFaultsNameTheirLine(t *testing.T) {
	lines := written(t, []int{0, 0, 0, 0})
	lines[1] = bytes.Replace(lines[1], []byte("put-tool"), []byte("get-tool"), 1)
	r := verified(t, lines, false)
	if len(r.Faults) != 1 || r.Faults[0].Line != 2 || r.Faults[0].Sequence != 2 || !strings.Contains(r.Faults[0].Reason, "was changed") {
		t.Errorf("%+v", r.Faults)
	}
	// Whoever changes a record and its hash has to change all those behind it.
	forged, _ := parse(lines[2])
	forged.Action = "delete-tool"
	lines = written(t, []int{0, 0, 0, 0})
	lines[2], _, _ = forged.line()
	r = verified(t, lines, false)
	if len(r.Faults) != 1 || r.Faults[0].Line != 4 || !strings.Contains(r.Faults[0].Reason, "does not follow") {
		t.Errorf("%+v", r.Faults)
	}
}

func TestAHundredThousandRecords(t *testing.T) {
	order := make([]int, 100_000)
	for i := range order {
		order[i] = i % 3
	}
	all := append(bytes.Join(written(t, order), []byte("\n")), '\n')
	begun := time.Now()
	var whole Verifier
	check.OK(t, whole.Read(bytes.NewReader(all)))
	took := time.Since(begun)
	if r := whole.Finish(); len(r.Faults) != 0 || r.Records != len(order) || len(r.Heads) != 3 {
		t.Fatalf("%d records, %d faults", r.Records, len(r.Faults))
	}
	t.Logf("%d records of %d bytes verified in %v", len(order), len(all), took)
	all[len(all)/2] ^= 1
	var changed Verifier
	check.OK(t, changed.Read(bytes.NewReader(all)))
	if r := changed.Finish(); len(r.Faults) == 0 {
		t.Error("a changed byte is not found")
	} else {
		t.Logf("one changed byte: %+v", r.Faults[0])
	}
}
