package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/config"
)

func newServe(con *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve SERVICE…",
		Short: "Run services of a deployment on Kafka and NATS",
		Long: `Run one or more of ` + strings.Join(app.Services(), ", ") + `
in this process. They meet on Kafka, which carries everything that must not be lost, and
on NATS, over which they ask each other and weights travel. Each can run as often as the
load wants, but the trainer once. Ctrl-C drains: what was begun is finished.

A query replica keeps an index of its own in its data folder, filled from Kafka, so two of
them on one machine want two folders. With peers.ingest, peers.query and peers.trainer set,
any service passes on requests that are for another one.`,
		Example: `  toolstream serve ingest --listen 127.0.0.1:8665
  toolstream serve query --data ./query-1 --listen 127.0.0.1:8666
  TOOLSTREAM_KAFKA_BROKERS=k1:9092,k2:9092 toolstream serve standardizer embedder`,
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: app.Services(),
		RunE: func(cmd *cobra.Command, names []string) error {
			for _, name := range names {
				if err := knownWord(cmd, "SERVICE", name, app.Services()...); err != nil {
					return err
				}
			}
			cfg, err := loadConfig(cmd, map[string]string{
				"data": "data", "listen": "listen", "kafka": "kafka.brokers", "nats": "nats.url", "log-level": "log.level", "log-format": "log.format",
			})
			if err != nil {
				return err
			}
			return con.serve(cmd, cfg, names)
		},
	}
	flags := cmd.Flags()
	addProcessFlags(cmd)
	flags.String("data", "", "folder for what the service keeps (TOOLSTREAM_DATA)")
	flags.String("kafka", "", "brokers, host:port, separated by commas (TOOLSTREAM_KAFKA_BROKERS)")
	flags.String("nats", "", "NATS server (TOOLSTREAM_NATS_URL)")
	return cmd
}

func (c *console) serve(cmd *cobra.Command, cfg config.Config, names []string) error {
	ctx := cmd.Context()
	log, end := c.beginProcess(ctx, cfg)
	defer end()
	served, err := app.Serve(ctx, cfg, names, log, buildVersion().Version)
	if err != nil {
		return inUse(cmd, err)
	}
	if app.LogsJSON(cfg.Log, c.err) {
		log.Info("toolstream listens", "services", strings.Join(names, " "), "url", served.URL(), "version", buildVersion().Version)
	} else {
		c.notef("toolstream %s listens on %s\n", strings.Join(names, ", "), served.URL())
	}
	return served.Run(ctx)
}
