package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Fault is a place in the log that was changed.
type Fault struct {
	Line     int    `json:"line,omitempty"` // from 1; 0 for records that should follow
	Chain    string `json:"chain,omitempty"`
	Sequence uint64 `json:"seq,omitempty"`
	Reason   string `json:"reason"`
}

// Report is the result of a Verifier.
type Report struct {
	Records  int     `json:"records"`  // that are in their places
	Repeated int     `json:"repeated"` // lines that are there again, as writers send them after an error
	Heads    []Head  `json:"heads"`    // ends of the chains, by when they were written
	Faults   []Fault `json:"faults"`
}

// Verifier looks at the lines of one tenant in their order.
type Verifier struct {
	// Partial says that the beginning of the log is missing: it is older than the log keeps
	// records, or was not requested.
	Partial bool

	// Known, if it is not nil, holds every chain that was begun in the last HeadAge.
	Known []Head

	tenant string
	line   int
	chains map[string]*chainSeen
	oldest time.Time
	report Report
}

// chainSeen is the part of a chain that was read.
type chainSeen struct {
	first  uint64
	hashes []string // of the records from first on, empty if a record is missing
	time   time.Time
}

func (c *chainSeen) last() uint64 { return c.first + uint64(len(c.hashes)) - 1 }

// at returns the hash of a record, empty if it was not seen.
func (c *chainSeen) at(sequence uint64) string {
	if c == nil || sequence < c.first || sequence > c.last() {
		return ""
	}
	return c.hashes[sequence-c.first]
}

// HeadAge is how long the end of a chain is known after its last record.
const HeadAge = 90 * 24 * time.Hour

// maxSkip bounds how many missing records of a chain are noted one by one.
const maxSkip = 1 << 20

// maxLine bounds a line in bytes: a message of the bus is not larger.
const maxLine = 16 << 20

// Read adds all lines of r. It only returns read errors.
func (v *Verifier) Read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	lines.Split(wholeLines)
	for lines.Scan() {
		v.add(lines.Bytes())
	}
	return lines.Err()
}

// wholeLines is bufio.ScanLines, and leaves a carriage return in its line.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func (v *Verifier) fault(r Record, reason string, args ...any) {
	v.report.Faults = append(v.report.Faults, Fault{Line: v.line, Chain: r.Chain, Sequence: r.Sequence, Reason: fmt.Sprintf(reason, args...)})
}

// add checks the next line. After a fault it goes on from the actual record, so that a fault
// neither hides others nor is reported again with each later record.
func (v *Verifier) add(line []byte) {
	v.line++
	if v.chains == nil {
		v.chains = map[string]*chainSeen{}
	}
	var r Record
	hash, raw, err := parseLine(line)
	whole := err == nil && hash == hashOf(raw)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	switch {
	case err != nil && !whole:
		v.fault(Record{}, "the line is damaged: it holds no record")
		return
	case err != nil:
		v.fault(Record{}, "the line holds no record: %v", err)
		return
	case !whole:
		v.fault(r, "the record was changed: it does not have its hash")
	}
	if v.tenant == "" && whole {
		v.tenant, v.oldest = r.Tenant, r.Time
	}
	if r.Tenant != v.tenant && whole {
		v.fault(r, "the record is of the tenant %q, and those before it of %q", r.Tenant, v.tenant)
	}
	if !v.appendToChain(r, hash, whole) {
		return
	}
	if c := v.chains[r.Chain]; whole {
		c.time = r.Time
		v.report.Records++
	}
}

// appendToChain appends a record to its chain, and returns false if it does not belong there. It trusts a
// changed record only as far as it fits its chain.
func (v *Verifier) appendToChain(r Record, hash string, whole bool) bool {
	c := v.chains[r.Chain]
	switch {
	case c == nil && !whole:
		return false
	case c == nil:
		v.checkFirst(r)
		v.chains[r.Chain] = &chainSeen{first: max(r.Sequence, 1), hashes: []string{hash}}
		return true
	case r.Sequence == c.last()+1:
		if before := c.at(c.last()); whole && before != "" && r.Previous != before {
			v.fault(r, "the record does not follow from record %d of its chain: another one stood there", c.last())
		}
	case !whole:
		return false
	case r.Sequence <= c.last() && hash == c.at(r.Sequence):
		v.report.Repeated++
		return false
	case r.Sequence <= c.last():
		v.fault(r, "the record stands behind record %d of its chain, and is not the one that stood in its place", c.last())
		return false
	default:
		v.fault(r, "records %d to %d of the chain are missing before it", c.last()+1, r.Sequence-1)
		if r.Sequence-c.last() > maxSkip {
			return false
		}
		c.hashes = append(c.hashes, make([]string, r.Sequence-1-c.last())...)
	}
	c.hashes = append(c.hashes, hash)
	return true
}

// checkFirst checks the first record that a chain has in the log.
func (v *Verifier) checkFirst(r Record) {
	if r.Sequence != 1 {
		if !v.Partial {
			v.fault(r, "the chain begins with record %d: those before it are missing", r.Sequence)
		}
		return
	}
	if r.Previous != "" {
		v.fault(r, "the chain begins with a record that follows another one")
	}
	for _, h := range r.After {
		v.reached(h, Record{Chain: h.Chain, Sequence: h.Sequence})
	}
}

// reached checks that a chain has the record of a head.
func (v *Verifier) reached(h Head, at Record) {
	c := v.chains[h.Chain]
	switch {
	case h.Sequence == 0: // it was begun, and perhaps no more
	case c.at(h.Sequence) == h.Hash && h.Hash != "":
	case c == nil && v.Partial && (h.Time.Before(v.oldest) || v.tenant == ""), c != nil && v.Partial && h.Sequence < c.first:
		// older than the log keeps records
	case c == nil:
		v.fault(at, "the whole chain is missing: it had reached record %d", h.Sequence)
	case h.Sequence > c.last():
		v.fault(at, "the end of the chain is missing: it had reached record %d and ends with %d", h.Sequence, c.last())
	case c.at(h.Sequence) != "":
		v.fault(at, "record %d of the chain is not the one that was there", h.Sequence)
	}
}

// Finish returns the report. Heads are known records of the log: a chain that ends before its head
// was truncated.
func (v *Verifier) Finish(heads ...Head) Report {
	v.line = 0
	for _, h := range heads {
		v.reached(h, Record{Chain: h.Chain, Sequence: h.Sequence})
	}
	for name, c := range v.chains {
		if v.Known != nil && time.Since(c.time) < HeadAge && !slices.ContainsFunc(v.Known, func(h Head) bool { return h.Chain == name }) {
			v.fault(Record{Chain: name, Sequence: c.first}, "the whole chain was inserted: no process has begun it")
		}
	}
	out := v.report
	out.Heads = []Head{}
	for _, name := range slices.Sorted(maps.Keys(v.chains)) {
		c := v.chains[name]
		out.Heads = append(out.Heads, Head{name, c.last(), c.at(c.last()), c.time})
	}
	slices.SortStableFunc(out.Heads, byTime)
	return out
}

// byTime orders heads, the oldest first.
func byTime(a, b Head) int {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c
	}
	return strings.Compare(a.Chain, b.Chain)
}
