package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/printed"
)

// run executes a command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := newApp(stdin, stdout, stderr)
	app.announce = announcing(stderr)
	defer app.interrupts.watch()()
	root := app.command()
	root.SetArgs(args)
	root.SetIn(stdin)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitGood
	}
	if errors.Is(err, syscall.EPIPE) { // as of any program that writes into a pipe that nobody reads any more
		atomicfile.Abandon()
		dieOfPipe()
	}
	report := describe(err)
	// The flag may stand behind the one that could not be read, so the arguments are asked and not the parser.
	var cut *cutError // of which the JSON that was written tells, as it does of what was found
	var found *foundError
	if !errors.As(err, &cut) && !errors.As(err, &found) && (app.json || wantsJSON(args)) {
		if failed := app.writeJSON(map[string]any{"error": report}); failed == nil {
			return report.Code
		}
	}
	fmt.Fprintf(app.err, "robocache: %s\n", printed.Text(strings.ReplaceAll(report.Message, "\n", "; ")))
	if report.Code == exitUsage {
		fmt.Fprintf(app.err, "usage: %s\n'%s --help' says more.\n", cmd.UseLine(), cmd.CommandPath())
	}
	return report.Code
}

// app is one run of the program.
type app struct {
	in         io.Reader
	out, err   io.Writer
	announce   func(step string) (done func()) // tells a person at a terminal what takes long
	json       bool
	quiet      bool // remarks are for another program to make
	interrupts interrupts
	pipe       *pipe
}

func newApp(in io.Reader, out, err io.Writer) *app {
	p := &pipe{}
	return &app{in: in, out: &naming{out, p}, err: &naming{err, p}, pipe: p}
}

func (a *app) command() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "robocache",
		Short: "Align recorded robot data on the GPU",
		Long: `robocache puts the streams of a recording, each with a clock of its own, on one clock,
on a GPU or on the CPU.`,
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
			return usagef("no command given, want %s", commandNames(cmd))
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.PersistentFlags().BoolVar(&a.json, "json", false, "write one JSON object to standard output")
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{Message: flagMessage(err)} })
	root.AddCommand(a.infoCommand(), a.inspectCommand(), a.doctorCommand(), a.planCommand(), a.convertCommand(), a.statsCommand(), a.viewCommand(), a.resampleCommand(), a.fuseCommand(), a.packCommand(), a.batchesCommand(), a.trainCommand(), a.policyCommand(), a.voxelizeCommand(), a.benchCommand(), a.tuneCommand(), a.profileCommand(), a.serveCommand())
	for _, c := range root.Commands() {
		if run := c.RunE; run != nil {
			c.RunE = func(cmd *cobra.Command, args []string) error { return inFlags(cmd.Flags(), run(cmd, args)) }
		}
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd() // after SetOut: it keeps the writer of this moment
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

func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

func (a *app) writeJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.out.Write(a.pipe.json(b.Bytes()))
	return err
}

// remark tells the user something that is not the result. With --json the result carries it.
func (a *app) remark(format string, args ...any) {
	if !a.json && !a.quiet {
		fmt.Fprintf(a.err, "robocache: %s\n", printed.Text(fmt.Sprintf(format, args...)))
	}
}

// release is the version of what was built for a release or a wheel: the linker is told it (-X main.release=0.5.0), and the Python package has the same.
var release string

// buildVersion is what the linker knows of the module: the version of a release, a tag, or the revision that was built.
type buildVersion struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionOf() buildVersion {
	v := buildVersion{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	if release != "" {
		v.Version = release
	}
	return v
}

func (v buildVersion) String() string {
	s := "robocache " + v.Version
	if v.Revision != "" && !strings.Contains(v.Version, v.Revision[:min(len(v.Revision), 12)]) {
		s += " " + v.Revision[:min(len(v.Revision), 12)]
	}
	return s + " " + v.Go + " " + v.Platform
}

func (a *app) version() error {
	v := versionOf()
	if a.json {
		return a.writeJSON(v)
	}
	_, err := fmt.Fprintln(a.out, v)
	return err
}
