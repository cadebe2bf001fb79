package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/viz"
)

// result is the report for resample and fuse.
type result struct {
	Input  string     `json:"input"`
	Output string     `json:"output"`
	Plot   string     `json:"plot,omitempty"`
	Device deviceInfo `json:"device"`
	align.Report
	Remarks []string          `json:"remarks"`  // lines on standard error
	LeftOut []notetext.Reason `json:"left_out"` // streams that are not in the output, and why
	Ignored []string          `json:"ignored"`  // unused arrays of an .npz file
}

// resampled writes the result: a table to standard output, and the notes to standard error.
func (a *app) resampled(r *result) error {
	remarks := []string{} // empty, not nil, in JSON
	if len(r.Ignored) > 0 {
		remarks = append(remarks, "not used: "+strings.Join(r.Ignored, ", "))
	}
	r.LeftOut = notetext.Reasons(r.Notes.Of(dataset.ClassLeftOut))
	r.Remarks = slices.Concat(remarks, notetext.LeftOutLines(r.Notes), notetext.Lines(r.Notes.Of(dataset.ClassDamage, dataset.ClassRemark)), r.Remarks)
	if a.JSON {
		return a.WriteJSON(r)
	}
	a.Remarks(r.Remarks)
	wrote := r.Output
	if r.Plot != "" {
		wrote += " and " + r.Plot
	}
	_, err := fmt.Fprintf(a.Out, "%vwrote %s, computed on %s\n", r.Report, wrote, r.Device.Name)
	return err
}

// job is a recording that was read.
type job interface {
	// run resamples and keeps the data for save.
	run(r *request, device *ops.Device) (*result, error)
	// arrays writes the output.
	arrays(w arrayfile.Writer) error
	// panels returns the figure's panels.
	panels() ([]viz.Panel, error)
}

// work is a job with an output to write.
type work struct{ job }
