package search

import (
	"fmt"
	"slices"
	"strings"
)

// HoldBack holds, by tenant, the flags whose entities rank behind all others; "" is for the
// tenants that are not named.
type HoldBack map[string][]string

// ParseHoldBack reads a list of FLAG, and of TENANT=FLAG for tenants that have a list of
// their own; TENANT=off is an empty one. The error names a flag that is not known.
func ParseHoldBack(list, known []string) (HoldBack, error) {
	out := HoldBack{}
	for _, member := range list {
		tenant, flag, named := strings.Cut(member, "=")
		if !named {
			tenant, flag = "", member
		}
		switch {
		case named && tenant == "":
			return nil, fmt.Errorf("query.hold_back: %q is not TENANT=FLAG", member)
		case named && flag == "off":
			out[tenant] = []string{}
		case slices.Contains(known, flag):
			out[tenant] = append(out[tenant], flag)
		default:
			return nil, fmt.Errorf("query.hold_back: unknown flag %q; the flags are %s", flag, strings.Join(known, ", "))
		}
	}
	return out, nil
}
