// Package rerank reorders a ranking by who owns its tools, after ToolRerank
// (arXiv 2403.06551): it brings the results of a query together if one owner can
// answer it, and spreads them if the query needs several. Everything here is a
// pure function; an order is a list of positions in the input with each of them
// once.
package rerank
