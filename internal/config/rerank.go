package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/toolstream/toolstream/pkg/rerank"
)

// Rerank names a cross-encoder, and holds the bounds of rerank.Config.
type Rerank struct {
	URL    string        `koanf:"url"`  // empty: none is asked
	Form   string        `koanf:"form"` // cohere, tei
	Model  string        `koanf:"model"`
	APIKey string        `koanf:"api_key"`
	Budget time.Duration `koanf:"budget"`

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
	return r.validateEndpoint()
}

func (r Rerank) validateEndpoint() error {
	if err := oneOf("rerank.form", r.Form, "cohere", "tei"); err != nil {
		return err
	}
	u, err := url.Parse(r.URL)
	switch {
	case r.Budget <= 0 || r.Budget > maxBudget:
		return fmt.Errorf("config: rerank.budget %s has to be more than 0 and at most %s", r.Budget, maxBudget)
	case r.URL == "":
		return nil
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("config: rerank.url is no address such as https://host/v1") // its words may hold a key
	case r.Form == "cohere" && r.Model == "":
		return errors.New("config: rerank.url is set: set rerank.model to the model that it is asked for")
	}
	return nil
}

func (r Rerank) values() map[string]string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return map[string]string{
		"rerank.url": r.URL, "rerank.form": r.Form, "rerank.model": r.Model, "rerank.api_key": secret(r.APIKey), "rerank.budget": r.Budget.String(),
		"rerank.clear": number(r.Clear), "rerank.alike": number(r.Alike),
		"rerank.per_component": strconv.Itoa(r.PerComponent), "rerank.keep_seen": strconv.Itoa(r.KeepSeen),
		"rerank.keep_unseen": strconv.Itoa(r.KeepUnseen), "rerank.own_need": number(r.OwnNeed), "rerank.single_from": number(r.SingleFrom), "rerank.multi_to": number(r.MultiTo),
	}
}
