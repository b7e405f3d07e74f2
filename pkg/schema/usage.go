package schema

import (
	"fmt"
	"time"
)

// UsageSchema is the newest version of Usage.
const UsageSchema = 1

// MaxAsked is how many queries a table of usage holds of a tool.
const MaxAsked = 8

// Usage is what a tenant's feedback says of its tools beside their texts. The
// numbers are feature values, ready to be weighted.
type Usage struct {
	Schema   int                           `json:"schema"`
	Tenant   string                        `json:"tenant"`
	Epoch    uint64                        `json:"epoch"`              // rises with every published version
	Prior    map[string]float64            `json:"prior"`              // tool id to log(1 + decayed uses)
	CoUse    map[string]map[string]float64 `json:"co_use,omitempty"`   // tool id to tool id to log(1 + decayed uses for the same search); symmetric
	Withheld bool                          `json:"withheld,omitempty"` // prior, co_use and asked say which tools are known, and have no say in rankings
	Model    string                        `json:"model,omitempty"`    // embedding model of asked
	Asked    map[string][]Direction        `json:"asked,omitempty"`    // tool id to the queries that it was used for, at most 8 that stand for all
	Came     []Outcome                     `json:"came,omitempty"`     // of the questions of that model that were asked last
	Others   []Asked                       `json:"others,omitempty"`   // what was asked by other embedding models
	Single   *Classifier                   `json:"single,omitempty"`   // which queries one owner answers; absent where that is not known
	Updated  time.Time                     `json:"updated"`
}

// Asked is what tools were used for by the queries of one embedding model: the
// vectors of two do not compare.
type Asked struct {
	Model string                 `json:"model"`
	Tools map[string][]Direction `json:"tools"` // as Usage.Asked
}

// Outcome is what came of searches for the same: by tool id the log of how much
// likelier that is where the tool is right for them than where it is not.
type Outcome struct {
	Query Direction          `json:"query"`
	Tools map[string]float64 `json:"tools"`
}

// Validate checks tenant and numbers, which are finite and not negative, and
// that what was asked is of one number of dimensions. The error is an *Invalid.
func (u *Usage) Validate() error {
	if u.Schema < 1 || u.Schema > UsageSchema {
		return invalid("/schema", u.Schema, "must be 1 to %d", UsageSchema)
	}
	if err := ValidateTenant(u.Tenant); err != nil {
		return err
	}
	if err := checkUses("/prior", u.Prior); err != nil {
		return err
	}
	for _, tool := range sortedKeys(u.CoUse) {
		if err := checkUses("/co_use/"+pointer(tool), u.CoUse[tool]); err != nil {
			return err
		}
	}
	if err := checkText("/model", u.Model, MaxModel); err != nil {
		return err
	}
	if u.Single != nil {
		if err := u.Single.validate("/single"); err != nil {
			return err
		}
	}
	for i, other := range u.Others {
		path := fmt.Sprintf("/others/%d", i)
		if err := checkText(path+"/model", other.Model, MaxModel); err != nil {
			return err
		}
		if err := checkAsked(path+"/tools/", other.Tools); err != nil {
			return err
		}
	}
	if err := checkCame(u.Came); err != nil {
		return err
	}
	return checkAsked("/asked/", u.Asked)
}

func checkCame(came []Outcome) error {
	for i, c := range came {
		path := fmt.Sprintf("/came/%d", i)
		if len(c.Query) == 0 || len(c.Query) != len(came[0].Query) {
			return invalid(path+"/query", len(c.Query), "must all have the same number of dimensions")
		}
		if err := c.Query.Validate(); err != nil {
			return invalid(path+"/query", "", "%v", err)
		}
		for _, tool := range sortedKeys(c.Tools) {
			if err := checkNumber(path+"/tools/"+pointer(tool), c.Tools[tool], -MaxWeight); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkAsked(prefix string, asked map[string][]Direction) error {
	dimensions := 0
	for _, tool := range sortedKeys(asked) {
		path := prefix + pointer(tool)
		if n := len(asked[tool]); n > MaxAsked {
			return invalid(path, n, "must be at most %d", MaxAsked)
		}
		for _, d := range asked[tool] {
			if dimensions == 0 {
				dimensions = len(d)
			}
			if len(d) == 0 || len(d) != dimensions {
				return invalid(path, len(d), "must all have the same number of dimensions, %d", dimensions)
			}
			if err := d.Validate(); err != nil {
				return invalid(path, "", "%v", err)
			}
		}
	}
	return nil
}

// mostUses bounds the logarithms of counts: those of all atoms there are would stay
// below it, and their exponentials are finite.
const mostUses = 200

func checkUses(path string, uses map[string]float64) error {
	for _, tool := range sortedKeys(uses) {
		if err := checkNumber(path+"/"+pointer(tool), uses[tool], 0); err != nil {
			return err
		}
		if uses[tool] > mostUses {
			return invalid(path+"/"+pointer(tool), uses[tool], "is above %d, which no count comes to", mostUses)
		}
	}
	return nil
}
