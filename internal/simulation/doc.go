// Package simulation lets made-up users work with the real services: users who
// click by a model of what clicking depends on, and a world that stands in for
// the bus, the store and the clock, in memory and without any waiting, so that
// the same seed gives the same outcome.
package simulation
