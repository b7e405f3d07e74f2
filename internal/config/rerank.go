package config

import (
	"fmt"
	"strconv"

	"github.com/toolstream/toolstream/pkg/rerank"
)

// Rerank holds the bounds of rerank.Config.
type Rerank struct {
	Clear        float64 `koanf:"clear"`
	Alike        float64 `koanf:"alike"`
	PerComponent int     `koanf:"per_component"`
	KeepSeen     int     `koanf:"keep_seen"`
	KeepUnseen   int     `koanf:"keep_unseen"`
	OwnNeed      float64 `koanf:"own_need"`
	SingleFrom   float64 `koanf:"single_from"`
	MultiTo      float64 `koanf:"multi_to"`
}

// Bounds returns the bounds of reranking.
func (r Rerank) Bounds() rerank.Config {
	return rerank.Config{
		KeepSeen: r.KeepSeen, KeepUnseen: r.KeepUnseen, Clear: r.Clear, Alike: r.Alike, PerComponent: r.PerComponent,
		OwnNeed: r.OwnNeed, SingleFrom: r.SingleFrom, MultiTo: r.MultiTo,
	}
}

func (r Rerank) validate() error {
	if err := r.Bounds().Validate(); err != nil {
		return fmt.Errorf("config: the settings rerank.*: %w", err)
	}
	return nil
}

func (r Rerank) values() map[string]string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return map[string]string{
		"rerank.clear": number(r.Clear), "rerank.alike": number(r.Alike),
		"rerank.per_component": strconv.Itoa(r.PerComponent), "rerank.keep_seen": strconv.Itoa(r.KeepSeen),
		"rerank.keep_unseen": strconv.Itoa(r.KeepUnseen), "rerank.own_need": number(r.OwnNeed), "rerank.single_from": number(r.SingleFrom), "rerank.multi_to": number(r.MultiTo),
	}
}
