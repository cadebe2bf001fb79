package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/schema"
	"github.com/spf13/cobra"
)

// run executes a command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := newApp(stdin, stdout, stderr)
	defer app.Interrupts.Watch()()
	defer func() { app.memory() }()
	defer atomicfile.RemoveEmpty()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completing.Add(1)
		defer completing.Add(-1)
	}
	root := app.command()
	root.SetArgs(append([]string{}, args...)) // nil would be the program's own
	root.SetIn(stdin)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitGood
	}
	if errors.Is(err, syscall.EPIPE) { // like any program with a closed output pipe
		atomicfile.Abandon()
		cli.DieOfPipe()
	}
	return app.fail(err, wantsJSON(args), func() {
		fmt.Fprintf(app.Err, "usage: %s\n'%s --help' has more.\n", cmd.UseLine(), cmd.CommandPath())
	})
}

// fail prints an error, and the usage if the command line was wrong. It returns the exit code.
func (a *app) fail(err error, json bool, usage func()) int {
	report := describe(err)
	// The arguments are searched, because the parser may have stopped before --json.
	var cut *cutError // its JSON is already written, as is that of foundError
	var found *foundError
	if !errors.As(err, &cut) && !errors.As(err, &found) && (a.JSON || json) {
		if failed := a.WriteJSON(schema.Error, map[string]any{"error": report}); failed == nil {
			return report.Code
		}
	}
	a.Report(strings.ReplaceAll(report.Message, "\n", "; "))
	if report.Code == exitUsage {
		usage()
	}
	return report.Code
}

func (a *app) command() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "robocache COMMAND",
		Short: "Find faults in robot recordings, and make datasets and policies of them",
		Long:  "robocache COMMAND --help explains a command. A GPU is optional.",
		Example: `  robocache view flight.ulg
  robocache convert bags/ -o demos --to lerobot --hz 20`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			want := commandNames(cmd)
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				want = strings.Join(near, " or ")
			}
			return usagef("no command %q, want %s", args[0], want)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.version()
			}
			if a.JSON {
				return usagef("no command given, want %s", commandNames(cmd))
			}
			return cmd.Help()
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "write one JSON object to standard output")
	root.PersistentFlags().BoolVar(&a.Wide, "wide", false, "tables with all columns, wider than the terminal")
	var room string
	root.PersistentFlags().Var(bytesFlag{&room}, "max-memory", "memory that the command may take, such as 2GiB; without it, an input may take a multiple of its size")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.limitMemory(room) }
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{Message: flagMessage(err) + nearestFlag(cmd.Flags(), err)}
	})
	root.SetHelpFunc(printHelp)
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Look: see the content of a recording, and its faults", []*cobra.Command{a.inspectCommand(), a.viewCommand(), a.doctorCommand()}},
		{"Prepare: put streams on one clock, make a dataset", []*cobra.Command{a.planCommand(), a.resampleCommand(), a.fuseCommand(), a.voxelizeCommand(), a.convertCommand(), a.statsCommand()}},
		{"Train: draw batches, train a policy and run it", []*cobra.Command{a.packCommand(), a.batchesCommand(), a.trainCommand(), a.policyCommand()}},
		{"Operate: check a machine, measure it", []*cobra.Command{a.infoCommand(), a.benchCommand(), a.tuneCommand(), a.profileCommand((*app).command)}},
	} {
		for _, c := range g.commands {
			c.GroupID = g.title
		}
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		root.AddCommand(g.commands...)
		root.SetHelpCommandGroupID(g.title) // the last one has cobra's commands
		root.SetCompletionCommandGroupID(g.title)
	}
	root.AddCommand(a.serveCommand())
	for _, c := range root.Commands() {
		if run := c.RunE; run != nil {
			c.RunE = func(cmd *cobra.Command, args []string) error {
				defer a.removeTemporary()
				finish, err := a.toStandardOutput(cmd.Flags())
				if err != nil {
					return err
				}
				return finish(inFlags(cmd.Flags(), run(cmd, args)))
			}
		}
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd() // after SetOut, because it stores the current writer
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return usagef("help: no command %q, want %s", strings.Join(args, " "), commandNames(root))
				}
				return nil
			}
		case "completion":
			c.Args, c.RunE = noArgs, func(c *cobra.Command, _ []string) error {
				return usagef("no shell given, want %s", commandNames(c))
			}
			for _, shell := range c.Commands() {
				shell.Args = noArgs
			}
		}
	}
	return root
}

func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

func (a *app) version() error {
	v := versionOf()
	if a.JSON {
		return a.WriteJSON(schema.Version, v)
	}
	_, err := fmt.Fprintln(a.Out, v)
	return err
}

// memoryVariable sets --max-memory for programs that start this one, such as Python.
const memoryVariable = "ROBOCACHE_MAX_MEMORY"

// leastMemory is the least memory that a command takes, bytes.
const leastMemory = 64 << 20

// bytesFlag is --max-memory.
type bytesFlag struct{ text *string }

func (f bytesFlag) String() string {
	if f.text == nil {
		return ""
	}
	return *f.text
}

func (bytesFlag) Type() string { return "BYTES" }

func (f bytesFlag) Set(text string) error {
	_, err := memory.Parse(text)
	*f.text = text
	return err
}

// limitMemory sets the memory limit, and ends the program with an error if the command takes more.
func (a *app) limitMemory(flag string) error {
	text, name := flag, "--max-memory"
	if text == "" {
		text, name = os.Getenv(memoryVariable), memoryVariable
	}
	bytes := int64(0)
	if text != "" {
		var err error
		if bytes, err = memory.Parse(text); err != nil {
			return usagef("%s: %v", name, err)
		}
	}
	memory.Set(bytes)
	over := func(err *memory.Error) {
		code := a.fail(err, a.JSON, nil)
		atomicfile.Abandon()
		os.Exit(code)
	}
	if limit := memory.Limit(); limit.Bytes < leastMemory {
		return &memory.Error{What: "the program", Bytes: leastMemory, Limit: limit}
	}
	a.memory = memory.Watch(over)
	return nil
}
