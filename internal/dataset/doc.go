// Package dataset reads data sets for the evaluation and the training of
// retrieval: tools, labelled queries and what others made of them.
//
// A data set is a folder of JSON Lines files, each plain or gzipped (".gz").
// Only tools.jsonl has to be there; what needs another file says so. Errors
// name the file and the line.
package dataset
