package standardizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// FlagChanged marks a document that has changed since an operator released it.
const FlagChanged = "changed-after-release"

// FlagHeld marks a document that an operator has put into quarantine.
const FlagHeld = "quarantined-by-operator"

// FlagUnreleased marks a document that no operator has released as it is. It is only given if it
// holds documents: otherwise it would be on nearly all.
const FlagUnreleased = "not-released"

// Flags lists every flag that a document may have.
func Flags() []string {
	return []string{
		injection.Flag, text.FlagInvisible, text.FlagTags, text.FlagBidi, text.FlagControl, text.FlagMixedScripts,
		rules.FlagTruncated, rules.FlagRequests, rules.FlagSubjects, FlagChanged, FlagHeld, FlagUnreleased,
	}
}

// policy decides which documents go into quarantine.
type policy struct {
	held   []string            // flags
	exempt map[string][]string // flags that a provider's documents do not get
}

// newPolicy checks flags and exemptions of the form "flag=provider".
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
	return fmt.Errorf("standardizer.%s: unknown flag %q; the flags are %s", setting, flag, strings.Join(Flags(), ", "))
}

// source has the facts that the policy needs besides flags.
type source struct {
	schema.Ref
	Provider string `json:"provider"`
	Hash     string `json:"hash"`
	Released string `json:"released"`
	Held     bool   `json:"held"`
}

// released reports whether an operator has released exactly this document.
func (s source) released() bool { return s.Released != "" && s.Released == s.Hash }

// flags returns the flags of a document, given the flags of its text.
func (p policy) flags(s source, found []string) []string {
	if s.Released != "" && s.Released != s.Hash {
		found = append(slices.Clone(found), FlagChanged)
	}
	if s.Held {
		found = append(slices.Clone(found), FlagHeld)
	}
	if !s.released() && slices.Contains(p.held, FlagUnreleased) {
		found = append(slices.Clone(found), FlagUnreleased)
	}
	if s.released() { // an operator has read it
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

// holds reports whether a document with these flags belongs in quarantine.
func (p policy) holds(s source, flags []string) bool {
	return s.Held || !s.released() && slices.ContainsFunc(flags, func(flag string) bool { return slices.Contains(p.held, flag) })
}
