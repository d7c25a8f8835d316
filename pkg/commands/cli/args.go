package cli

import "github.com/spf13/cobra"

// NoArgs refuses arguments in one sentence.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usagef("%s takes no argument, got %q", cmd.CommandPath(), args[0])
}
