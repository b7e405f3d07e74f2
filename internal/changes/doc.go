// Package changes holds records about changes: dead letters, revisions, tenants.
//
// Changes enter from the topics; failed records with their reasons (deadletter), the last versions
// of each entity (revisions), and exports and fences of tenants (tenants) leave over HTTP.
//
// The stages write dead letters (bus/stream/worker.go).
//
// Open first: deadletter/store.go, then deadletter/decide.go for replays.
package changes
