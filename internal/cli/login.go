package cli

import (
	"context"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/access/oauth"
	"github.com/toolstream/toolstream/internal/cli/program"
)

// cliClient is the client that commands are to an identity provider by default.
const cliClient = "toolstream"

func newLogin(con *console) *cobra.Command {
	var clientID string
	var scopes []string
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in at the server's identity provider",
		Long: `Log in at the identity provider that the server names (auth.oidc of its settings): open
the address that is printed, on any machine, and approve. The tokens are kept in the
context of the server and renewed when they expire. The provider has to know a public
client for this, with the device flow of OAuth 2.0 (RFC 8628).`,
		Example: `  toolstream login --server https://tools.example.com
  toolstream login --context production --client-id cli --scope tools`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return logIn(cmd.Context(), con, clientID, scopes) },
	}
	cmd.Flags().StringVar(&clientID, "client-id", cliClient, "client that the provider knows")
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "scope to ask for in addition to openid and offline_access (repeatable)")
	return cmd
}

func newLogout(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "End the login of a context, and forget its tokens",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return logOut(con, cmd) },
	}
}

func logIn(ctx context.Context, con *console, clientID string, scopes []string) error {
	toProvider, err := con.toProvider()
	if err != nil {
		return err
	}
	provider, err := oauth.Find(ctx, con.transport, toProvider, con.Server)
	if err != nil {
		return err
	}
	pending, err := provider.Begin(ctx, toProvider, clientID, scopes)
	if err != nil {
		return err
	}
	con.Notef("open %s and enter the code %s\n", pending.URL, pending.Code)
	if pending.Complete != "" {
		con.Notef("or open %s\n", pending.Complete)
	}
	made, err := pending.Wait(ctx, toProvider)
	if err != nil {
		return err
	}
	var name, current string
	err = changeContexts(func(all *contexts) error {
		name = all.nameOf(con.Server, con.context)
		kept := all.Contexts[name]
		kept.Server, kept.Token, kept.Login = con.Server, "", &made
		kept.CAFile = con.CAFile
		all.Contexts[name] = kept
		if all.Current == "" {
			all.Current = name
		}
		current = all.Current
		return nil
	})
	if err != nil {
		return err
	}
	shown := struct {
		Context string `json:"context"`
		Server  string `json:"server"`
		Issuer  string `json:"issuer"`
	}{name, con.Server, made.Issuer}
	return con.Show(shown, func() {
		con.Printf("logged in at %s for %s\n", made.Issuer, con.Server)
		if name != current {
			con.Notef("use it with --context %s, or toolstream context use %s\n", name, name)
		}
	})
}

// nameOf returns the name of a server's context: the context in use, an existing context of
// the server, or a new name.
func (all contexts) nameOf(server, used string) string {
	if used != "" {
		return used
	}
	for name, c := range all.Contexts {
		if c.Server == server {
			return name
		}
	}
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		return u.Host
	}
	return server
}

func logOut(con *console, cmd *cobra.Command) error {
	toProvider, err := con.toProvider()
	if err != nil {
		return err
	}
	var ended *oauth.Login
	err = changeContexts(func(all *contexts) error {
		kept := all.Contexts[con.context]
		ended, kept.Login = kept.Login, nil
		if ended == nil {
			return program.Misused(cmd, "not logged in at %s", con.Server)
		}
		all.Contexts[con.context] = kept
		return nil
	})
	if err != nil {
		return err
	}
	if err := ended.Revoke(cmd.Context(), toProvider); err != nil {
		return fmt.Errorf("the tokens are forgotten, but the provider may still take them: %w", err)
	}
	return con.Show(map[string]string{"context": con.context, "server": con.Server}, func() { con.Printf("logged out of %s\n", con.Server) })
}
