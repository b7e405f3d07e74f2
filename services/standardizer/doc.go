// Package standardizer is the stage between tools.raw and tools.standardized:
// it gives every change the document that its raw source describes.
package standardizer
