// Package adaptertest has the contract tests of the ports: a suite per port, run
// by the tests of each adapter.
package adaptertest
