// Package audit logs the actions of callers. The log is append-only: its records are chained by
// their hashes, and their private fields are sealed under a key of the tenant.
//
// Each process writes a chain of its own for each tenant. A record holds the hash of the record
// before it in its chain; the first of a chain holds the ends of the tenant's other chains. A line
// of the log is {"hash": H, "record": R}, where H is the SHA-256 of the bytes of R, in
// hexadecimal. See docs/decisions/0037.
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Decision says whether an action was allowed.
type Decision string

// The decisions.
const (
	Allowed Decision = "allowed"
	Denied  Decision = "denied"
)

// ToolRef is a tool, or a provider, that something was done with.
type ToolRef struct {
	ID       string      `json:"id"`
	Kind     schema.Kind `json:"kind,omitempty" doc:"Absent for a tool."`
	Revision uint64      `json:"revision,omitempty" doc:"Revision of the change."`
}

// Record is one record of the log.
type Record struct {
	Tenant   string `json:"tenant"`
	Chain    string `json:"chain" doc:"Chain of records that one process has written for the tenant."`
	Sequence uint64 `json:"seq" doc:"Place in the chain, from 1."`
	Previous string `json:"prev,omitempty" doc:"Hash of the record before it in the chain."`
	After    []Head `json:"after,omitempty" doc:"In the first record of a chain: the known ends of the tenant's other chains at that time."`

	Time     time.Time `json:"time"`
	Action   string    `json:"action" doc:"The operation's id; method and route if the caller is unknown."`
	Policy   string    `json:"policy,omitempty" doc:"Version of the policy that decided."`
	Decision Decision  `json:"decision" enum:"allowed,denied" doc:"Whether the caller might."`
	Role     string    `json:"role,omitempty" doc:"Role of the caller."`
	Status   int       `json:"status,omitempty" doc:"Status of the answer, such as 409 for an allowed change that was not made."`
	DryRun   bool      `json:"dry_run,omitempty" doc:"The caller asked for the effect of a change; nothing was changed."`
	Trace    string    `json:"trace,omitempty" doc:"Id of the trace."`
	Count    int       `json:"count,omitempty" doc:"Number of denials in this record, if more than one."`

	Key    string `json:"key,omitempty" doc:"Id of the key under which the private fields are sealed."`
	Sealed []byte `json:"sealed,omitempty" doc:"The private fields: a nonce of 12 bytes and their AES-256-GCM ciphertext."`
}

// Private are the fields of a record that name callers, or anything that belongs to the tenant.
type Private struct {
	Subject string    `json:"subject,omitempty" doc:"Name of the caller."`
	Groups  []string  `json:"groups,omitempty" doc:"Groups of the caller from the identity provider."`
	Address string    `json:"address,omitempty" doc:"Address of a refused request with an unknown caller."`
	Path    string    `json:"path,omitempty" doc:"Path of the request, without parameters."`
	Tools   []ToolRef `json:"tools,omitempty" doc:"Tools and providers that it was done with."`
	Reason  string    `json:"reason,omitempty" doc:"Reason of a denial, or of a quarantine as the caller gave it."`
	Search  string    `json:"search,omitempty" doc:"Id of the search."`
	Call    *Call     `json:"call,omitempty" doc:"Arguments and result of a call, if calls.record asks for them."`
	Changed []string  `json:"changed,omitempty" doc:"Grants that were added, after a +, and removed, after a -."`
}

// Call is a call of a tool: its arguments and its outcome.
type Call struct {
	Arguments string `json:"arguments,omitempty" doc:"The first 4 KiB of their JSON."`
	Result    string `json:"result,omitempty" doc:"The first 4 KiB of its JSON, or the error."`
}

func (p *Private) empty() bool { return reflect.ValueOf(p).Elem().IsZero() }

// Head is a record by its place, and by its hash.
type Head struct {
	Chain    string    `json:"chain" doc:"Its name."`
	Sequence uint64    `json:"seq" doc:"Place in the chain, from 1."`
	Hash     string    `json:"hash"`
	Time     time.Time `json:"time"`
}

const (
	lineBegin  = `{"hash":"`
	lineMiddle = `","record":`
	lineEnd    = `}`
	hashLength = 2 * sha256.Size
)

// line returns a record as a line of the log, and its hash.
func (r *Record) line() (line []byte, hash string, err error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, "", err
	}
	hash = hashOf(raw)
	return []byte(lineBegin + hash + lineMiddle + string(raw) + lineEnd), hash, nil
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

var errNoLine = errors.New("it is no line of the log")

// parseLine returns the hash that a line states, and the bytes of its record. It accepts no other
// form than that of line: every byte counts.
func parseLine(line []byte) (hash string, raw []byte, err error) {
	begin, middle := len(lineBegin), len(lineBegin)+hashLength
	if len(line) < middle+len(lineMiddle)+len(lineEnd) || string(line[:begin]) != lineBegin ||
		!bytes.HasPrefix(line[middle:], []byte(lineMiddle)) || !bytes.HasSuffix(line, []byte(lineEnd)) {
		return "", nil, errNoLine
	}
	return string(line[begin:middle]), line[middle+len(lineMiddle) : len(line)-len(lineEnd)], nil
}

// parse returns the record of a line, without a look at its hash.
func parse(line []byte) (r Record, err error) {
	_, raw, err := parseLine(line)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}
