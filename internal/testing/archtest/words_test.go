package archtest

import (
	"regexp"
	"strings"
	"testing"
)

// banned is a piece of code that has bitten someone, and what to write
// instead.
type banned struct {
	pattern *regexp.Regexp
	reason  string
	where   func(file string) bool
}

func bannedCode() []banned {
	everywhere := func(string) bool { return true }
	outsideMain := func(f string) bool {
		return !strings.HasPrefix(f, "cmd/") && !strings.HasPrefix(f, "internal/testing/cmd/") && !strings.HasPrefix(f, "deploy/") && !strings.HasPrefix(f, "examples/") && !isTest(f)
	}
	code := func(f string) bool { return !isTest(f) }
	return []banned{
		{regexp.MustCompile(`\bos\.Exit\(|\blog\.Fatal`), "only a main ends the process: return an error", outsideMain},
		{regexp.MustCompile(`^func init\(\)`), "wiring is a function one can read, not an import's side effect", everywhere},
		{regexp.MustCompile(`&?backoff\.ExponentialBackOff\{`), "a literal has a nil clock and a zero interval: use NewExponentialBackOff", everywhere},
		{regexp.MustCompile(`\bkafka\.Writer\{`), "the zero writer does not wait for acknowledgements: use the adapter's constructor", everywhere},
		{regexp.MustCompile(`\.ReadMessage\(`), "it commits before the message is handled: fetch, handle, commit", everywhere},
		{regexp.MustCompile(`\btime\.Sleep\(`), "a test waits for a condition, not for a time", isTest},
		{regexp.MustCompile(`\btime\.Sleep\(`), "a sleep cannot be cancelled: select on a timer and the context", code},
		{regexp.MustCompile(`\bprometheus\.(MustRegister|DefaultRegisterer)\b|\bpromauto\.New[A-Z]\w*\(prometheus\.`), "metrics are registered where the service is given a registerer", everywhere},
	}
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

func TestNothingBannedIsWritten(t *testing.T) {
	rules := bannedCode()
	for _, file := range goFiles(t) {
		if strings.HasPrefix(file, "internal/testing/archtest/") {
			continue
		}
		text := read(t, file)
		virtual := strings.Contains(text, `"testing/synctest"`) // there, a sleep only moves the clock
		for i, line := range strings.Split(text, "\n") {
			for _, b := range rules {
				if virtual && strings.Contains(line, "time.Sleep(") {
					continue
				}
				if b.where(file) && b.pattern.MatchString(line) {
					t.Errorf("%s:%d: %s: %s", file, i+1, strings.TrimSpace(line), b.reason)
				}
			}
		}
	}
}
