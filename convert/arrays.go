package convert

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// NPZ returns the target for numpy archives, one per episode. Each stream has NAME.values [S,D], NAME.times [S] and NAME.columns
// [D]; if all streams have one clock, there is a single times [T]. With a plan there are also NAME.valid [T] and NAME.age [T].
// Whole numbers keep their recorded type, or get the smallest type that holds the stream's columns. Frames and clouds are left out.
func NPZ() Target { return arrays{"npz"} }

// Safetensors returns the target for safetensors files, one per episode, with the same arrays as NPZ; the column names are JSON in
// the metadata.
func Safetensors() Target { return arrays{"safetensors"} }

type arrays struct{ format string }

func (a arrays) Name() string { return a.format }

func (a arrays) Traits() Traits { return Traits{Integers: true, Ext: "." + a.format} }

func (a arrays) Settings() any { return struct{}{} }

func (a arrays) Create(_ context.Context, path string, _ Piece) (Writer, error) {
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &arraysWriter{f, a.format, arrayfile.New("."+a.format, f)}, nil
}

type arraysWriter struct {
	*atomicfile.File
	format string
	to     arrayfile.Writer
}

func (w *arraysWriter) Commit(context.Context) error { return w.File.Commit() }

func (w *arraysWriter) Add(_ context.Context, e *Episode) (Kept, error) {
	kept := Kept{Samples: map[string]int{}}
	for i := range e.Streams {
		kept.Samples[e.Streams[i].Name] = e.Streams[i].Len()
	}
	for i := range e.Media {
		kept.leave(e.Media[i].Name, e.Media[i].Len(), noPlace("frames", w.format))
	}
	for i := range e.Clouds {
		kept.leave(e.Clouds[i].Name, e.Clouds[i].Len(), noPlace("point clouds", w.format))
	}
	kept.leaveAttributes(e, w.format, false)
	kept.leaveTexts(e, w.format)
	err := w.write(e)
	if err == nil {
		err = w.to.Close()
	}
	var array *npz.Error
	var named *safetensors.Error
	if errors.As(err, &array) || errors.As(err, &named) {
		err = &RefusedError{err}
	}
	return kept, err
}

// write writes the arrays of an episode.
func (w *arraysWriter) write(e *Episode) error {
	said := map[string]string{"task": e.Attributes.Task}
	if e.Attributes.Success != nil {
		said["success"] = strconv.FormatBool(*e.Attributes.Success)
	}
	for _, name := range []string{"task", "success"} {
		if err := w.text(name, said[name]); err != nil {
			return err
		}
	}
	kind := &kindly{w.to, e, map[string]int{}}
	for i := range e.Streams {
		kind.streams[e.Streams[i].Name] = i
	}
	if e.Aligned != nil {
		return e.Aligned.WriteArrays(kind)
	}
	together := e.Times != nil && len(e.Streams) > 0
	if together {
		if err := w.to.Add("times", e.Streams[0].Times); err != nil {
			return err
		}
	}
	for i := range e.Streams {
		s := &e.Streams[i]
		if err := kind.Add(s.Name+".values", s.Values); err != nil {
			return err
		}
		if !together {
			if err := w.to.Add(s.Name+".times", s.Times); err != nil {
				return err
			}
		}
		if err := w.to.AddStrings(s.Name+".columns", s.ColumnNames()); err != nil {
			return err
		}
	}
	return nil
}

// text writes a text under a name, unless the text is empty. A npz file gets it as an array of one string.
func (w *arraysWriter) text(name, text string) error {
	text = strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\x00")
	if text == "" {
		return nil
	}
	if to, ok := w.to.(interface{ AddText(name, text string) error }); ok {
		return to.AddText(name, text)
	}
	return w.to.AddStrings(name, []string{text})
}

// wholeWriter is an array writer that can write whole numbers in an integer dtype.
type wholeWriter interface {
	AddWhole(name, typ string, t *tensor.Tensor) error
}

// kindly is an array writer that writes whole-number streams in an integer dtype, unless the plan interpolates between their samples.
type kindly struct {
	arrayfile.Writer
	e       *Episode
	streams map[string]int // indexes in e.Streams by name
}

func (k *kindly) Add(name string, t *tensor.Tensor) error {
	to, can := k.Writer.(wholeWriter)
	stream, values := strings.CutSuffix(name, ".values")
	i, ok := k.streams[stream]
	if !can || !values || !ok || k.e.Aligned != nil && slices.ContainsFunc(k.e.Aligned.Streams[i].Channels, between) {
		return k.Writer.Add(name, t)
	}
	t, typ, err := wholeValues(&k.e.Streams[i])
	if err != nil {
		return err
	}
	if typ == "" {
		return k.Writer.Add(name, t)
	}
	return to.AddWhole(name, typ, t)
}

// wholeValues returns a stream's values, and the numpy type for them if they are whole numbers that it holds; otherwise it is empty.
func wholeValues(s *dataset.Stream) (t *tensor.Tensor, typ string, err error) {
	t, typ = s.Values, npy.WholeType(s.Columns)
	if s.Integers != nil {
		if t = s.Integers; typ != "uint64" {
			typ = "int64"
		}
	}
	holds, err := npy.HoldsWhole(typ, t)
	if !holds {
		t, typ = s.Values, ""
	}
	return t, typ, err
}

// between reports whether a channel's method computes values between two samples, so that whole numbers may become fractions.
func between(c ops.Channel) bool {
	return c.Interp != ops.InterpPrevious && c.Interp != ops.InterpNearest && c.Interp != ops.InterpNext
}
