package evaluator

import (
	"reflect"
	"testing"

	"github.com/toolstream/toolstream/internal/lab/attack"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestAttackSaysWhatSearchesAnswer(t *testing.T) {
	dir := writeSet(t, smallSet())
	cfg := AttackConfig{Dir: dir, Kind: attack.Flood, Seeds: 2, Config: evalConfig(t, dir, nil).Config}
	attacked := func() *Attacked {
		t.Helper()
		a := check.Value(Attack(t.Context(), cfg, nil))(t)
		return a
	}
	open, held := cfg.Config, cfg.Config
	open.Query.HoldBack = nil
	cfg.Config = open
	a := attacked()
	if a.Tools != 5 || a.Queries != 3 || a.Right <= 0 || a.NDCG <= 0 || len(a.Forms) != 2*len(attack.Forms(attack.Flood)) {
		t.Errorf("%+v", a)
	}
	by := a.Forms[0]
	if by.Form != "description" || by.Injected != 1 || by.Flagged == 0 || by.Targeted != 1 {
		t.Errorf("a tool made of requests is not found among six: %+v", by)
	}
	if again := attacked(); !reflect.DeepEqual(a, again) {
		t.Errorf("%+v, and again %+v", a, again)
	}
	cfg.Config = held
	if by := attacked().Forms[0]; by.Targeted != 0 {
		t.Errorf("held back, it is among the first five: %+v", by)
	}
}
