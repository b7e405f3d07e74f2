package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/adapter/kafka"
	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/config"
)

func newTopics(con *console) *cobra.Command {
	var path string
	var generations []int
	cmd := &cobra.Command{
		Use:   "topics",
		Short: "Create and check the topics of Kafka",
		Long: `Create and check the topics that the services of "toolstream serve" work on. The
cluster and what its topics have to be are settings (kafka.*): see "toolstream config
print". These commands need no running service.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&path, "config", "", "configuration file (YAML)")
	cmd.PersistentFlags().IntSliceVar(&generations, "generation", nil, "also the topic of this generation of toolstream reindex, where kafka.apply is off (repeatable)")
	cmd.AddCommand(
		&cobra.Command{
			Use: "apply", Short: "Create the topics that are missing, and report those that are not as wanted",
			Long: `Create the topics that are missing. A topic that is there is never changed: what is
not as wanted is reported, and the command ends with code 3.`,
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return con.applyTopics(cmd, path, generations) },
		},
		&cobra.Command{
			Use: "check", Short: "Report the topics that are missing or not as wanted, and change nothing",
			Long: `Report the topics that are missing or not as wanted. The command ends with code 1
if there are any.`,
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return con.checkTopics(cmd, path, generations) },
		},
	)
	return cmd
}

// topicsReport is what the commands print.
type topicsReport struct {
	Created  []string        `json:"created"`
	Findings []kafka.Finding `json:"findings"`
}

func (c *console) applyTopics(cmd *cobra.Command, path string, generations []int) error {
	report, err := onTopics(cmd, path, generations, kafka.ApplyTopics)
	if err != nil {
		return err
	}
	if err := c.printTopics(report); err != nil {
		return err
	}
	if n := len(report.Findings); n > 0 {
		return partlyError{fmt.Errorf("topics: %d settings are not as wanted; nothing of them was changed", n)}
	}
	return nil
}

func (c *console) checkTopics(cmd *cobra.Command, path string, generations []int) error {
	check := func(ctx context.Context, cfg kafka.Config, specs ...kafka.TopicSpec) ([]string, []kafka.Finding, error) {
		findings, err := kafka.CheckTopics(ctx, cfg, specs...)
		return nil, findings, err
	}
	report, err := onTopics(cmd, path, generations, check)
	if err != nil {
		return err
	}
	if err := c.printTopics(report); err != nil {
		return err
	}
	if n := len(report.Findings); n > 0 {
		return fmt.Errorf("topics: %d settings are not as wanted", n)
	}
	return nil
}

// onTopics reads the settings and lets do work on the topics that they ask for.
func onTopics(cmd *cobra.Command, path string, generations []int, do func(context.Context, kafka.Config, ...kafka.TopicSpec) ([]string, []kafka.Finding, error)) (topicsReport, error) {
	loaded, err := config.Load(path, nil)
	if err != nil {
		return topicsReport{}, usageError{err, cmd.CommandPath()}
	}
	cfg := app.KafkaConfig(loaded.Kafka)
	for _, n := range generations {
		if n < 2 {
			return topicsReport{}, misused(cmd, "--generation %d: generations with a topic of their own begin with 2", n)
		}
	}
	specs, err := kafka.Topics(cfg, generations...)
	if err != nil {
		return topicsReport{}, usageError{err, cmd.CommandPath()}
	}
	created, findings, err := do(cmd.Context(), cfg, specs...)
	return topicsReport{append([]string{}, created...), append([]kafka.Finding{}, findings...)}, err
}

func (c *console) printTopics(r topicsReport) error {
	if c.json {
		return c.printJSON(r)
	}
	for _, name := range r.Created {
		c.printf("created %s\n", name)
	}
	for _, f := range r.Findings {
		c.printf("%s\n", f)
	}
	if len(r.Created)+len(r.Findings) == 0 {
		c.printf("every topic is there and as wanted\n")
	}
	return nil
}
