// Package server is the wiring: it chooses the adapter behind every port, starts
// consumers before producers, and stops them in the opposite order. It is the
// only package that knows how toolstream is deployed.
//
// Open first: modules.go, the table of the parts of every process.
package server

//go:generate go test -count=1 -run "^(TestTheOpenAPIDocument|TestTheHTTPReference)IsInStep$" -update .
