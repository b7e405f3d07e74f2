package schema

import "time"

// UsageSchema is the newest version of Usage.
const UsageSchema = 1

// MaxAsked is how many queries a table of usage holds of a tool.
const MaxAsked = 8

// Usage is what a tenant's feedback says of its tools beside their texts. The
// numbers are feature values, ready to be weighted.
type Usage struct {
	Schema  int                           `json:"schema"`
	Tenant  string                        `json:"tenant"`
	Epoch   uint64                        `json:"epoch"`            // rises with every published version
	Prior   map[string]float64            `json:"prior"`            // tool id to log(1 + decayed uses)
	CoUse   map[string]map[string]float64 `json:"co_use,omitempty"` // tool id to tool id to log(1 + decayed uses for the same search); symmetric
	Model   string                        `json:"model,omitempty"`  // embedding model of asked
	Asked   map[string][]Direction        `json:"asked,omitempty"`  // tool id to the queries that it was used for, at most 8 that stand for all
	Updated time.Time                     `json:"updated"`
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
	return u.checkAsked()
}

func (u *Usage) checkAsked() error {
	dimensions := 0
	for _, tool := range sortedKeys(u.Asked) {
		path := "/asked/" + pointer(tool)
		if n := len(u.Asked[tool]); n > MaxAsked {
			return invalid(path, n, "must be at most %d", MaxAsked)
		}
		for _, d := range u.Asked[tool] {
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

func checkUses(path string, uses map[string]float64) error {
	for _, tool := range sortedKeys(uses) {
		if err := checkNumber(path+"/"+pointer(tool), uses[tool], 0); err != nil {
			return err
		}
	}
	return nil
}
