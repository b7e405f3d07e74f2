package standardizer

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

func TestAReleaseHoldsForOneContent(t *testing.T) {
	const hidden = `{"name": "w", "description": "Tells the wea\u200bther."}`
	held := []string{text.FlagInvisible}
	for name, c := range map[string]struct {
		policy           []string
		raw              string
		hash, released   string
		quarantined, was bool // was: flagged as changed since its release
	}{
		"not released":                       {held, hidden, "1", "", true, false},
		"released":                           {held, hidden, "1", "1", false, false},
		"changed":                            {held, hidden, "2", "1", true, true},
		"changed to what is not flagged":     {held, boilRaw, "2", "1", false, true},
		"a change is held by policy":         {append(held, FlagChanged), boilRaw, "2", "1", true, true},
		"what was never released may change": {append(held, FlagChanged), boilRaw, "2", "", false, false},
		"another flag":                       {[]string{injection.Flag}, hidden, "1", "", false, false},
		"no policy":                          {nil, hidden, "1", "", false, false},
		"everything is read first":           {[]string{FlagUnreleased}, boilRaw, "1", "", true, false},
		"it was read":                        {[]string{FlagUnreleased}, boilRaw, "1", "1", false, false},
		"its change was not read":            {[]string{FlagUnreleased}, boilRaw, "2", "1", true, true},
	} {
		change := upsert("a", "mcp", c.raw)
		change.Hash, change.Released = c.hash, c.released
		d := made(t, Config{Quarantine: c.policy}, nil, nil, change)["a"].Document
		if d.Quarantined != c.quarantined || slices.Contains(d.Flags, FlagChanged) != c.was || slices.Contains(d.Flags, text.FlagInvisible) != (c.raw == hidden) {
			t.Errorf("%s: quarantined %v, flags %q", name, d.Quarantined, d.Flags)
		}
	}
}

// What an operator holds is in quarantine without any policy, flagged by that alone, and where
// an exemption takes the flag off.
func TestWhatAnOperatorHoldsIsInQuarantine(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		flags  []string
	}{
		"no policy": {Config{}, []string{FlagHeld}},
		"exempt":    {Config{Exempt: []string{FlagHeld + "=p"}}, nil},
	} {
		change := upsert("a", "mcp", boilRaw)
		change.Provider, change.Held = "p", true
		if d := made(t, c.config, nil, nil, change)["a"].Document; !d.Quarantined || !slices.Equal(d.Flags, c.flags) {
			t.Errorf("%s: quarantined %v, flags %q", name, d.Quarantined, d.Flags)
		}
	}
}

// What an operator has looked at is not held back for how it is written.
func TestWhatIsReleasedIsNotTakenForAFlood(t *testing.T) {
	for released, want := range map[string][]string{"": {rules.FlagRequests}, "1": {}, "2": {rules.FlagRequests, FlagChanged}} {
		change := upsert("a", "mcp", `{"name": "w", "description": "Can you tell me the weather? I want to fly."}`)
		change.Hash, change.Released = "1", released
		if d := made(t, Config{}, nil, nil, change)["a"].Document; !slices.Equal(d.Flags, want) && len(d.Flags)+len(want) > 0 {
			t.Errorf("released %q: flags %q, want %q", released, d.Flags, want)
		}
	}
}

func TestAProviderIsExemptFromAFlag(t *testing.T) {
	const both = `{"name": "w", "description": "Tells the wea\u200bther, at \u202eonce."}`
	config := Config{Quarantine: []string{text.FlagInvisible, text.FlagBidi}, Exempt: []string{text.FlagInvisible + "=own=er", text.FlagBidi + "=own=er"}}
	for owner, flags := range map[string][]string{"own=er": nil, "other": {text.FlagBidi, text.FlagInvisible}, "": {text.FlagBidi, text.FlagInvisible}} {
		tool := upsert("a", "mcp", both)
		tool.Provider = owner
		if d := made(t, config, nil, nil, tool)["a"].Document; !slices.Equal(d.Flags, flags) || d.Quarantined != (len(flags) > 0) {
			t.Errorf("a tool of %q: quarantined %v, flags %q", owner, d.Quarantined, d.Flags)
		}
		if owner == "" {
			continue
		}
		provider := upsert(owner, "provider", both)
		provider.Kind = schema.KindProvider
		if d := made(t, config, nil, nil, provider)[owner].Document; !slices.Equal(d.Flags, flags) || d.Quarantined != (len(flags) > 0) {
			t.Errorf("provider %q: quarantined %v, flags %q", owner, d.Quarantined, d.Flags)
		}
	}
}

// Providers that an operator trusts need no release.
func TestATrustedProviderNeedsNoRelease(t *testing.T) {
	config := Config{Quarantine: []string{FlagUnreleased}, Exempt: []string{FlagUnreleased + "=own"}}
	for provider, want := range map[string][]string{"own": nil, "other": {FlagUnreleased}} {
		change := upsert("a", "mcp", boilRaw)
		change.Provider = provider
		if d := made(t, config, nil, nil, change)["a"].Document; !slices.Equal(d.Flags, want) || d.Quarantined != (want != nil) {
			t.Errorf("%s: quarantined %v, flags %q", provider, d.Quarantined, d.Flags)
		}
	}
}

func TestAPolicyNamesKnownFlags(t *testing.T) {
	check.OK(t, (Config{Quarantine: Flags(), Exempt: []string{text.FlagControl + "=a, b"}}).Validate())
	for want, c := range map[string]Config{
		`quarantine: unknown flag "hidden"`:     {Quarantine: []string{"hidden"}},
		`exempt: unknown flag "hidden"`:         {Exempt: []string{"hidden=a"}},
		`"mixed-scripts" is not FLAG=PROVIDER`:  {Exempt: []string{text.FlagMixedScripts}},
		`"mixed-scripts=" is not FLAG=PROVIDER`: {Exempt: []string{text.FlagMixedScripts + "="}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}
