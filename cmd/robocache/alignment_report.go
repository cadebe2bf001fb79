package main

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/schema"
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
	noteList
	Ignored []string `json:"ignored"` // unused arrays in an .npz file
}

// resampled writes the result: a table to standard output, and the notes to standard error.
func (a *app) resampled(r *result) error {
	all := newNotes()
	if len(r.Ignored) > 0 {
		all.remark("arrays-unused", "not used: %s", strings.Join(r.Ignored, ", "))
	}
	all.add(notetext.NoteEntries(r.Notes.Of(dataset.ClassLeftOut)), notetext.LeftOutLines(r.Notes)...)
	all.notes(r.Notes.Of(dataset.ClassDamage, dataset.ClassRemark))
	all.add(r.Entries, r.lines...)
	if r.noteList = all; a.JSON {
		return a.WriteJSON(schema.Alignment, r)
	}
	r.print(a)
	wrote := r.Output
	if r.Plot != "" {
		wrote += " and " + r.Plot
	}
	if err := r.Report.Print(a.Out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "wrote %s, computed on %s\n", wrote, r.Device.Name)
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
