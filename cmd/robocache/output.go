package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/tensor"
)

// checkFiles finds what is wrong with the files that a command line names, and with its backend.
func checkFiles(in, out, plot, backend string) error {
	switch {
	case out == "":
		return usagef("no output given, want -o OUT.npz")
	case !strings.EqualFold(filepath.Ext(out), ".npz"):
		return usagef("-o: got %q, want a name that ends in .npz", out)
	case plot != "" && !strings.EqualFold(filepath.Ext(plot), ".png"):
		return usagef("--plot: got %q, want a name that ends in .png", plot)
	case sameFile(in, out):
		return usagef("-o: %q is the input %q, want another file", out, in)
	case plot != "" && sameFile(in, plot):
		return usagef("--plot: %q is the input %q, want another file", plot, in)
	}
	if kind, _, _ := strings.Cut(backend, ":"); kind == "" {
		return usagef("--backend: got %q, want %s", backend, strings.Join(backendNames(), ", "))
	}
	return nil
}

// save writes the picture, if there is to be one, then the arrays: where OUT is, all is.
func save(in, out, plot string, arrays func(*npz.Writer) error, draw func(io.Writer) error) error {
	var picture bytes.Buffer
	if plot != "" {
		if err := draw(&picture); err != nil {
			return err
		}
	}
	err := atomicfile.WriteFile(out, func(f io.Writer) error {
		archive := npz.NewWriter(f, npz.Options{})
		if err := arrays(archive); err != nil {
			return err
		}
		if err := archive.Close(); err != nil || plot == "" {
			return err
		}
		// The picture comes when nothing of the archive can fail but its new name.
		err := atomicfile.WriteFile(plot, func(f io.Writer) error { _, err := picture.WriteTo(f); return err })
		if err != nil {
			return &outputError{plot, err}
		}
		return nil
	})
	var name *npz.Error
	var picturing *outputError
	switch {
	case errors.As(err, &picturing):
		return picturing
	case errors.As(err, &name):
		return &inputError{Path: in, Stream: name.Name, Err: err}
	case err != nil:
		return &outputError{out, err}
	}
	return nil
}

// maxOutput is the most bytes that a grid may take: a slip of the finger should not fill the memory.
const maxOutput = 64 << 30

// room returns the most bytes that an output may take: maxOutput, or the memory that is available.
func room() float64 { return float64(min(maxOutput, tensor.Available())) }

// sameFile reports whether two names are one file, through links too.
func sameFile(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(ia, ib)
	}
	return filepath.Clean(a) == filepath.Clean(b)
}
