// Package tenants exports a tenant, and erases it everywhere at once.
//
// # Fences
//
// What says that a tenant is erased is its fence, a small record that stays. Every process
// follows the fences, and reads and writes the bus through one Bus that obeys them: what
// lies behind a fence is not delivered to anybody, and not published. So a replica that
// was away, a stage that had a record under way, and a topic that is read again from its
// beginning do not bring a tenant back, whatever the servers still hold.
//
// A fence is erasing at first: then all of the tenant lies behind it. Each process lets
// the batches end that it has begun, and its stores forget the tenant. Once every process
// that can be asked has done so, the records on the bus, the keys of the buckets and the
// vectors are removed. The last word of the fence is where the bus ended then: what comes
// later is of a tenant that begins anew.
//
// Each step may be repeated. One that a crash interrupted is found by its fence, and
// completed.
package tenants
