// Package kit groups leaf packages that do not depend on tools.
//
// They import each other, pkg and libraries only; every other folder imports from here. Texts and
// numbers: text (words, sentences, identifiers), vector (inner products), jsondoc (JSON and YAML
// from strangers). Files and certificates: files. Signals: telemetry (metrics and spans), measures.
// Callers: identity, redact, quota, fairqueue. Lifetimes: lifecycle.
//
// Open first: jsondoc/doc.go for reading foreign documents, text/doc.go for words,
// identity/caller.go for callers.
package kit
