package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
)

// FlagError turns a flag that cannot be parsed into one sentence that names the flag and what it takes.
func FlagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return Usagef("--%s %q: %s", value.GetFlag().Name, value.GetValue(), wants(value.GetFlag(), value.Unwrap()))
	case errors.As(err, &missing):
		return Usagef("--%s needs a value", missing.GetFlag().Name)
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = "-" + unknown.GetSpecifiedName()
		}
		return Usagef("%s has no flag %s; see: %s --help", cmd.CommandPath(), name, cmd.CommandPath())
	}
	return Usagef("%w", err)
}

// wants says what a flag takes. Types of our own say it themselves.
func wants(f *pflag.Flag, err error) string {
	switch f.Value.Type() {
	case "bool":
		return "want true or false"
	case "duration":
		return "want a duration, e.g. 90s or 10m"
	case "int", "int32", "int64":
		return "want a whole number"
	case "float32":
		return "want a number"
	}
	return err.Error()
}

// Explain is the text for a person of an error that ends a command: the server's own words without the wrapping that
// client libraries add.
func Explain(err error) string { return cluster.Explain(err).Error() }

// Join makes one error of several, in one line; nil when there is none.
func Join(list []error) error {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return fmt.Errorf("%w; %w", list[0], Join(list[1:]))
}
