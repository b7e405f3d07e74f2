// Package adaptertest holds what every adapter of a port has to pass: one
// suite per port, run by the tests of each adapter.
package adaptertest
