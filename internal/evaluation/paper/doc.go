// Package paper scores and learns exactly as the authors of Multi-Field Tool
// Retrieval do (arXiv 2602.05366), on recorded standardized tools and recorded
// rewritten queries, so that figures can be compared with theirs.
//
// It is not what serves: the texts of its fields, its BM25 and its one score
// per field are the paper's, not those of internal/index. The fusion, the
// penalty and the learning are pkg/fusion, as everywhere.
package paper
