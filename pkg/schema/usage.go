package schema

import (
	"cmp"
	"fmt"
	"time"
)

// UsageSchema is the newest version of Usage.
const UsageSchema = 1

// MaxAsked is how many queries of a tool Usage has.
const MaxAsked = 8

// Usage has the features of a tenant's tools that follow from feedback. The numbers are feature
// values, ready to be weighted.
type Usage struct {
	Schema   int                           `json:"schema"`
	Tenant   string                        `json:"tenant"`
	Epoch    uint64                        `json:"epoch"`              // A number that rises with every published version.
	Prior    map[string]float64            `json:"prior"`              // Tool id to log(1 + decayed uses).
	CoUse    map[string]map[string]float64 `json:"co_use,omitempty"`   // Tool id to tool id to log(1 + decayed uses for the same search); symmetric.
	Withheld bool                          `json:"withheld,omitempty"` // Whether prior, co_use and asked only tell which tools are known, and do not affect rankings.
	Model    string                        `json:"model,omitempty"`    // The embedding model of asked.
	Asked    map[string][]Direction        `json:"asked,omitempty"`    // Tool id to the queries for which it was used: at most 8 that represent all.
	Came     []Outcome                     `json:"came,omitempty"`     // The outcomes of the most recent queries of the model.
	Updated  time.Time                     `json:"updated"`
}

// Outcome is the feedback on searches for the same: by tool id, the log of the likelihood ratio
// of that feedback for a tool that is right for them and one that is not.
type Outcome struct {
	Query Direction          `json:"query"`
	Tools map[string]float64 `json:"tools"`
}

// Validate checks the tenant, that numbers are finite and not negative, and that all queries
// have the same number of dimensions. The error is an *Invalid.
func (u *Usage) Validate() error {
	var c checks
	c.must(u.Schema >= 1 && u.Schema <= UsageSchema, "/schema", u.Schema, "must be 1 to %d", UsageSchema)
	c.add(ValidateTenant(u.Tenant))
	c.uses("/prior", u.Prior)
	for _, tool := range sortedKeys(u.CoUse) {
		c.uses("/co_use/"+pointer(tool), u.CoUse[tool])
	}
	c.text("/model", u.Model, MaxModel)
	for i, o := range u.Came {
		path := fmt.Sprintf("/came/%d", i)
		c.direction(path+"/query", o.Query, len(u.Came[0].Query))
		for _, tool := range sortedKeys(o.Tools) {
			c.number(path+"/tools/"+pointer(tool), o.Tools[tool], -MaxWeight)
		}
	}
	dimensions := 0
	for _, tool := range sortedKeys(u.Asked) {
		path := "/asked/" + pointer(tool)
		c.must(len(u.Asked[tool]) <= MaxAsked, path, len(u.Asked[tool]), "must be at most %d", MaxAsked)
		for _, d := range u.Asked[tool] {
			dimensions = cmp.Or(dimensions, len(d))
			c.direction(path, d, dimensions)
		}
	}
	return c.err
}

// direction checks an embedding with a given number of dimensions.
func (c *checks) direction(path string, d Direction, dimensions int) {
	c.must(len(d) > 0 && len(d) == dimensions, path, len(d), "must all have the same number of dimensions")
	if err := d.Validate(); err != nil {
		c.refuse(path, "", "%v", err)
	}
}

// mostUses bounds the logarithms of counts. A count of all atoms stays below it, and its
// exponential is finite.
const mostUses = 200

func (c *checks) uses(path string, uses map[string]float64) {
	for _, tool := range sortedKeys(uses) {
		c.number(path+"/"+pointer(tool), uses[tool], 0)
		if uses[tool] > mostUses {
			c.refuse(path+"/"+pointer(tool), uses[tool], "is above %d, which no count comes to", mostUses)
		}
	}
}
