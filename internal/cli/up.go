package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/httpserver"
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
Everything lies in the data folder and is there again after a restart, however the
process ended. Ctrl-C drains: what was begun is finished.`,
		Example: `  toolstream up
  toolstream up --data ./data --import openapi.yaml
  toolstream up --import examples/registry/tools --try "will it rain in Lisbon tomorrow?"
  toolstream up --nats 127.0.0.1:4222`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd, map[string]string{
				"data": "data", "listen": "listen", "nats": "nats.listen", "log-level": "log.level", "log-format": "log.format",
			})
			if err != nil {
				return err
			}
			return con.up(cmd, cfg, f)
		},
	}
	flags := cmd.Flags()
	addProcessFlags(cmd)
	flags.String("data", "", "folder for the bus, the index and what was learned (TOOLSTREAM_DATA)")
	flags.String("nats", "", "answer searches over NATS at this address, too (TOOLSTREAM_NATS_LISTEN)")
	flags.StringArrayVar(&f.imports, "import", nil, "import this file, folder or URL once up (repeatable)")
	flags.StringVar(&f.try, "try", "", "once what was imported is indexed, search this and explain the answer; only warnings are logged")
	return cmd
}

func (c *console) up(cmd *cobra.Command, cfg config.Config, f upFlags) error {
	ctx := cmd.Context()
	if f.try != "" && !cmd.Flags().Changed("log-level") {
		cfg.Log.Level = "warn" // nothing between the progress of the import and the answer
	}
	log, end := c.beginProcess(ctx, cfg)
	defer end()
	embedded, err := app.OpenEmbedded(ctx, cfg, log, buildVersion().Version)
	if err != nil {
		return inUse(cmd, err)
	}
	if app.LogsJSON(cfg.Log, c.err) && f.try == "" {
		log.Info("toolstream listens", "url", embedded.URL(), "console", embedded.URL()+httpserver.ConsolePath, "nats", embedded.NATS(), "data", cfg.Data, "version", buildVersion().Version)
	} else {
		c.greet(embedded, cfg)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return embedded.Run(ctx) })
	g.Go(func() error { return c.firstSteps(ctx, embedded, f) })
	return g.Wait()
}

// addProcessFlags adds the flags of the commands that serve.
func addProcessFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String("config", "", configHelp)
	flags.String("listen", "", "HTTP address; port 0 takes a free one (TOOLSTREAM_LISTEN)")
	flags.String("log-level", "", "debug, info, warn or error (TOOLSTREAM_LOG_LEVEL)")
	flags.String("log-format", "", "auto, text or json; auto is text on a terminal, else json (TOOLSTREAM_LOG_FORMAT)")
}

// beginProcess prepares a process that serves until ctx ends. Its logger has named the
// variables of the environment that look like settings and are not.
func (c *console) beginProcess(ctx context.Context, cfg config.Config) (_ *slog.Logger, end func()) {
	pacing, stop := context.WithCancel(ctx)
	go app.PaceMemory(pacing)
	log := app.NewLogger(cfg.Log, c.err)
	for _, name := range config.Strays(os.Environ()) {
		log.Warn("no setting has this environment variable; `toolstream config print` lists them all", "name", name)
	}
	// A drain can take a while in which nothing seems to happen.
	forget := context.AfterFunc(ctx, func() {
		log.Info("stopping: what was begun is finished; a second signal ends at once")
	})
	return log, func() {
		forget()
		stop()
	}
}

func (c *console) greet(e *app.Embedded, cfg config.Config) {
	c.notef("toolstream listens on %s (API: %s/openapi.json)\n", e.URL(), e.URL())
	c.notef("console %s%s\n", e.URL(), httpserver.ConsolePath)
	if e.NATS() != "" {
		c.notef("NATS listens on %s\n", e.NATS())
	}
	c.notef("data is in %s\n", cfg.Data)
	c.notef("try: toolstream %ssearch \"what you need\"\n", c.serverFlag(e.URL()))
}

func (c *console) serverFlag(url string) string {
	if url == defaultServer {
		return ""
	}
	return "--server " + url + " "
}

// firstSteps does what up was asked to do once it runs.
func (c *console) firstSteps(ctx context.Context, e *app.Embedded, f upFlags) error {
	own := *c
	own.server, own.http = e.URL(), e.Client()
	if len(f.imports) > 0 {
		summary, err := own.importAll(ctx, f.imports, importFlags{format: "auto", wait: true})
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		own.printSummary(summary, importFlags{})
	}
	if f.try == "" || ctx.Err() != nil {
		return nil
	}
	answer, err := own.client().Search(ctx, schema.SearchRequest{Query: f.try, K: 3, Explain: true})
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	own.printf("\n%s\n\n", oneLine(f.try))
	own.printSearch(answer, false)
	return nil
}
