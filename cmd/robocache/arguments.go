package main

import (
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/spf13/cobra"
)

// takes returns the check for a command with least to most arguments; most 0 means no upper limit. what describes the arguments in the
// error.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch n := len(args); {
		case n == 0:
			return usagef("%s, got none", what)
		case n < least || most > 0 && n > most:
			return usagef("%s, got %d: %s", what, n, quoted(args))
		}
		return nil
	}
}

// quoted returns arguments in one text: "a", "b".
func quoted(args []string) string {
	return text.Join(args, len(args), ", ", func(arg *string) string { return strconv.Quote(*arg) })
}

// noArgs returns a usage error if a command has arguments.
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

// completing counts the running command lines that complete another one for a shell. If it is 0, no completion is registered, because cobra
// keeps each completion and its flag until the program ends.
var completing atomic.Int32

// complete registers completions for a flag's values.
func complete(cmd *cobra.Command, flag string, names func() []string) {
	completeWith(cmd, flag, func([]string, string) []string { return names() })
}

// completeWith registers list as the completions for a flag. list takes the command's arguments and the unfinished value. The shell adds no
// space after a completion that ends in =.
func completeWith(cmd *cobra.Command, flag string, list func(args []string, word string) []string) {
	if completing.Load() == 0 {
		return
	}
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		then, names := cobra.ShellCompDirectiveNoFileComp, list(args, word)
		if len(names) > 0 && strings.HasSuffix(names[0], "=") {
			then |= cobra.ShellCompDirectiveNoSpace
		}
		return names, then
	})
	if err != nil {
		panic(err) // a bug: the flag does not exist
	}
}

// files marks flags for files, with their extensions.
func files(cmd *cobra.Command, kinds map[string]string) {
	for flag, exts := range kinds {
		if err := cmd.MarkFlagFilename(flag, strings.Fields(exts)...); err != nil {
			panic(err) // a bug: the flag does not exist
		}
	}
}

// folders marks flags for folders.
func folders(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagDirname(flag); err != nil {
			panic(err) // as above
		}
	}
}

func backendNames() []string { return append([]string{"auto"}, ops.Backends()...) }

// dtypeFlag returns the flag for the values' dtype. It writes to a field.
func dtypeFlag(to *tensor.DType) cli.Setting[tensor.DType] {
	return cli.SettingOf(to, "DTYPE", tensor.F32, tensor.F64, tensor.F16, tensor.BF16)
}
