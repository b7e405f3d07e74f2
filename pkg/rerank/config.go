package rerank

// Config holds the bounds of reranking.
type Config struct {
	KeepSeen     int     // m_s: number of top places whose seen tools are reordered
	KeepUnseen   int     // m_u: number of top places whose unseen tools are reordered
	Clear        float64 // tau_s: least calibrated score of a tool that speaks for its owner
	Alike        float64 // tau_m: cosine above which two tools are of one component
	PerComponent int     // n: tools of one component that stay in front
	Classifier   Classifier
}

// DefaultConfig returns the bounds of arXiv 2403.06551, except Alike, which depends on the
// embedding model, and the classifier as `toolstream-lab tune --rerank` trains it on
// ToolBench and Seal-Tools.
func DefaultConfig() Config {
	return Config{
		KeepSeen: 10, KeepUnseen: 50, Clear: 0.85, Alike: 0.8, PerComponent: 3,
		Classifier: Classifier{Bias: -5.51, Coverage: 8.12, Lift: -4.55, SingleFrom: 0.8, MultiTo: 0.35},
	}
}
