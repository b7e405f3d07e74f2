package rerank

import "fmt"

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

// Unproven returns the bounds of arXiv 2403.06551 with those of ours such that
// nothing is reordered: what learning begins with that is to show that reordering
// helps.
func Unproven() Config {
	c := DefaultConfig()
	c.OwnNeed, c.SingleFrom, c.MultiTo = 1, 1, 0
	return c
}

// Validate names the first bound that means nothing.
func (c Config) Validate() error {
	for _, share := range []struct {
		name  string
		value float64
	}{{"clear", c.Clear}, {"alike", c.Alike}, {"own_need", c.OwnNeed}, {"single_from", c.SingleFrom}, {"multi_to", c.MultiTo}} {
		if !(share.value >= 0 && share.value <= 1) {
			return fmt.Errorf("rerank: %s %v is not from 0 to 1", share.name, share.value)
		}
	}
	switch {
	case min(c.KeepSeen, c.KeepUnseen, c.PerComponent) < 0:
		return fmt.Errorf("rerank: a bound is negative in %+v", c)
	case c.MultiTo >= c.SingleFrom:
		return fmt.Errorf("rerank: multi_to %v is not below single_from %v", c.MultiTo, c.SingleFrom)
	}
	return nil
}
