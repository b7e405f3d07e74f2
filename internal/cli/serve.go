package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/server"
)

func newServe(con *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve SERVICE…",
		Short: "Run services of a deployment on Kafka and NATS",
		Long: `Run one or more of ` + strings.Join(server.Services(), ", ") + `
in this process. They meet on Kafka, which carries everything that must not be lost, and
on NATS, over which they ask each other and weights travel. Each can run as often as the
load wants, but the trainer once. Ctrl-C drains: requests under way are finished.

A query replica keeps an index of its own in its data folder, filled from Kafka, so two of
them on one machine want two folders. With peers.ingest, peers.query and peers.trainer set,
any service passes on requests that are for another one.`,
		Example: `  toolstream serve ingest --listen 127.0.0.1:8665
  toolstream serve query --data ./query-1 --listen 127.0.0.1:8666
  TOOLSTREAM_KAFKA_BROKERS=k1:9092,k2:9092 toolstream serve standardizer embedder`,
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: server.Services(),
		RunE: func(cmd *cobra.Command, names []string) error {
			for _, name := range names {
				if err := program.KnownWord(cmd, "SERVICE", name, server.Services()...); err != nil {
					return err
				}
			}
			cfg, err := program.LoadConfig(cmd, map[string]string{
				"data": "data", "listen": "listen", "kafka": "kafka.brokers", "nats": "nats.url", "log-level": "log.level", "log-format": "log.format",
			})
			if err != nil {
				return err
			}
			return runServe(con, cmd, cfg, names)
		},
	}
	flags := cmd.Flags()
	addProcessFlags(cmd)
	flags.String("data", "", "folder for the data of the service (TOOLSTREAM_DATA)")
	flags.String("kafka", "", "brokers, host:port, separated by commas (TOOLSTREAM_KAFKA_BROKERS)")
	flags.String("nats", "", "NATS server (TOOLSTREAM_NATS_URL)")
	return cmd
}

func runServe(con *console, cmd *cobra.Command, cfg config.Config, names []string) error {
	ctx := cmd.Context()
	log, end := beginProcess(ctx, con, cfg)
	defer end()
	served, err := server.Serve(ctx, cfg, names, log, program.Version().Version)
	if err != nil {
		return program.WrongSetting(cmd, err)
	}
	if server.LogsJSON(cfg.Log, con.Err) {
		log.Info("toolstream listens", "services", strings.Join(names, " "), "url", served.URL(), "version", program.Version().Version)
	} else {
		con.Notef("toolstream %s listens on %s\n", strings.Join(names, ", "), served.URL())
	}
	return served.Run(ctx)
}
