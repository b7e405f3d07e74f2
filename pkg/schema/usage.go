package schema

import (
	"cmp"
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
	Updated  time.Time                     `json:"updated"`
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

// direction checks an embedding among others.
func (c *checks) direction(path string, d Direction, dimensions int) {
	c.must(len(d) > 0 && len(d) == dimensions, path, len(d), "must all have the same number of dimensions")
	if err := d.Validate(); err != nil {
		c.refuse(path, "", "%v", err)
	}
}

// mostUses bounds the logarithms of counts: those of all atoms there are would stay
// below it, and their exponentials are finite.
const mostUses = 200

func (c *checks) uses(path string, uses map[string]float64) {
	for _, tool := range sortedKeys(uses) {
		c.number(path+"/"+pointer(tool), uses[tool], 0)
		if uses[tool] > mostUses {
			c.refuse(path+"/"+pointer(tool), uses[tool], "is above %d, which no count comes to", mostUses)
		}
	}
}
