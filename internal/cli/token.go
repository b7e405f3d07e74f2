package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/access/tokenfile"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

func newToken(con *console) *cobra.Command {
	cmd := program.Group(&cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke the tokens of callers",
		Long: `Edit the file of tokens on this host: --file, or the setting auth.tokens_file. Servers
notice each change and need no restart. The file belongs to the user that runs these commands:
run them as the user of the server. It holds hashes of the tokens, never the tokens.`,
	}, newTokenCreate(con), newTokenList(con), newTokenRevoke(con))
	cmd.PersistentFlags().String("config", "", program.ConfigHelp)
	cmd.PersistentFlags().String("file", "", "`FILE` of tokens (TOOLSTREAM_AUTH_TOKENS_FILE)")
	return cmd
}

// tokensFile returns the file that a command is to read or edit.
func tokensFile(cmd *cobra.Command) (string, error) {
	cfg, err := program.LoadConfig(cmd, map[string]string{"file": "auth.tokens_file"})
	if err == nil && cfg.Auth.TokensFile == "" {
		err = program.Misused(cmd, "name the file of tokens with --file, or with the setting auth.tokens_file")
	}
	return cfg.Auth.TokensFile, err
}

// tokenFlags are the flags of token create.
type tokenFlags struct {
	tenant, name, role, expires string
	admin                       bool
}

func newTokenCreate(con *console) *cobra.Command {
	var f tokenFlags
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a token and print it, this once",
		Long: `Make a token and print it. It cannot be shown again. To rotate a token, create another
one with the same name, hand it out, and revoke the old one.

Roles, each with the rights of the roles before it: reader searches and describes, caller calls
tools and sends feedback, writer imports and manages sources, operator cares for dead
letters, weights, quarantine and status, admin may do everything.`,
		Example: `  toolstream token create --file tokens --admin
  toolstream token create --file tokens --tenant team-a --name planner --role caller --expires 30d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := tokensFile(cmd)
			if err != nil {
				return err
			}
			expires, err := expiry(f.expires, time.Now())
			if err != nil {
				return program.Misused(cmd, "--expires: %v", err)
			}
			caller := identity.Caller{Tenant: f.tenant, Subject: f.name, Role: identity.Role(f.role)}
			if f.admin && cmd.Flags().Changed("role") {
				return program.Misused(cmd, "give --role or --admin, not both")
			}
			if f.admin {
				caller.Role = identity.Admin
			}
			t, secret, err := tokenfile.Create(caller, expires)
			if err != nil {
				return program.Refused(cmd, err)
			}
			if err := tokenfile.Add(path, t); err != nil {
				return err
			}
			s := shown(t)
			s.Token = secret
			con.PrintName(s.ID)
			return con.Show(s, func() {
				con.Printf("%s\n", secret)
				con.Notef("token %s of %s, %s, expires %s; it is not shown again\n", s.ID, caller, caller.Role, expiresAt(t))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tenant, "tenant", identity.DefaultTenant, "tenant of the token")
	flags.StringVar(&f.name, "name", "", "who in the tenant has it; all without a name are one")
	flags.StringVar(&f.role, "role", string(identity.Reader), "role of the caller: reader, caller, writer, operator or admin")
	flags.BoolVar(&f.admin, "admin", false, "short for --role admin")
	flags.StringVar(&f.expires, "expires", "90d", "how long it is valid: such as 90d or 12h, or never")
	return cmd
}

// shownToken is a token as programs read it.
type shownToken struct {
	ID      string        `json:"id"`
	Tenant  string        `json:"tenant"`
	Name    string        `json:"name,omitempty"`
	Role    identity.Role `json:"role"`
	Expires *time.Time    `json:"expires,omitempty"`
	Token   string        `json:"token,omitempty"` // of a new token
}

func shown(t tokenfile.Token) shownToken {
	s := shownToken{ID: t.ID(), Tenant: t.Caller.Tenant, Name: t.Caller.Subject, Role: t.Caller.Role}
	if !t.Expires.IsZero() {
		s.Expires = &t.Expires
	}
	return s
}

// expiry returns the end of a validity such as 90d or 12h, the zero time for "never".
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16) // time.Duration holds that many
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return time.Time{}, fmt.Errorf("%q is not a validity: want such as 90d or 12h, or never", text)
	}
	return now.Add(d), nil
}

// expiresAt says when a token expires.
func expiresAt(t tokenfile.Token) string {
	if t.Expires.IsZero() {
		return "never"
	}
	return t.Expires.Format(time.RFC3339)
}

func newTokenList(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens by their ids, expired tokens too",
		Example: "  toolstream token list --file tokens",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := tokensFile(cmd)
			if err != nil {
				return err
			}
			tokens, err := tokenfile.Read(path)
			if err != nil {
				return err
			}
			all := []shownToken{}
			t := program.NewTable("ID", "TENANT…", "NAME…", "ROLE", "EXPIRES")
			for _, token := range tokens {
				all = append(all, shown(token))
				expires := expiresAt(token)
				if token.Expired(time.Now()) {
					expires += " (expired)"
				}
				t.Add(token.ID(), token.Caller.Tenant, token.Caller.Subject, token.Caller.Role, expires)
			}
			return con.Show(map[string]any{"tokens": all}, func() { con.PrintTable(t) })
		},
	}
}

func newTokenRevoke(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID…", Short: "Take tokens out of the file: the next request with one is refused",
		Example: "  toolstream token revoke 3f9a1c07b2d4 --file tokens",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			path, err := tokensFile(cmd)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := tokenfile.Remove(path, id); errors.Is(err, tokenfile.ErrUnknown) || errors.Is(err, os.ErrNotExist) {
					return program.Misused(cmd, "%v; see toolstream token list", err)
				} else if err != nil {
					return err
				}
				con.PrintName(id)
			}
			return con.Show(map[string]any{"revoked": ids}, func() { con.Printf("revoked %s\n", strings.Join(ids, ", ")) })
		},
	}
}
