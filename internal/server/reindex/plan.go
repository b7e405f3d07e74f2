package reindex

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// PlanSchema is the newest version of Plan.
const PlanSchema = 1

// Version is an index of one embedding model. A change of the model keeps two versions up to
// date until searches have switched (blue/green).
type Version struct {
	Number     int    `json:"number" doc:"Number of the index version."`
	Setting    string `json:"setting,omitempty" doc:"Model, as in embedder.model."`
	Model      string `json:"model,omitempty" doc:"Name that the model has in vectors; absent until it was loaded once."`
	Dimensions int    `json:"dimensions,omitempty" doc:"Dimensions of its vectors."`
}

// Plan lists the index versions to keep up to date, and names the one that searches are to use. It
// is a value: its methods return another plan.
type Plan struct {
	Schema   int       `json:"schema"`
	Last     int       `json:"last"`              // highest number so far
	Live     int       `json:"live"`              // number of the version that searches use
	Target   int       `json:"target"`            // number of the version that searches will switch to
	Setting  string    `json:"setting,omitempty"` // embedder.model that was made the target; a process without peers follows its changes
	Versions []Version `json:"versions"`
	Retired  []Version `json:"retired,omitempty"` // the last retired versions, newest last
}

// maxRetired is how many retired versions a plan lists, so that a process that was down for
// a while can still remove them.
const maxRetired = 8

// The errors of a change of the plan.
var (
	ErrSame     = errors.New("searches use this model, or are about to")
	ErrNoOther  = errors.New("there is no other index version")
	ErrBuilding = errors.New("searches do not use the target yet")
)

// First is the plan of a deployment that never changed its model.
func First(g Version) Plan {
	g.Number = 1
	return Plan{Schema: PlanSchema, Last: 1, Live: 1, Target: 1, Versions: []Version{g}}
}

// Find returns a version by its number, and whether the plan has it.
func (p Plan) Find(number int) (Version, bool) {
	i := slices.IndexFunc(p.Versions, func(g Version) bool { return g.Number == number })
	if i < 0 {
		return Version{}, false
	}
	return p.Versions[i], true
}

// Has reports whether the plan has a version of that number.
func (p Plan) Has(number int) bool { _, ok := p.Find(number); return ok }

// Next makes a version of a model the target. If the plan lacks the model, it adds a new version
// and retires every other version except the live one.
func (p Plan) Next(g Version) (Plan, error) {
	for _, other := range p.Versions {
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

// Back makes the other version the target: during an upgrade the live version, otherwise the
// previous one.
func (p Plan) Back() (Plan, error) {
	other, ok := p.other()
	if !ok {
		return p, ErrNoOther
	}
	p.Target = other.Number
	return p, nil
}

// Finish retires the version that searches do not use.
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

// keep retires all other versions.
func (p Plan) keep(kept ...Version) Plan {
	retired := slices.Clone(p.Retired)
	for _, g := range p.Versions {
		if !slices.ContainsFunc(kept, func(k Version) bool { return k.Number == g.Number }) {
			retired = append(retired, g)
		}
	}
	p.Versions, p.Retired = kept, retired[max(len(retired)-maxRetired, 0):]
	return p
}

// other returns the version that is not the target.
func (p Plan) other() (Version, bool) {
	i := slices.IndexFunc(p.Versions, func(g Version) bool { return g.Number != p.Target })
	if i < 0 {
		return Version{}, false
	}
	return p.Versions[i], true
}

// Switched makes a version the live one, if the target is still the given one.
func (p Plan) Switched(target, live int) Plan {
	if p.Target == target && p.Has(live) {
		p.Live = live
	}
	return p
}

// Learned sets the model of a version, unless it is known.
func (p Plan) Learned(number int, model string, dimensions int) Plan {
	p.Versions = slices.Clone(p.Versions)
	for i := range p.Versions {
		if g := &p.Versions[i]; g.Number == number && g.Model == "" {
			g.Model, g.Dimensions = model, dimensions
		}
	}
	return p
}

// validate checks the invariants of a plan.
func (p Plan) validate() error {
	if p.Schema < 1 || p.Schema > PlanSchema {
		return fmt.Errorf("plan of schema %d, this program reads 1 to %d", p.Schema, PlanSchema)
	}
	if n := len(p.Versions); n < 1 || n > 2 {
		return fmt.Errorf("plan with %d versions", n)
	}
	for _, g := range p.Versions {
		if g.Number < 1 || g.Number > p.Last || g.Setting == "" {
			return fmt.Errorf("plan with version %d of %q, the last is %d", g.Number, g.Setting, p.Last)
		}
	}
	if !p.Has(p.Live) || !p.Has(p.Target) {
		return fmt.Errorf("plan that lacks its target %d or its live version %d", p.Target, p.Live)
	}
	return nil
}

func encode(p Plan) ([]byte, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("indexmgr: encode plan: %w", err)
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
		return Plan{}, fmt.Errorf("indexmgr: decode plan: %w", err)
	}
	return p, nil
}
