package program

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// UsageError is a wrong call. It names the command whose help explains more.
type UsageError struct {
	error
	command string
}

// Unwrap returns the reason.
func (e UsageError) Unwrap() error { return e.error }

// Wrong returns err as a UsageError of cmd.
func Wrong(cmd *cobra.Command, err error) error { return UsageError{err, cmd.CommandPath()} }

// Misused returns a UsageError of cmd with a text.
func Misused(cmd *cobra.Command, format string, args ...any) error {
	return Wrong(cmd, fmt.Errorf(format, args...))
}

// KnownWord refuses a word that is not in words.
func KnownWord(cmd *cobra.Command, what, word string, words ...string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return Misused(cmd, "%s is %q; it is one of %s", what, word, strings.Join(words, ", "))
}

// Refused returns a UsageError for a request that the server would refuse. It names the flag
// or argument of cmd that holds the invalid value.
func Refused(cmd *cobra.Command, err error) error {
	var invalid *schema.Invalid
	if !errors.As(err, &invalid) {
		return Misused(cmd, "%v", err)
	}
	name := strings.TrimPrefix(invalid.Path, "/")
	switch {
	case cmd.Flags().Lookup(name) != nil:
		name = "--" + name
	case strings.Contains(cmd.Use, strings.ToUpper(name)):
		name = strings.ToUpper(name)
	}
	if invalid.Value == "" {
		return Misused(cmd, "%s: %s", name, invalid.Reason)
	}
	return Misused(cmd, "%s is %s: %s", name, invalid.Value, invalid.Reason)
}

// WrongSetting returns err as a UsageError if a setting caused it.
func WrongSetting(cmd *cobra.Command, err error) error {
	if errors.As(err, new(config.Wrong)) {
		return Wrong(cmd, err)
	}
	return err
}

// ConfigHelp describes the flag --config.
const ConfigHelp = "configuration `FILE` (YAML); see toolstream config print"

// LoadConfig returns the settings of the --config file, overridden by flags: keys maps flags
// to settings.
func LoadConfig(cmd *cobra.Command, keys map[string]string) (config.Config, error) {
	set := map[string]any{}
	for name, key := range keys {
		if flag := cmd.Flags().Lookup(name); flag.Changed {
			set[key] = flag.Value.String()
		}
	}
	cfg, err := config.Load(cmd.Flags().Lookup("config").Value.String(), set)
	if err != nil {
		return cfg, Wrong(cmd, err)
	}
	return cfg, nil
}

// partlyError is the error of a command that did only a part of its work.
type partlyError struct{ error }

func (e partlyError) Unwrap() error { return e.error }

// PartlyError returns err with the exit code Partly if anything is done.
func PartlyError(done int, err error) error {
	if done == 0 {
		return err
	}
	return partlyError{err}
}

// explainErrors prefixes the errors of a command with its name, adds a remedy, and turns wrong
// calls into a UsageError.
func explainErrors(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if err == nil || errors.As(err, new(UsageError)) {
			return err
		}
		err = fmt.Errorf("%s: %w", strings.TrimPrefix(cmd.CommandPath(), c.Root().Name()+" "), err)
		if what := Remedy(err); what != "" {
			err = fmt.Errorf("%w: %s", err, what)
		}
		return err
	}
	cmd.SetFlagErrorFunc(Wrong)
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			switch {
			case err == nil || errors.As(err, new(UsageError)):
				return err
			case !c.HasSubCommands() || len(args) == 0:
				return Misused(cmd, "%w: %s", err, c.UseLine())
			}
			c.SuggestionsMinimumDistance = 2
			for _, name := range c.SuggestionsFor(args[0]) {
				err = fmt.Errorf("%w\ndid you mean %q?", err, c.CommandPath()+" "+name)
			}
			return Wrong(cmd, err)
		}
	}
	for _, sub := range cmd.Commands() {
		explainErrors(sub)
	}
}

// Remedy returns advice if the server cannot be reached or refuses the credential.
func Remedy(err error) string {
	var p *client.Problem
	switch {
	case errors.As(err, &p) && p.Status == http.StatusUnauthorized:
		return "give a token with --token or TOOLSTREAM_TOKEN, or log in with `toolstream login`"
	case !errors.Is(err, client.ErrNoServer):
		return ""
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "name the file of that authority with --ca-file"
	}
	return "start one with `toolstream up`, or name another with --server"
}
