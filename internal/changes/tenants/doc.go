// Package tenants exports a tenant, and erases it everywhere at once.
//
// # Fences
//
// A fence is a small permanent record that marks a tenant as erased. Every process follows
// the fences, and reads and writes the bus through a Bus that obeys them: it neither delivers
// nor publishes records behind a fence. So a replica that was down, a stage with a record
// under way, and a topic that is read again do not bring a tenant back, even if servers
// still hold its records.
//
// A fence first is erasing: the whole tenant is behind it. Each process finishes its batches,
// and its stores forget the tenant. After every reachable process has done so, the records on
// the bus, the keys of the buckets and the vectors are removed. Finally the fence gets the
// ends of the topics: later records belong to a new tenant of that name.
//
// Each step may be repeated. If a crash interrupts an erasure, its fence remains and Run
// completes it.
package tenants
