// Package query is the query service. It only composes its parts: search has the stages of a
// search, catalogue lists and describes tools, record publishes impressions and feedback, and
// weights follows the weights and usage that the trainer learns.
//
// Open first: search/search.go, which has the stages of a search in order.
package query
