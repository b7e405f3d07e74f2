package rerank

// Config holds the bounds of reranking.
type Config struct {
	KeepSeen     int     // m_s: places to which seen tools are reordered
	KeepUnseen   int     // m_u: places to which unseen tools are
	Clear        float64 // tau_s: calibrated score from which a tool speaks for its owner
	Alike        float64 // tau_m: similarity above which two tools are of one component
	PerComponent int     // n: tools of one component that stay in front
	OwnNeed      float64 // share of a need's words by which a tool says more of it than those of clear owners
	SingleFrom   float64 // probability from which a query is reranked as single
	MultiTo      float64 // probability to which a query is reranked as multi
}

// DefaultConfig returns the bounds of arXiv 2403.06551, and our own for what is
// uncertain: between SingleFrom and MultiTo a ranking stays as it is, and a tool
// that says a quarter of a need more than others is not overtaken. A query that
// needs several owners loses more by being taken for a single one than the other
// way round.
func DefaultConfig() Config {
	return Config{
		KeepSeen: 10, KeepUnseen: 50, Clear: 0.85, Alike: 0.7, PerComponent: 3,
		OwnNeed: 0.25, SingleFrom: 0.6, MultiTo: 0.1,
	}
}
