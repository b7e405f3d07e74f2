// Package streamtest is an in-memory bus for tests. It implements the stream
// contract without a server, and fails on demand. KV and Answers are stores in memory.
package streamtest
