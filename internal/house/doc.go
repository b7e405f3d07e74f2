// Package house holds the rules of the house as tests: which room may import
// which, that what is exported is documented, and what is not written at all.
// It has no code of its own.
package house
