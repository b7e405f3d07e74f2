// Package rules turns raw tool documents into standardized ones by rules
// alone: what a structured source says of its parameters, types, required
// flags, defaults and response is taken over as it stands, prose is searched
// for the conventions in which people write such things down, and what no
// rule finds stays empty. Nothing is invented.
//
// Every rule is a pure function of the decoded document. The order of the
// keys in a JSON object never matters; the order of a list does.
package rules
