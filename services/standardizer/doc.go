// Package standardizer is the stage between tools.raw and tools.standardized:
// it gives every change the document that its raw source describes.
//
// Open first: service.go, then rules/rules.go.
package standardizer
