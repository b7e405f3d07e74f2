// Package streamtest is a bus in memory for tests: the stream contract with no
// server behind it, and faults on demand.
package streamtest
