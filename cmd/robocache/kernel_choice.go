package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
)

// explained explains a job's launches.
type explained struct {
	Suite    string        `json:"suite"`
	Job      string        `json:"job"`
	Why      string        `json:"why,omitempty"` // if there are no launches
	Launches []cuda.Launch `json:"launches"`
}

func (a *app) explainJobs(dev *ops.Device, jobs []benchmark.Job, mode ops.LaunchMode) error {
	list := []explained{}
	for _, j := range jobs {
		launches, why, err := benchmark.Explain(dev, j, mode)
		if err != nil {
			return err
		}
		list = append(list, explained{j.Suite(), j.Name(), why, launches})
	}
	if a.JSON {
		return a.WriteJSON(schema.Launches, map[string]any{"kernels": dev.Info().Kernels, "shapes": dev.Info().Shapes, "jobs": list})
	}
	t := text.NewTable(a.Out, 0)
	fmt.Fprintln(t, "job\tkernel\tblocks\tthreads\tshared\tregisters\tlocal\tblocks an SM\twaves\tchosen\tby\tlaunch")
	for _, e := range list {
		name := e.Suite + " " + e.Job
		for _, l := range e.Launches {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%s\t%s\t%s\n", name, l.Kernel, l.Grid[0]*l.Grid[1]*l.Grid[2], l.Block[0]*l.Block[1]*l.Block[2],
				l.Shared, l.Registers, l.Local, l.Resident, l.Waves, cmp.Or(l.Shape, "-"), chosenBy(l), map[bool]string{false: "plain", true: "early"}[l.Dependent])
			name = ""
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, e := range list {
		writePassedOver(a.Out, e)
	}
	if shapes := dev.Info().Shapes; shapes != "" {
		fmt.Fprintf(a.Out, "launch shapes: %s\n", shapes)
	}
	if dev.Info().Backend == "sim" {
		fmt.Fprintln(a.Out, "registers, and figures that follow from them, are guesses by the simulation")
	}
	for _, e := range list {
		if len(e.Launches) == 0 {
			fmt.Fprintf(a.Out, "no launches: %s %s: %s\n", e.Suite, e.Job, cmp.Or(e.Why, "nothing to do"))
		}
	}
	return nil
}

// writePassedOver prints the variants before the chosen one, and why each was rejected.
func writePassedOver(w io.Writer, e explained) {
	for _, l := range e.Launches {
		for i, c := range l.Considered {
			if c.Why == "" {
				break
			}
			if i == 0 {
				fmt.Fprintf(w, "%s %s\n", e.Suite, e.Job)
			}
			fmt.Fprintf(w, "  not %s: %s\n", c.Variant, c.Why)
		}
	}
}

// chosenBy returns the origin of a launch's shape: "the kernel" if it has only one, else "table" or "heuristic".
func chosenBy(l cuda.Launch) string {
	switch {
	case l.Key == "":
		return "the kernel"
	case l.Tuned:
		return "table"
	}
	return "heuristic"
}
