// Package quota reads limits that apply to all tenants, or to one tenant.
package quota

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Quota is a limit by tenant, with "" for all other tenants. 0 means unlimited.
type Quota map[string]int

// Parse reads a list of NUMBER, at most one, and TENANT=NUMBER. The error quotes the invalid
// member.
func Parse(list []string) (Quota, error) {
	out := Quota{}
	for _, member := range list {
		tenant, number, named := strings.Cut(member, "=")
		if !named {
			tenant, number = "", member
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || named && schema.ValidateTenant(tenant) != nil {
			return nil, fmt.Errorf("%q is not NUMBER or TENANT=NUMBER", member)
		}
		if _, twice := out[tenant]; twice {
			return nil, fmt.Errorf("%q is the second number of the same tenant", member)
		}
		out[tenant] = n
	}
	return out, nil
}

// Of returns the limit of a tenant, 0 if it has no limit.
func (q Quota) Of(tenant string) int {
	if own, named := q[tenant]; named {
		return own
	}
	return q[""]
}

// None reports whether no tenant has a limit.
func (q Quota) None() bool {
	for _, n := range q {
		if n > 0 {
			return false
		}
	}
	return true
}
