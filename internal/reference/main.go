// Command reference writes the reference of the plugin's commands, one page for each, into the directory that it is given.
// A test fails when the pages there are not what it would write.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reference DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1], pages()); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// write replaces the pages of a directory.
func write(dir string, pages map[string]string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pages makes all pages by their file name.
func pages() map[string]string {
	root := commands.New(cli.Deps{})
	all := map[string]string{"README.md": index(root)}
	each(root, func(cmd *cobra.Command) {
		if cmd != root {
			all[fileOf(cmd)] = page(cmd)
		}
	})
	return all
}

// each visits a command and what is below it, in order of name.
func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			each(c, visit)
		}
	}
}

func fileOf(cmd *cobra.Command) string {
	path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().CommandPath()+" ")
	return strings.ReplaceAll(path, " ", "-") + ".md"
}

const generated = "<!-- Written by `make generate`. Do not edit. -->\n\n"

func index(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# Commands\n\n%s\n\n", generated, root.Long)
	b.WriteString("| command | what it does |\n|---|---|\n")
	each(root, func(cmd *cobra.Command) {
		if cmd != root {
			fmt.Fprintf(&b, "| [`%s`](%s) | %s |\n", cmd.CommandPath(), fileOf(cmd), cmd.Short)
		}
	})
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, c := range cli.Codes() {
		fmt.Fprintf(&b, "| %d | %s |\n", c, c.Meaning())
	}
	b.WriteString("\n## Flags of every command\n\n")
	b.WriteString(flagTable(root.PersistentFlags()))
	return b.String()
}

func page(cmd *cobra.Command) string {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s# %s\n\n%s\n\n```\n%s\n```\n", generated, cmd.CommandPath(), text, cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\n## Examples\n\n```\n%s\n```\n", outdent(cmd.Example))
	}
	if flags := ownFlags(cmd); flags.HasAvailableFlags() {
		fmt.Fprintf(&b, "\n## Flags\n\n%s", flagTable(flags))
	}
	b.WriteString("\nExit codes and the flags that every command takes: [commands](README.md).\n")
	return b.String()
}

func ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && cmd.Root().PersistentFlags().Lookup(f.Name) == nil {
			own.AddFlag(f)
		}
	})
	return own
}

func flagTable(flags *pflag.FlagSet) string {
	rows := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		standard := f.DefValue
		switch standard {
		case "", "[]", "false", "0s":
			standard = ""
		default:
			standard = "`" + standard + "`"
		}
		if f.Name == "cache-dir" { // depends on the machine
			standard = "`~/.kube/cache`"
		}
		rows[f.Name] = fmt.Sprintf("| %s | %s | %s |\n", name, standard, strings.ReplaceAll(f.Usage, "|", "\\|"))
	})
	var b strings.Builder
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[name])
	}
	return b.String()
}

func outdent(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}
