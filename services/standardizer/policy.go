package standardizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// FlagChanged marks a document that has changed since an operator released it.
const FlagChanged = "changed-after-release"

// FlagHeld marks a document that an operator has put into quarantine.
const FlagHeld = "quarantined-by-operator"

// FlagBoilerplate marks a document some of whose source stands in a hundred tools.
const FlagBoilerplate = "boilerplate-in-text"

// Flags lists every flag that a document may have.
func Flags() []string {
	return []string{
		injection.Flag, text.FlagInvisible, text.FlagTags, text.FlagBidi, text.FlagControl, text.FlagMixedScripts,
		rules.FlagTruncated, rules.FlagRequests, rules.FlagSubjects, FlagBoilerplate, FlagChanged, FlagHeld,
	}
}

// policy says which documents are kept out of answers.
type policy struct {
	held   []string            // flags
	exempt map[string][]string // flags that a provider's documents do not get
}

// newPolicy checks flags and exemptions, which are as "flag=provider".
func newPolicy(held, exempt []string) (policy, error) {
	p := policy{held, map[string][]string{}}
	for _, flag := range held {
		if !slices.Contains(Flags(), flag) {
			return p, unknownFlag("quarantine", flag)
		}
	}
	for _, e := range exempt {
		flag, provider, ok := strings.Cut(e, "=")
		if !ok || provider == "" {
			return p, fmt.Errorf("standardizer.exempt: %q is not FLAG=PROVIDER", e)
		}
		if !slices.Contains(Flags(), flag) {
			return p, unknownFlag("exempt", flag)
		}
		p.exempt[provider] = append(p.exempt[provider], flag)
	}
	return p, nil
}

func unknownFlag(setting, flag string) error {
	return fmt.Errorf("standardizer.%s: there is no flag %q; there are %s", setting, flag, strings.Join(Flags(), ", "))
}

// source is what the policy looks at beside flags.
type source struct {
	schema.Ref
	Provider string `json:"provider"`
	Hash     string `json:"hash"`
	Released string `json:"released"`
	Held     bool   `json:"held"`
}

// released reports whether an operator has let out this very document.
func (s source) released() bool { return s.Released != "" && s.Released == s.Hash }

// flags returns the flags of a document, given those of its text.
func (p policy) flags(s source, found []string) []string {
	if s.Released != "" && s.Released != s.Hash {
		found = append(slices.Clone(found), FlagChanged)
	}
	if s.Held {
		found = append(slices.Clone(found), FlagHeld)
	}
	if s.released() { // somebody has looked at it
		found = slices.DeleteFunc(slices.Clone(found), func(flag string) bool { return flag == rules.FlagRequests || flag == rules.FlagSubjects })
	}
	own := s.Provider
	if s.Kind == schema.KindProvider {
		own = s.ID
	}
	exempt := p.exempt[own]
	if len(exempt) == 0 {
		return found
	}
	return slices.DeleteFunc(slices.Clone(found), func(flag string) bool { return slices.Contains(exempt, flag) })
}

// holds reports whether a document with these flags is in quarantine.
func (p policy) holds(s source, flags []string) bool {
	return s.Held || !s.released() && slices.ContainsFunc(flags, func(flag string) bool { return slices.Contains(p.held, flag) })
}
