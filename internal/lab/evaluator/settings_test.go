package evaluator

import (
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestSettings(t *testing.T) {
	good := DefaultSettings()
	check.OK(t, good.Validate())
	for name, spoil := range map[string]func(*Settings){
		"unknown value":                    func(s *Settings) { s.Rank = "cats" },
		"usage without learning":           func(s *Settings) { s.Usage = On },
		"steps of rewritten queries":       func(s *Settings) { s.Steps, s.Queries = On, Recorded },
		"providers by the documents' text": func(s *Settings) { s.Rank, s.Baseline = Providers, FullDocument },
		"no weights":                       func(s *Settings) { s.Weights = "" },
		"retrieval by something else":      func(s *Settings) { s.Retrieval = "" },
	} {
		s := good
		if spoil(&s); s.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
