package generations

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// PlanSchema is the newest version of Plan.
const PlanSchema = 1

// Generation is an index of one embedding model.
type Generation struct {
	Number     int    `json:"number"`
	Setting    string `json:"setting" doc:"As in embedder.model."`
	Model      string `json:"model,omitempty" doc:"Name that the model has in vectors; absent until it was loaded once."`
	Dimensions int    `json:"dimensions,omitempty"`
}

// Plan says which generations are kept up to date, and which one is to be
// searched. It is a value: what is derived from it is another one.
type Plan struct {
	Schema      int          `json:"schema"`
	Last        int          `json:"last"`   // the highest number that was ever given
	Live        int          `json:"live"`   // that searches began to use last
	Target      int          `json:"target"` // that searches are to use
	Generations []Generation `json:"generations"`
	Retired     []Generation `json:"retired,omitempty"` // that were given up last, the last one at the end
}

// maxRetired is how many retired generations a plan names: more than processes that
// are away for a while have yet to clean up after.
const maxRetired = 8

// The ways in which a plan refuses to be changed.
var (
	ErrSame     = errors.New("this model is the target already")
	ErrNoOther  = errors.New("there is no other generation")
	ErrBuilding = errors.New("the target is not searched yet")
)

// First is the plan of a deployment that never changed its model.
func First(g Generation) Plan {
	g.Number = 1
	return Plan{Schema: PlanSchema, Last: 1, Live: 1, Target: 1, Generations: []Generation{g}}
}

// Find returns a generation by its number, and whether the plan has it.
func (p Plan) Find(number int) (Generation, bool) {
	i := slices.IndexFunc(p.Generations, func(g Generation) bool { return g.Number == number })
	if i < 0 {
		return Generation{}, false
	}
	return p.Generations[i], true
}

// Has reports whether the plan has a generation of that number.
func (p Plan) Has(number int) bool { _, ok := p.Find(number); return ok }

// Next makes a generation of a model the target: the one that is there, else a
// new one, beside which only the live one is kept.
func (p Plan) Next(g Generation) (Plan, error) {
	for _, other := range p.Generations {
		switch {
		case other.Model != g.Model || other.Model == "":
		case other.Number == p.Target:
			return p, ErrSame
		default:
			p.Target = other.Number
			return p, nil
		}
	}
	live, _ := p.Find(p.Live)
	g.Number = p.Last + 1
	p.Last, p.Target = g.Number, g.Number
	return p.keep(live, g), nil
}

// Back makes the other generation the target: of an upgrade that is under way
// the one that is searched still, else the one before.
func (p Plan) Back() (Plan, error) {
	other, ok := p.other()
	if !ok {
		return p, ErrNoOther
	}
	p.Target = other.Number
	return p, nil
}

// Finish retires the generation that is not searched.
func (p Plan) Finish() (Plan, error) {
	if p.Target != p.Live {
		return p, ErrBuilding
	}
	if _, ok := p.other(); !ok {
		return p, ErrNoOther
	}
	target, _ := p.Find(p.Target)
	return p.keep(target), nil
}

// keep retires all generations but these.
func (p Plan) keep(kept ...Generation) Plan {
	retired := slices.Clone(p.Retired)
	for _, g := range p.Generations {
		if !slices.ContainsFunc(kept, func(k Generation) bool { return k.Number == g.Number }) {
			retired = append(retired, g)
		}
	}
	p.Generations, p.Retired = kept, retired[max(len(retired)-maxRetired, 0):]
	return p
}

// other is the generation that is not the target.
func (p Plan) other() (Generation, bool) {
	i := slices.IndexFunc(p.Generations, func(g Generation) bool { return g.Number != p.Target })
	if i < 0 {
		return Generation{}, false
	}
	return p.Generations[i], true
}

// Switched notes that searches use a generation now, if it is the target.
func (p Plan) Switched(number int) Plan {
	if number == p.Target {
		p.Live = number
	}
	return p
}

// Learned notes what a generation's model turned out to be, where that is not
// known.
func (p Plan) Learned(number int, model string, dimensions int) Plan {
	p.Generations = slices.Clone(p.Generations)
	for i := range p.Generations {
		if g := &p.Generations[i]; g.Number == number && g.Model == "" {
			g.Model, g.Dimensions = model, dimensions
		}
	}
	return p
}

// validate checks what the rest relies on.
func (p Plan) validate() error {
	if p.Schema < 1 || p.Schema > PlanSchema {
		return fmt.Errorf("plan of schema %d, this program reads 1 to %d", p.Schema, PlanSchema)
	}
	if n := len(p.Generations); n < 1 || n > 2 {
		return fmt.Errorf("plan with %d generations", n)
	}
	for _, g := range p.Generations {
		if g.Number < 1 || g.Number > p.Last || g.Setting == "" {
			return fmt.Errorf("plan with generation %d of %q, the last is %d", g.Number, g.Setting, p.Last)
		}
	}
	if !p.Has(p.Live) || !p.Has(p.Target) {
		return fmt.Errorf("plan that lacks its target %d or its live generation %d", p.Target, p.Live)
	}
	return nil
}

func encode(p Plan) ([]byte, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("generations: encode plan: %w", err)
	}
	return raw, nil
}

func decode(raw []byte) (Plan, error) {
	var p Plan
	err := json.Unmarshal(raw, &p)
	if err == nil {
		err = p.validate()
	}
	if err != nil {
		return Plan{}, fmt.Errorf("generations: decode plan: %w", err)
	}
	return p, nil
}
