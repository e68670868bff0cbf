package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
)

func (a *app) doctorCommand() *cobra.Command {
	var o cli.DoctorOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Say what this machine and this build have", Args: cobra.NoArgs,
		Long: "Say what this machine and this build have. The exit code is 1 when something that was asked for does not work.",
	}
	cmd.RunE = coded(func(cmd *cobra.Command, _ []string) error {
		if o.Model == "" {
			o.Model = os.Getenv("DEEPAGENTS_MODEL")
		}
		o.Version = version()
		return cli.Doctor(cmd.Context(), o, a.out, asJSON)
	})
	cmd.Flags().StringVar(&o.Data, "data", "", "data directory (default ~/.deepagents)")
	cmd.Flags().StringVarP(&o.Model, "model", "m", "", "a model spec to try (default $DEEPAGENTS_MODEL)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
