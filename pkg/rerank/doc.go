// Package rerank reorders a ranking by who owns its tools, after ToolRerank
// (arXiv 2403.06551): the results of a query that one owner can answer are
// brought together, those of a query that needs several are spread. Everything
// here is a pure function; an order is a list of positions in what was given,
// and always holds each of them once.
package rerank
