package commands

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// usage prints how a command is typed: its verbs, its own flags, its examples. Flags that every command takes are left to
// the command "options".
func usage(cmd *cobra.Command) error {
	writeUsage(cmd.OutOrStderr(), cmd)
	return nil
}

func help(cmd *cobra.Command, _ []string) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", text)
	writeUsage(cmd.OutOrStdout(), cmd)
}

func writeUsage(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintln(w, "Usage:")
	if cmd.HasAvailableSubCommands() && cmd.Name() == cmd.Root().Name() {
		fmt.Fprintf(w, "  %s VERB\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	writeVerbs(w, cmd)
	if flags := ownFlags(cmd); flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", flags.FlagUsagesWrapped(100))
	}
	fmt.Fprintf(w, "\nFlags that every command takes: %s options\n", cmd.Root().CommandPath())
}

func writeVerbs(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprintln(w, "\nVerbs:")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(w, "  %-*s  %s\n", cmd.NamePadding(), c.Name(), c.Short)
		}
	}
}

// ownFlags are the flags of cmd without those of every command and without --help.
func ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	own.SortFlags = false
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && cmd.Root().PersistentFlags().Lookup(f.Name) == nil {
			own.AddFlag(f)
		}
	})
	return own
}

// optionsCommand prints the flags that every command takes, as kubectl's command of that name does.
func optionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:                   "options",
		Short:                 "Print the flags that every command takes",
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := cmd.Root().PersistentFlags().FlagUsagesWrapped(100)
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "Every command takes these flags:\n%s\n", strings.TrimRight(flags, "\n"))
			return err
		},
	}
}

// helpCommand is "help VERB…", the long way to type --help.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help [VERB]",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 && about.HasSubCommands() {
				return cli.Usagef("no help for %q; there is: %s", strings.Join(args, " "), strings.Join(verbs(cmd.Root()), ", "))
			}
			return about.Help()
		},
	}
}
