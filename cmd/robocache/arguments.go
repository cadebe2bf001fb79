package main

import (
	"strings"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/spf13/cobra"
)

// takes returns the check of a command that takes least to most arguments; most 0 is any number. what says so.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch n := len(args); {
		case n == 0 && most == 0:
			return usagef("%s, got none", what)
		case n < least || most > 0 && n > most:
			return usagef("%s, got %d: %q", what, n, args)
		}
		return nil
	}
}

// noArgs refuses arguments, with an error that ends in the right exit code.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return usagef("%s: got %q, want %s", cmd.CommandPath(), args[0], commandNames(cmd))
	}
	return usagef("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
}

func commandNames(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}

// complete gives the shell a flag's values.
func complete(cmd *cobra.Command, flag string, names func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // a flag that does not exist: a mistake in this package
	}
}

// files says which flags of a command name files, and of which kinds.
func files(cmd *cobra.Command, kinds map[string]string) {
	for flag, exts := range kinds {
		if err := cmd.MarkFlagFilename(flag, strings.Fields(exts)...); err != nil {
			panic(err) // a flag that does not exist: a mistake in this package
		}
	}
}

// folders says which flags of a command name folders.
func folders(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagDirname(flag); err != nil {
			panic(err) // as above
		}
	}
}

func backendNames() []string { return append([]string{"auto"}, ops.Backends()...) }

// dtypeFlag returns the flag of a dtype of values, which is written to a field.
func dtypeFlag(to *tensor.DType) cli.Setting[tensor.DType] {
	return cli.SettingOf(to, "DTYPE", tensor.F32, tensor.F64, tensor.F16, tensor.BF16)
}
