package schema

import "time"

// UsageSchema is the newest version of Usage.
const UsageSchema = 1

// Usage is what a tenant's feedback says of its tools beside their texts. The
// numbers are feature values, ready to be weighted.
type Usage struct {
	Schema  int                           `json:"schema"`
	Tenant  string                        `json:"tenant"`
	Epoch   uint64                        `json:"epoch"`            // rises with every published version
	Prior   map[string]float64            `json:"prior"`            // tool id to log(1 + decayed uses)
	CoUse   map[string]map[string]float64 `json:"co_use,omitempty"` // tool id to tool id to log(1 + decayed uses for the same search); symmetric
	Updated time.Time                     `json:"updated"`
}

// Validate checks tenant and numbers, which are finite and not negative. The
// error is an *Invalid.
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
