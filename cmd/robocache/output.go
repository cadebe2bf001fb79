package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
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

// checkGiven checks that there are an output and a backend on a command line.
func checkGiven(out, backend string) error {
	if out == "" {
		return usagef("no output given, want -o OUT.npz")
	}
	if kind, _, _ := strings.Cut(backend, ":"); kind == "" {
		return usagef("--backend: got %q, want %s", backend, strings.Join(backendNames(), ", "))
	}
	return nil
}

// output is a file or folder that a command writes, with its flag. An empty path is no output.
type output struct {
	flag, path string
	folder     bool
	ends       []string // the extensions that a file may have, for example ".npz"; nil for any
}

// picture returns the output of --plot.
func picture(path string) output { return output{flag: "--plot", path: path, ends: []string{".png"}} }

// writable returns an error, before the work begins, if an output cannot be written or has another extension, or if it would replace an input or another output: it
// may not be an input, lie below one, or contain one. It makes no folder.
func writable(inputs []string, outputs ...output) error {
	for i, o := range outputs {
		if o.path == "" {
			continue
		}
		if o.ends != nil && !slices.Contains(o.ends, strings.ToLower(filepath.Ext(o.path))) {
			return usagef("%s: got %q, want a name that ends in %s", o.flag, o.path, strings.Join(o.ends, " or "))
		}
		if err := notURL(o.path); err != nil {
			return err
		}
		for _, in := range inputs {
			at, local := storage.Local(in)
			if !local || in == "" {
				continue
			}
			if is, err := atomicfile.Overlap(datasetOf(at), o.path); err != nil {
				return unwritten(err)
			} else if is {
				return usagef("%s: %q is the input %q, or in it, or around it, want one elsewhere", o.flag, o.path, in)
			}
		}
		for _, other := range outputs[:i] {
			if other.path == "" || other.folder || o.folder {
				continue
			}
			if is, err := atomicfile.Overlap(other.path, o.path); err != nil {
				return unwritten(err)
			} else if is {
				return usagef("%s: %q is the output %q, want another file", o.flag, o.path, other.path)
			}
		}
		if o.folder {
			continue
		}
		if err := atomicfile.Check(o.path); err != nil {
			return unwritten(err)
		}
	}
	return nil
}

// unmixed returns a usage error if an output folder has files and own selects none of them.
func unmixed(o output, own func(name string) bool) error {
	other, err := atomicfile.Foreign(o.path, own)
	if err != nil {
		return unwritten(err)
	}
	if other != "" {
		return usagef("%s: got %s, in which there is %s, want a new folder, or an empty one", o.flag, o.path, other)
	}
	return nil
}

// datasetOf returns the dataset's folder if the path is its meta/info.json, else the path.
func datasetOf(path string) string {
	if dir := filepath.Dir(path); filepath.Base(path) == "info.json" && filepath.Base(dir) == "meta" {
		return filepath.Dir(dir)
	}
	return path
}

// alone locks an output against other runs of the command, and returns the function that unlocks it. If another run has the lock, it
// returns an error.
func alone(path, command string) (unlock func(), err error) {
	at := filepath.Clean(path)
	unlock, err = atomicfile.Lock(filepath.Join(filepath.Dir(at), "."+filepath.Base(at)+"."+command+".lock"))
	if errors.Is(err, atomicfile.ErrLocked) {
		return nil, &outputError{path, errors.New("another program is making it: want another output, or to wait until it is done")}
	}
	return unlock, err
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

// named is a tensor with its name in a file.
type named struct {
	name string
	t    *tensor.Tensor
}

// addArrays writes arrays until one fails. It leaves out those that are nil.
func addArrays(w arrayfile.Writer, list []named) error {
	for _, a := range list {
		if a.t == nil {
			continue
		}
		if err := w.Add(a.name, a.t); err != nil {
			return err
		}
	}
	return nil
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

// save writes the output and, if plot is set, the picture, under temporary names. It renames them after both are complete and the report
// is printed. If an error occurs before that, neither file appears.
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
