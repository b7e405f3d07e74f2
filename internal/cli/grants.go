package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/cli/program"
)

func newGrants(con *console) *cobra.Command {
	return program.Group(&cobra.Command{
		Use:   "grants",
		Short: "Say which tools callers may find and call",
		Long: `A grant allows or denies an action on tools to callers. As long as a tenant has none, its
callers see every tool, and their roles decide the actions. From the first grant on, an action
needs a grant that allows it, and a grant that denies overrides every grant that allows.

ACTION is find, call (of tools that destroy nothing) or destroy. To allow an action allows the
actions before it; to deny an action denies the actions after it.
ON is provider:ID or source:NAME, with everything below it, tag:TAG, tool:ID, or * for all.
TO is group:NAME, subject:NAME, role:ROLE for that role and all that include it, or *.`,
	}, newGrantsList(con), newGrantsAdd(con), newGrantsRemove(con), newGrantsApply(con), newGrantsExplain(con))
}

func newGrantsList(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the grants of the tenant", Args: cobra.NoArgs,
		Example: "  toolstream grants list\n  toolstream grants list --output yaml > grants.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := fetchGrants(con, cmd)
			if err != nil {
				return err
			}
			return con.Show(p, func() {
				t := program.NewTable("ID", "EFFECT", "ACTION", "ON…", "TO…")
				for _, g := range p.Grants {
					t.Add(g.ID, string(g.Effect), string(g.Action), g.On, g.To)
				}
				con.PrintTable(t)
				if len(p.Grants) == 0 {
					con.Notef("no grants: every caller of the tenant sees every tool\n")
				} else {
					con.Notef("version %s\n", p.Version)
				}
			})
		},
	}
}

func fetchGrants(con *console, cmd *cobra.Command) (p policy.Policy, err error) {
	return p, con.client().Get(cmd.Context(), "/v1/grants", nil, &p)
}

// grantFlags are the flags of all commands that change grants.
type grantFlags struct{ dryRun, yes bool }

func (f *grantFlags) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "change nothing, and show who would lose and gain what")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "the first grants of the tenant may hide tools from callers without a grant")
	return cmd
}

func newGrantsAdd(con *console) *cobra.Command {
	var f grantFlags
	return f.add(&cobra.Command{
		Use: "add allow|deny ACTION ON TO", Short: "Add a grant", Args: cobra.ExactArgs(4),
		Example: `  toolstream grants add allow find "*" "*" --yes
  toolstream grants add allow call provider:github group:developers
  toolstream grants add deny destroy tag:production role:caller --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeGrants(con, cmd, f, func(p *policy.Policy) error {
				p.Grants = append(p.Grants, policy.Grant{Effect: policy.Effect(args[0]), Action: policy.Action(args[1]), On: args[2], To: args[3]})
				return nil
			})
		},
	})
}

func newGrantsRemove(con *console) *cobra.Command {
	var f grantFlags
	return f.add(&cobra.Command{
		Use: "remove ID...", Short: "Remove grants", Args: cobra.MinimumNArgs(1),
		Long: `Remove grants by the ids that list shows. To remove the last one lets every caller of the
tenant see every tool again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeGrants(con, cmd, f, func(p *policy.Policy) error {
				for _, id := range args {
					kept := slices.DeleteFunc(slices.Clone(p.Grants), func(g policy.Grant) bool { return g.ID == id })
					if len(kept) == len(p.Grants) {
						return fmt.Errorf("grant %q does not exist", id)
					}
					p.Grants = kept
				}
				return nil
			})
		},
	})
}

func newGrantsApply(con *console) *cobra.Command {
	var f grantFlags
	return f.add(&cobra.Command{
		Use: "apply FILE", Short: "Replace all grants by the grants of a file", Args: cobra.ExactArgs(1),
		Long: `Replace all grants of the tenant by the grants of a file in YAML or JSON, as list --output yaml or
list --json prints them. If the file has a version, it must be the version of the replaced grants.`,
		Example: "  toolstream grants list --output yaml > grants.yaml\n  toolstream grants apply grants.yaml --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			var from policy.Policy
			if err := yaml.Unmarshal(content, &from); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if from.Grants == nil {
				return fmt.Errorf("%s has no list of grants", args[0])
			}
			return changeGrants(con, cmd, f, func(p *policy.Policy) error {
				if from.Version != "" && from.Version != p.Version {
					return fmt.Errorf("%s is of version %s, and the grants are of version %s now: list them again", args[0], from.Version, p.Version)
				}
				p.Grants = from.Grants
				return nil
			})
		},
	})
}

// changeGrants reads the grants, changes them and writes them back. The first grants of a
// tenant hide every tool they do not allow, so they need a confirmation.
func changeGrants(con *console, cmd *cobra.Command, f grantFlags, change func(*policy.Policy) error) error {
	p, err := fetchGrants(con, cmd)
	if err != nil {
		return err
	}
	first := len(p.Grants) == 0
	if err := change(&p); err != nil {
		return err
	}
	put := func(dryRun string) (out policy.Replaced, err error) {
		return out, con.client().Put(cmd.Context(), "/v1/grants?dry_run="+dryRun, p, &out)
	}
	if f.dryRun || first && !f.yes {
		would, err := put("true")
		if err != nil || f.dryRun {
			return errors.Join(err, showEffects(con, would))
		}
		if would.Unshown > 0 || slices.ContainsFunc(would.Effects, func(e policy.Effects) bool { return e.Loses.Tools > 0 }) {
			printEffects(con, would)
			return errors.New("from the first grant on nothing is allowed that no grant allows: say --yes if that is wanted")
		}
	}
	done, err := put("false")
	if err != nil {
		return err
	}
	return showEffects(con, done)
}

func showEffects(con *console, change policy.Replaced) error {
	return con.Show(change, func() {
		printEffects(con, change)
		con.Notef("grants: %d\n", len(change.Grants))
	})
}

// printEffects prints the gains and losses of callers, a line for actions that are affected
// alike.
func printEffects(con *console, change policy.Replaced) {
	if change.Unshown > 0 {
		con.Notef("the change is for %d further subjects and groups, whose effects are not shown\n", change.Unshown)
	}
	if len(change.Effects) == 0 && change.Unshown == 0 {
		con.Notef("all callers keep what they have\n")
		return
	}
	t := program.NewTable("WHO", "ACTIONS", "LOSES", "GAINS", "SUCH AS…")
	for i := 0; i < len(change.Effects); {
		e, actions := change.Effects[i], []string{}
		for ; i < len(change.Effects) && alike(e, change.Effects[i]); i++ {
			actions = append(actions, string(change.Effects[i].Action))
		}
		some := slices.Concat(e.Loses.First, e.Gains.First)
		t.Add(e.Who, strings.Join(actions, ", "), fmt.Sprint(e.Loses.Tools), fmt.Sprint(e.Gains.Tools), strings.Join(some[:min(3, len(some))], ", "))
	}
	con.PrintTable(t)
}

func alike(a, b policy.Effects) bool {
	return a.Who == b.Who && a.Loses.Tools == b.Loses.Tools && a.Gains.Tools == b.Gains.Tools &&
		slices.Equal(a.Loses.First, b.Loses.First) && slices.Equal(a.Gains.First, b.Gains.First)
}

func newGrantsExplain(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "explain WHO TOOL", Short: "Tell why a caller may do something with a tool, or may not", Args: cobra.ExactArgs(2),
		Long: `WHO describes a caller: subject:NAME, group:NAME and role:ROLE, separated by commas.`,
		Example: `  toolstream grants explain group:developers,role:caller github/create_issue
  toolstream grants explain subject:planner,role:reader weather/forecast`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var out struct {
				Version string           `json:"version"`
				Actions []policy.Verdict `json:"actions"`
			}
			if err := con.client().Get(cmd.Context(), "/v1/grants:explain", url.Values{"who": {args[0]}, "tool": {args[1]}}, &out); err != nil {
				return err
			}
			return con.Show(out, func() {
				t := program.NewTable("ACTION", "ALLOWED", "WHY…")
				for _, e := range out.Actions {
					t.Add(string(e.Action), yesNo(e.Allowed), e.Why)
				}
				con.PrintTable(t)
			})
		},
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
