package process

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// Resident returns the bytes of the process that are in memory, now and at most since its start
// or ResetPeak. On systems without /proc it skips the test.
func (p *Process) Resident(t testing.TB) (now, peak int64) {
	t.Helper()
	raw, err := os.ReadFile(p.proc("status"))
	if err != nil {
		t.Skip(err)
	}
	read := func(field string) (kilobytes int64) {
		_, rest, _ := strings.Cut(string(raw), field)
		check.Value(fmt.Sscan(rest, &kilobytes))(t)
		return kilobytes << 10
	}
	return read("VmRSS:"), read("VmHWM:")
}

// ResetPeak makes the present memory of the process its peak.
func (p *Process) ResetPeak(t testing.TB) {
	t.Helper()
	check.OK(t, os.WriteFile(p.proc("clear_refs"), []byte("5"), 0))
}

// Files returns the number of open files of the process, sockets included.
func (p *Process) Files(t testing.TB) int {
	t.Helper()
	return len(check.Value(os.ReadDir(p.proc("fd")))(t))
}

// Processor returns the processor time that the process has used, in steps of 10 ms. On systems
// without /proc it skips the test.
func (p *Process) Processor(t testing.TB) time.Duration {
	t.Helper()
	raw, err := os.ReadFile(p.proc("stat"))
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	var user, system int64
	fields := strings.Fields(rest)
	check.Value(fmt.Sscan(fields[11]+" "+fields[12], &user, &system))(t)
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (p *Process) proc(file string) string { return fmt.Sprintf("/proc/%d/%s", p.PID(), file) }
