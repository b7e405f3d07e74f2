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
	"github.com/toolstream/toolstream/pkg/schema"
)

// upFlags are the flags of up.
type upFlags struct {
	config  string
	imports []string
	try     string
}

// settings names the flags that set a configuration key, and the key.
func settings() map[string]string {
	return map[string]string{"data": "data", "listen": "listen", "nats": "nats.listen", "log-level": "log.level", "log-format": "log.format"}
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
			set := map[string]any{}
			for flag, key := range settings() {
				if cmd.Flags().Changed(flag) {
					set[key] = cmd.Flags().Lookup(flag).Value.String()
				}
			}
			cfg, err := config.Load(f.config, set)
			if err != nil {
				return usageError{err, cmd.CommandPath()}
			}
			return con.up(cmd, cfg, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "configuration file (YAML); see toolstream config print")
	flags.String("data", "", "folder for the bus, the index and what was learned (TOOLSTREAM_DATA)")
	flags.String("listen", "", "HTTP address; port 0 takes a free one (TOOLSTREAM_LISTEN)")
	flags.String("nats", "", "open the bus to other processes at this address (TOOLSTREAM_NATS_LISTEN)")
	flags.String("log-level", "", "debug, info, warn or error (TOOLSTREAM_LOG_LEVEL)")
	flags.String("log-format", "", "auto, text or json; auto is text on a terminal, else json (TOOLSTREAM_LOG_FORMAT)")
	flags.StringArrayVar(&f.imports, "import", nil, "import this file, folder or URL once up (repeatable)")
	flags.StringVar(&f.try, "try", "", "once what was imported is indexed, search this and explain the answer")
	return cmd
}

func (c *console) up(cmd *cobra.Command, cfg config.Config, f upFlags) error {
	ctx := cmd.Context()
	pacing, stop := context.WithCancel(ctx)
	defer stop()
	go app.PaceMemory(pacing)
	log := app.NewLogger(cfg.Log, c.err)
	warnOfStrays(log)
	defer saysWhenItStops(ctx, log)()
	embedded, err := app.OpenEmbedded(ctx, cfg, log, buildVersion().Version)
	if err != nil {
		return inUse(cmd, fmt.Errorf("up: %w", err))
	}
	if app.LogsJSON(cfg.Log, c.err) {
		log.Info("toolstream listens", "url", embedded.URL(), "nats", embedded.NATS(), "data", cfg.Data, "version", buildVersion().Version)
	} else {
		c.greet(embedded, cfg)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return embedded.Run(ctx) })
	g.Go(func() error { return c.firstSteps(ctx, embedded.URL(), f) })
	return g.Wait()
}

// warnOfStrays names what looks like a setting in the environment and is none: it would
// be missed only later, when something is not as it was to be.
func warnOfStrays(log *slog.Logger) {
	for _, name := range config.Strays(os.Environ()) {
		log.Warn("no setting has this environment variable; `toolstream config print` lists them all", "name", name)
	}
}

// saysWhenItStops logs the end of ctx: a drain can take a while in which nothing seems
// to happen.
func saysWhenItStops(ctx context.Context, log *slog.Logger) (forget func() bool) {
	return context.AfterFunc(ctx, func() {
		log.Info("stopping: what was begun is finished; a second signal ends at once")
	})
}

func (c *console) greet(e *app.Embedded, cfg config.Config) {
	c.notef("toolstream listens on %s (API: %s/openapi.json)\n", e.URL(), e.URL())
	if e.NATS() != "" {
		c.notef("the bus listens on %s\n", e.NATS())
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
func (c *console) firstSteps(ctx context.Context, url string, f upFlags) error {
	own := *c
	own.server = url
	if len(f.imports) > 0 {
		summary, err := own.importAll(ctx, f.imports, importFlags{format: "auto", wait: true})
		if err != nil {
			return fmt.Errorf("up: import: %w", err)
		}
		own.printSummary(summary)
	}
	if f.try == "" || ctx.Err() != nil {
		return nil
	}
	var answer schema.SearchResponse
	req := schema.SearchRequest{Query: f.try, K: 3, Explain: true}
	if err := own.client().Post(ctx, "/v1/search", req, &answer); err != nil {
		return fmt.Errorf("up: search: %w", err)
	}
	own.printf("\n%s\n\n", oneLine(f.try))
	own.printSearch(answer)
	return nil
}
