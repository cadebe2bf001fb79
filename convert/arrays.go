package convert

import (
	"context"
	"errors"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/atomicfile"
)

// NPZ is numpy archives, one an episode: NAME.values [S,D], NAME.times [S] and NAME.columns [D] of each stream, or one times [T] where all have one
// clock, and by a plan NAME.valid [T] and NAME.age [T] too. They have no frames and no clouds.
func NPZ() Target { return arrays{"npz"} }

// Safetensors is files of safetensors, one an episode, with the arrays of NPZ; the lists of columns are JSON in the metadata.
func Safetensors() Target { return arrays{"safetensors"} }

type arrays struct{ format string }

func (a arrays) Name() string   { return a.format }
func (a arrays) Traits() Traits { return Traits{Ext: "." + a.format} }
func (a arrays) Settings() any  { return struct{}{} }

func (a arrays) Create(_ context.Context, path string, _ Piece) (Writer, error) {
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &arraysWriter{f, a.format, align.NewArrayWriter("."+a.format, f)}, nil
}

type arraysWriter struct {
	*atomicfile.File
	format string
	to     align.ArrayWriter
}

func (w *arraysWriter) Commit(context.Context) error { return w.File.Commit() }

func (w *arraysWriter) Add(_ context.Context, e *Episode) (Kept, error) {
	kept := Kept{Samples: map[string]int{}}
	for i := range e.Streams {
		kept.Samples[e.Streams[i].Name] = e.Streams[i].Len()
	}
	for i := range e.Media {
		kept.leave(e.Media[i].Name, e.Media[i].Len(), "frames, which "+w.format+" has no place for")
	}
	for i := range e.Clouds {
		kept.leave(e.Clouds[i].Name, e.Clouds[i].Len(), "point clouds, which "+w.format+" has no place for")
	}
	err := w.write(e)
	var array *npz.Error
	var named *safetensors.Error
	if errors.As(err, &array) || errors.As(err, &named) {
		err = &RefusedError{err}
	}
	return kept, err
}

// write writes the arrays of an episode.
func (w *arraysWriter) write(e *Episode) error {
	if e.Aligned != nil {
		if err := e.Aligned.WriteArrays(w.to); err != nil {
			return err
		}
		return w.to.Close()
	}
	together := e.Times != nil && len(e.Streams) > 0
	if together {
		if err := w.to.Add("times", e.Streams[0].Times); err != nil {
			return err
		}
	}
	for i := range e.Streams {
		s := &e.Streams[i]
		if err := w.to.Add(s.Name+".values", s.Values); err != nil {
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
	return w.to.Close()
}

// giveUp leaves out what was to be written.
func (k *Kept) giveUp(name, reason string) {
	n := k.Samples[name]
	delete(k.Samples, name)
	k.leave(name, n, reason)
}

// leave notes what a format has no place for.
func (k *Kept) leave(name string, n int, reason string) {
	k.LeftOut = append(k.LeftOut, dataset.LeftOut{Name: name, Count: n, Reason: reason})
}
