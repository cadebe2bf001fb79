package serve

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/tensor"
)

type alignRequest struct {
	Do
	Handle  int `json:"handle"`
	Episode int `json:"episode"`
	// Plan is a plan file's text. PlanPath is its path, for errors. If PlanPath is empty, the text was made from a call's arguments, and
	// errors have no line.
	Plan     string `json:"plan"`
	PlanPath string `json:"plan_path"`
	// Targets is the dtype of the target times in the blob, which replace the plan's rate.
	Targets string `json:"targets"`
	Fuse    bool   `json:"fuse"`
}

// aligned is the reply to "align". After a fuse it has one set of arrays, else one for each stream.
type aligned struct {
	Times   array           `json:"times"`
	Values  *array          `json:"values,omitempty"`
	Valid   *array          `json:"valid,omitempty"`
	Age     *array          `json:"age,omitempty"`
	Pad     *array          `json:"pad,omitempty"`
	Streams []alignedStream `json:"streams"`
	Report  alignReport     `json:"report"`
	Text    string          `json:"text"` // the report as a table, and a line for each of its notes
}

// alignReport is a report with its notes as sentences.
type alignReport struct {
	*align.Report
	Entries []notetext.EpisodeEntry `json:"notes"`
}

type alignedStream struct {
	Name    string              `json:"name"`
	Columns []inspection.Column `json:"columns"`
	Values  *array              `json:"values,omitempty"`
	Valid   *array              `json:"valid,omitempty"`
	Age     *array              `json:"age,omitempty"`
	Pad     *array              `json:"pad,omitempty"`
}

func alignRecording(ctx context.Context, c *Conn, r *Request, q alignRequest) (*Reply, error) {
	plan, err := planfile.Parse(q.PlanPath, []byte(q.Plan))
	if err != nil {
		return nil, unplaced(q.PlanPath, err)
	}
	if q.Targets != "" {
		plan.Rate = 0
		if plan.Targets, err = timesOf("targets", q.Targets, r.Blob); err != nil {
			return nil, err
		}
	}
	rec, e, err := c.recordings.episode(ctx, q.Handle, q.Episode)
	if err != nil {
		return nil, err
	}
	if rec.Format() == "npz" && len(plan.Streams) == 0 { // without an explicit list, streams without samples would be missing
		for _, s := range e.Streams {
			plan.Streams = append(plan.Streams, align.Stream{Name: s.Name})
		}
	}
	var a arrays
	out, err := c.align(ctx, e, plan, q.Fuse, &a)
	if err != nil {
		return nil, rec.fails(q.Episode, unplaced(q.PlanPath, err))
	}
	var text strings.Builder
	text.WriteString(out.Report.String())
	notes := out.Report.Notes
	others := notes.Of(dataset.ClassDamage, dataset.ClassRemark)
	out.Report.Entries = notetext.NoteEntries(slices.Concat(notes.Of(dataset.ClassLeftOut), others))
	for _, line := range append(notetext.LeftOutLines(notes), notetext.Lines(others)...) {
		text.WriteString(printed.Text(byArguments.Replace(line)) + "\n")
	}
	out.Text = text.String()
	return rec.reply(q.Episode, "aligned streams", &a, out)
}

func (c *Conn) align(ctx context.Context, e *dataset.Episode, plan align.Plan, fuse bool, a *arrays) (*aligned, error) {
	add := func(t *tensor.Tensor) *array {
		sent := a.add(t)
		return &sent
	}
	if fuse {
		got, err := align.Fuse(ctx, c.cpu, e, plan)
		if err != nil {
			return nil, err
		}
		out := &aligned{Times: a.add(got.Times), Values: add(got.Values), Valid: add(got.Valid), Age: add(got.Age), Pad: add(got.Pad), Report: alignReport{Report: &got.Report}}
		for i := range got.Streams {
			s := &got.Streams[i]
			out.Streams = append(out.Streams, alignedStream{Name: s.Name, Columns: inspection.Columns(s.Columns)})
		}
		return out, nil
	}
	got, err := align.Resample(ctx, c.cpu, e, plan)
	if err != nil {
		return nil, err
	}
	out := &aligned{Times: a.add(got.Times), Report: alignReport{Report: &got.Report}}
	for i := range got.Streams {
		s := &got.Streams[i]
		out.Streams = append(out.Streams, alignedStream{s.Name, inspection.Columns(s.Columns), add(s.Values), add(s.Valid), add(s.Age), add(s.Pad)})
	}
	return out, nil
}

// unplaced returns the error of a plan. If path is empty, the plan's text was made from arguments: the error then has no line and column,
// and its key is the argument's name.
func unplaced(path string, err error) error {
	if path != "" {
		return err
	}
	var at *clocks.InPlanError
	if errors.As(err, &at) {
		return at.Err
	}
	var plan *align.PlanError
	if errors.As(err, &plan) {
		bare := *plan
		bare.Line, bare.Column = 0, 0
		switch key := strings.TrimPrefix(plan.Key, "defaults."); key {
		case "rate":
			bare.Key = "hz"
		case "defaults":
			bare.Key = "options"
		default:
			bare.Key = strings.Replace(key, "method", "kind", 1) // the argument in Python
		}
		return &bare
	}
	return err
}
