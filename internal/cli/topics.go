package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/bus/kafka"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server"
)

func newTopics(con *console) *cobra.Command {
	var versions []int
	cmd := program.Group(&cobra.Command{
		Use:   "topics",
		Short: "Create and check the topics of Kafka",
		Long: `Create and check the topics that the services of "toolstream serve" work on. The
cluster and what its topics have to be are settings (kafka.*): see "toolstream config
print". These commands need no running service.`,
	},
		&cobra.Command{
			Use: "apply", Short: "Create missing topics, and report topics with other settings",
			Long: `Create missing topics. A topic that exists is never changed: its other settings are reported,
and the command ends with code 3.`,
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				err := onTopics(con, cmd, versions, kafka.ApplyTopics)
				if errors.Is(err, errNotAsWanted) {
					return program.PartlyError(1, err)
				}
				return err
			},
		},
		&cobra.Command{
			Use: "check", Short: "Report the topics that are missing or not as wanted, and change nothing",
			Long: `Report the topics that are missing or not as wanted. The command ends with code 1
if there are any.`,
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return onTopics(con, cmd, versions, func(ctx context.Context, cfg kafka.Config, specs ...kafka.TopicSpec) ([]string, []kafka.Finding, error) {
					findings, err := kafka.CheckTopics(ctx, cfg, specs...)
					return nil, findings, err
				})
			},
		},
	)
	cmd.PersistentFlags().String("config", "", "configuration file (YAML)")
	cmd.PersistentFlags().IntSliceVar(&versions, "index-version", nil, "also the topic of this index version of toolstream reindex, where kafka.apply is off (repeatable)")
	return cmd
}

// errNotAsWanted reports topics that are missing or differ from the settings.
var errNotAsWanted = errors.New("not everything is as wanted; existing topics were not changed")

// onTopics runs do on the topics that the settings ask for, and prints the created topics and
// the findings.
func onTopics(con *console, cmd *cobra.Command, versions []int, do func(context.Context, kafka.Config, ...kafka.TopicSpec) ([]string, []kafka.Finding, error)) error {
	loaded, err := program.LoadConfig(cmd, nil)
	if err != nil {
		return err
	}
	cfg := server.KafkaConfig(loaded.Kafka)
	for _, n := range versions {
		if n < 2 {
			return program.Misused(cmd, "--index-version %d: versions with a topic of their own begin with 2", n)
		}
	}
	specs, err := kafka.Topics(cfg, versions...)
	if err != nil {
		return program.Wrong(cmd, err)
	}
	created, findings, err := do(cmd.Context(), cfg, specs...)
	if err != nil {
		return err
	}
	report := map[string]any{"created": append([]string{}, created...), "findings": append([]kafka.Finding{}, findings...)}
	err = con.Show(report, func() {
		for _, name := range created {
			con.Printf("created %s\n", name)
		}
		for _, f := range findings {
			con.Printf("%s\n", f)
		}
		if len(created)+len(findings) == 0 {
			con.Printf("every topic is there and as wanted\n")
		}
	})
	if err == nil && len(findings) > 0 {
		err = errNotAsWanted
	}
	return err
}
