package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// checkFiles checks the files and the backend on a command line. The extension of out must be in kinds, for example ".npz".
func checkFiles(in, out, plot, backend string, kinds ...string) error {
	switch {
	case out == "":
		return usagef("no output given, want -o OUT.npz")
	case !slices.Contains(kinds, strings.ToLower(filepath.Ext(out))):
		return usagef("-o: got %q, want a name that ends in %s", out, strings.Join(kinds, " or "))
	case plot != "" && !strings.EqualFold(filepath.Ext(plot), ".png"):
		return usagef("--plot: got %q, want a name that ends in .png", plot)
	case sameFile(in, out):
		return usagef("-o: %q is the input %q, want another file", out, in)
	case plot != "" && sameFile(in, plot):
		return usagef("--plot: %q is the input %q, want another file", plot, in)
	case plot != "" && sameFile(out, plot):
		return usagef("--plot: %q is the output %q, want another file", plot, out)
	}
	if kind, _, _ := strings.Cut(backend, ":"); kind == "" {
		return usagef("--backend: got %q, want %s", backend, strings.Join(backendNames(), ", "))
	}
	return nil
}

// writable checks before the work that outputs can be written.
func writable(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if err := notURL(path); err != nil {
			return err
		}
		if err := atomicfile.Check(path); err != nil {
			return unwritten(err)
		}
	}
	return nil
}

// notURL returns a usage error if an output is a URL. One slash is enough, because filepath.Join removes the other.
func notURL(path string) error {
	scheme, _, is := strings.Cut(path, ":/")
	if is && slices.Contains(storage.Schemes(), scheme) {
		return usagef("got the output %q, want a local file or folder: %s:// is read and not written", path, scheme)
	}
	return nil
}

// unwritten converts a file error to an outputError.
func unwritten(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &outputError{path.Path, path.Err}
	}
	return err
}

// inArrays returns the function that writes an output of arrays, in the format of its extension.
func inArrays(out string, arrays func(arrayfile.Writer) error) func(io.Writer) error {
	return func(f io.Writer) error {
		archive := arrayfile.New(out, f)
		if err := arrays(archive); err != nil {
			return err
		}
		return archive.Close()
	}
}

// inMessages returns the function that writes an output of messages.
func inMessages(e *dataset.Episode, encoding mcap.Encoding) func(io.Writer) error {
	return func(f io.Writer) error {
		w, err := mcap.NewWriter(f, mcap.WriterOptions{Library: "robocache"})
		if err != nil {
			return err
		}
		if err := w.Episode(context.Background(), e, encoding); err != nil {
			return err
		}
		return w.Close()
	}
}

// save writes the output and, if plot is set, the picture. Both files are complete and the report is printed before the files get their
// names.
func save(in, out, plot string, fill func(io.Writer) error, draw func(io.Writer) error, report func() error) error {
	var files []atomicfile.Output
	if plot != "" {
		files = append(files, atomicfile.Output{Path: plot, Fill: draw})
	}
	files = append(files, atomicfile.Output{Path: out, Fill: fill})
	err := atomicfile.WriteFiles(report, files...)
	var array *npz.Error
	if errors.As(err, &array) {
		return &inputError{Path: in, Stream: array.Name, Err: err}
	}
	var named *safetensors.Error
	if errors.As(err, &named) {
		return &inputError{Path: in, Stream: named.Name, Err: err}
	}
	var message *mcap.Error
	if errors.As(err, &message) {
		return &inputError{Path: in, Err: err}
	}
	return unwritten(err)
}

// maxOutput bounds an output, in bytes, because a wrong digit should not fill the memory.
const maxOutput = 64 << 30

// room returns the bound for an output: maxOutput or the available memory, the smaller one.
func room() float64 { return float64(min(maxOutput, tensor.Available())) }

// sameFile reports whether two names are one file. It follows links.
func sameFile(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(ia, ib)
	}
	for _, name := range []*string{&a, &b} { // neither needs to exist
		if target, err := atomicfile.Follow(*name); err == nil {
			*name = target
		}
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// liesIn reports whether an output is an input on the disk, or inside one. It returns false if a path has no absolute form, because the work
// fails then anyway.
func liesIn(in, out string) bool {
	if _, local := storage.Local(in); !local {
		return false
	}
	in, errIn := filepath.Abs(in)
	at, errOut := filepath.Abs(out)
	if errIn != nil || errOut != nil {
		return false
	}
	for ; !sameFile(in, at); at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return false
		}
	}
	return true
}
