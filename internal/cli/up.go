package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/cli/importer"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/server"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// upFlags are the flags of up.
type upFlags struct {
	imports []string
	try     string
}

func newUp(con *console) *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole pipeline in this process, nothing to install",
		Long: `Run ingest, standardizer, embedder, index, query and trainer in this process.
Everything is in the data folder and survives a restart, however the process ended.
Ctrl-C drains: requests under way are finished.`,
		Example: `  toolstream up
  toolstream up --data ./data --import openapi.yaml
  toolstream up --import examples/registry/tools --try "will it rain in Lisbon tomorrow?"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := program.LoadConfig(cmd, map[string]string{
				"data": "data", "listen": "listen", "log-level": "log.level", "log-format": "log.format",
			})
			if err != nil {
				return err
			}
			return runUp(con, cmd, cfg, f)
		},
	}
	flags := cmd.Flags()
	addProcessFlags(cmd)
	flags.String("data", "", "folder for the bus, the index and learned weights (TOOLSTREAM_DATA)")
	flags.StringArrayVar(&f.imports, "import", nil, "import this file, folder or URL once up (repeatable)")
	flags.StringVar(&f.try, "try", "", "once the imported documents are indexed, search this and explain the answer; only warnings are logged")
	return cmd
}

func runUp(con *console, cmd *cobra.Command, cfg config.Config, f upFlags) error {
	ctx := cmd.Context()
	if f.try != "" && !cmd.Flags().Changed("log-level") {
		cfg.Log.Level = "warn" // nothing between the progress of the import and the answer
	}
	log, end := beginProcess(ctx, con, cfg)
	defer end()
	embedded, err := server.OpenEmbedded(ctx, cfg, log, program.Version().Version)
	if err != nil {
		return program.WrongSetting(cmd, err)
	}
	if server.LogsJSON(cfg.Log, con.Err) && f.try == "" {
		log.Info("toolstream listens", "url", embedded.URL(), "console", embedded.URL()+httpserver.ConsolePath, "data", cfg.Data, "version", program.Version().Version)
	} else {
		con.Notef("toolstream listens on %s (API: %s/openapi.json)\n", embedded.URL(), embedded.URL())
		con.Notef("console %s%s\n", embedded.URL(), httpserver.ConsolePath)
		con.Notef("data is in %s\n", cfg.Data)
		con.Notef("try: toolstream %ssearch \"what you need\"\n", serverFlag(con, embedded.URL()))
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return embedded.Run(ctx) })
	g.Go(func() error { return firstSteps(ctx, con, embedded, f) })
	return g.Wait()
}

// addProcessFlags adds the flags of the commands that serve.
func addProcessFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String("config", "", program.ConfigHelp)
	flags.String("listen", "", "HTTP address; port 0 takes a free one (TOOLSTREAM_LISTEN)")
	flags.String("log-level", "", "debug, info, warn or error (TOOLSTREAM_LOG_LEVEL)")
	flags.String("log-format", "", "auto, text or json; auto is text on a terminal, else json (TOOLSTREAM_LOG_FORMAT)")
}

// beginProcess prepares a process that serves until ctx ends. Its logger has named the
// variables of the environment that look like settings and are not.
func beginProcess(ctx context.Context, con *console, cfg config.Config) (_ *slog.Logger, end func()) {
	pacing, stop := context.WithCancel(ctx)
	go server.PaceMemory(pacing)
	log := server.NewLogger(cfg.Log, con.Err)
	for _, name := range config.Strays(os.Environ()) {
		log.Warn("no setting has this environment variable; `toolstream config print` lists them all", "name", name)
	}
	// A drain can take a while without any visible progress.
	forget := context.AfterFunc(ctx, func() {
		log.Info("stopping: requests under way are finished; a second signal ends at once")
	})
	return log, func() {
		forget()
		stop()
	}
}

func serverFlag(con *console, url string) string {
	if url == defaultServer {
		return ""
	}
	return "--server " + url + " "
}

// firstSteps runs the imports and the other steps that up was asked for.
func firstSteps(ctx context.Context, con *console, e *server.Embedded, f upFlags) error {
	own := &client.Client{Server: e.URL(), Token: con.Token, HTTP: e.Client()}
	if len(f.imports) > 0 {
		summary, err := importer.Run(ctx, con.Terminal, own, f.imports, importer.Options{Wait: true})
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		summary.Print(con.Terminal, importer.Options{})
	}
	if f.try == "" || ctx.Err() != nil {
		return nil
	}
	answer, err := own.Search(ctx, schema.SearchRequest{Query: f.try, K: 3, Explain: true})
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	con.Printf("\n%s\n\n", program.OneLine(f.try))
	printSearch(con, answer, false)
	return nil
}
