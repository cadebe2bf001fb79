package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops/sim"
	"github.com/spf13/cobra"
)

const profileHelp = `Profile runs a command on the simulated device and prints counts for each kernel launch there:
instructions by class, the bytes that threads asked for and the 32-byte sectors that their
requests moved, passes lost to bank conflicts, atomics and divergent branches. The figures are
exact and the same on every machine. They are counts, not times.

COMMAND is any that has --backend, with its own arguments and flags. Its output is thrown away
unless -o names a file.`

const profileExample = `  robocache profile resample episode.npz
  robocache profile --json resample flight.ulg --hz 50 --stream sensor_combined`

// profileResult is the profile report.
type profileResult struct {
	Command  []string       `json:"command"`
	Device   deviceInfo     `json:"device"`
	Launches []launchResult `json:"launches"`
}

// launchResult is one launch. sectors_over_least compares the sectors moved with the sectors for densely packed bytes.
type launchResult struct {
	Kernel            string            `json:"kernel"`
	Grid              [3]uint32         `json:"grid"`
	Block             [3]uint32         `json:"block"`
	Shared            uint32            `json:"dynamic_shared_bytes"`
	Warps             uint64            `json:"warp_instructions"`
	Instructions      map[string]uint64 `json:"thread_instructions"`
	Read              trafficResult     `json:"global_read"`
	Write             trafficResult     `json:"global_write"`
	Prefetched        uint64            `json:"prefetched_lines"` // lines of 128 bytes, each counted once
	BankConflicts     uint64            `json:"bank_conflicts"`
	Atomics           uint64            `json:"atomics"`
	AtomicsOnOne      uint64            `json:"atomics_on_one_address"`
	Barriers          uint64            `json:"barriers"`
	Branches          uint64            `json:"branches"`
	DivergentBranches uint64            `json:"divergent_branches"`
}

type trafficResult struct {
	Requests uint64  `json:"requests"`
	Bytes    uint64  `json:"bytes"`
	Sectors  uint64  `json:"sectors"`
	Least    uint64  `json:"least_sectors"`
	Over     float64 `json:"sectors_over_least"` // 0 without traffic
}

func trafficOf(t cudasim.Traffic) trafficResult {
	r := trafficResult{Requests: t.Requests, Bytes: t.Bytes, Sectors: t.Sectors, Least: (t.Bytes + 31) / 32}
	if r.Least > 0 {
		r.Over = float64(r.Sectors) / float64(r.Least)
	}
	return r
}

func launchOf(l *cudasim.Launch) launchResult {
	c := l.Counters
	return launchResult{
		Kernel: l.Kernel, Grid: l.Grid, Block: l.Block, Shared: l.Shared,
		Warps: c.Warps, Instructions: c.Instructions, Read: trafficOf(c.GlobalRead), Write: trafficOf(c.GlobalWrite),
		Prefetched: c.Prefetched, BankConflicts: c.BankConflicts, Atomics: c.Atomics, AtomicsOnOne: c.AtomicsOnOne,
		Barriers: c.Barriers, Branches: c.Branches, DivergentBranches: c.DivergentBranches,
	}
}

// profileCommand returns the command profile. It runs another command in the tree that root returns.
func (a *app) profileCommand(root func(*app) *cobra.Command) *cobra.Command {
	var backend string
	cmd := &cobra.Command{
		Use:     "profile COMMAND ARGS",
		Short:   "Count the work of a command's kernels on a simulated GPU",
		Long:    profileHelp,
		Example: profileExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("profile takes a command to run, got none, want %s", strings.Join(profiled(cmd.Root()), ", "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if backend != "sim" {
				return usagef("--backend: got %q, want sim: only the simulated device counts", backend)
			}
			return a.profile(root, args)
		},
	}
	cmd.Flags().SetInterspersed(false) // the flags after the command belong to the command
	nameFlag(cmd, &backend, "backend", "sim", "sim", "sim")
	return cmd
}

// profiled returns the commands that profile can run: they have the flags --backend and --output.
func profiled(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.Flags().Lookup("backend") != nil && c.Flags().Lookup("output") != nil {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	return names
}

// profile runs a command line on the simulated device and records its launches.
func (a *app) profile(root func(*app) *cobra.Command, args []string) error {
	hidden := newApp(a.In, io.Discard, io.Discard)
	hidden.Pipe = a.Pipe // for the pipe's name in errors
	inner := root(hidden)
	if commands := profiled(inner); !slices.Contains(commands, args[0]) {
		return usagef("profile: got the command %q, want %s", args[0], strings.Join(commands, ", "))
	}
	line, err := a.profileLine(root, args)
	if err != nil {
		return err
	}
	device, err := sim.Device()
	if err != nil {
		return err
	}
	r := profileResult{Command: args, Launches: []launchResult{}}
	var mu sync.Mutex
	device.Observe(func(l *cudasim.Launch) {
		mu.Lock()
		defer mu.Unlock()
		r.Launches = append(r.Launches, launchOf(l))
	})
	defer device.Observe(nil)
	inner.SetArgs(line)
	if _, err := inner.ExecuteC(); err != nil {
		return err
	}
	if r.Device, err = probe("sim"); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if a.JSON {
		return a.WriteJSON(schema.Profile, r)
	}
	return r.write(a.Out)
}

// profileLine adds the backend to a command line and, if it has no output, a temporary output.
func (a *app) profileLine(root func(*app) *cobra.Command, args []string) (line []string, err error) {
	c, rest, err := root(newApp(nil, io.Discard, io.Discard)).Find(args)
	if err != nil {
		return nil, err
	}
	if err := c.ParseFlags(rest); err != nil {
		return nil, usagef("%s: %v", args[0], err)
	}
	if f := c.Flag("backend"); f.Changed && f.Value.String() != "sim" {
		return nil, usagef("--backend: got %q, want sim: only the simulated device counts", f.Value)
	}
	if f := c.Flag("json"); f != nil && f.Changed {
		a.JSON = true
	}
	line = append(slices.Clone(args), "--backend", "sim")
	if c.Flag("output").Changed {
		return line, nil
	}
	dir, err := a.temporaryFolder()
	return append(line, "-o", filepath.Join(dir, "out.npz")), err
}

// classes are the instruction classes in the table's order.
var classes = []string{"int", "float", "double", "half", "convert", "move", "predicate", "branch", "memory", "atomic", "sync", "other"}

func size3(n [3]uint32) string {
	if n[1] == 1 && n[2] == 1 {
		return fmt.Sprint(n[0])
	}
	return fmt.Sprintf("%dx%dx%d", n[0], n[1], n[2])
}

func (t trafficResult) over() string {
	if t.Least == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", t.Over)
}

func (r *profileResult) write(out io.Writer) error {
	fmt.Fprintf(out, "%s on %s, %s\n%s\n\n", strings.Join(r.Command, " "), r.Device.Name, r.Device.Product, r.Device.Kernels)
	t := text.NewTable(out, tabwriter.AlignRight)
	fmt.Fprintln(t, "launch\tkernel\tblocks\tthreads\tread bytes\tsectors\tover least\twritten bytes\tsectors\tover least\tconflicts\tatomics\tdivergent\t")
	for i, l := range r.Launches {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%s\t%d\t%d\t%d/%d\t\n", i+1, l.Kernel, size3(l.Grid), size3(l.Block),
			l.Read.Bytes, l.Read.Sectors, l.Read.over(), l.Write.Bytes, l.Write.Sectors, l.Write.over(),
			l.BankConflicts, l.Atomics, l.DivergentBranches, l.Branches)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\ninstructions of threads, by class")
	t = text.NewTable(out, tabwriter.AlignRight)
	fmt.Fprintf(t, "launch\twarps'\t%s\t\n", strings.Join(classes, "\t"))
	for i, l := range r.Launches {
		fmt.Fprintf(t, "%d\t%d\t", i+1, l.Warps)
		for _, c := range classes {
			fmt.Fprintf(t, "%d\t", l.Instructions[c])
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
