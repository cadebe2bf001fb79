package npz

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/tensor"
)

// Options are the settings of a Writer. The zero value stores arrays without compression, like numpy.savez.
type Options struct {
	Compress bool // deflate, like numpy.savez_compressed
}

// Writer writes an archive, one array after the other. It is for one goroutine at a time.
type Writer struct {
	z      *zip.Writer
	method uint16
	names  map[string]bool
	err    error // the first that broke the output
	closed bool
}

// maxName is how long a name may be: a zip archive counts its bytes, ".npy" among them, in 16 bits.
const maxName = 1<<16 - 1 - len(".npy")

// Error is the reason why an array cannot be added.
type Error struct {
	Name      string
	Kind      error // dataset.ErrClosed or dataset.ErrOption
	Got, Want string
}

func (e *Error) Error() string {
	return fmt.Sprintf("npz: array %q: got %s, want %s", e.Name, e.Got, e.Want)
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// NewWriter writes an archive to w. Close completes the archive, and does not close w.
func NewWriter(w io.Writer, opt Options) *Writer {
	z := &Writer{z: zip.NewWriter(w), method: zip.Store, names: map[string]bool{}}
	if opt.Compress {
		z.method = zip.Deflate
	}
	return z
}

// Add writes a host tensor under a name, without ".npy". Any text that is not empty is valid, also "/observations/qpos", because
// numpy does not use names as paths. If the name was used before, or numpy could not read it back, the error is an *Error. After a
// failed write every call returns its error.
func (w *Writer) Add(name string, t *tensor.Tensor) error {
	return w.add(name, func(out io.Writer) error { return npy.Write(out, t) })
}

// AddWhole writes whole numbers as an array with a numpy type such as "bool" or "int16", which must hold them; see npy.HoldsWhole.
func (w *Writer) AddWhole(name, typ string, t *tensor.Tensor) error {
	return w.add(name, func(out io.Writer) error { return npy.WriteWhole(out, typ, t) })
}

// AddStrings writes a list of strings as an array with rank 1.
func (w *Writer) AddStrings(name string, list []string) error {
	return w.add(name, func(out io.Writer) error { return npy.WriteStrings(out, list) })
}

func (w *Writer) add(name string, fill func(io.Writer) error) error {
	if w.closed {
		return &Error{Name: name, Kind: dataset.ErrClosed, Got: "a closed Writer", Want: "Add before Close"}
	}
	if w.err != nil {
		return w.err
	}
	if err := w.checkName(name); err != nil {
		return err
	}
	// The member begins with its first bytes, so that an array that is refused leaves no trace.
	m := &lazy{w: w, name: name}
	if err := fill(m); err != nil {
		if m.out != nil || m.failed {
			w.err = err
		}
		return err
	}
	w.names[name] = true
	return nil
}

// Close completes the archive. After a failed write it returns that error, and the output is invalid.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err == nil {
		w.err = w.z.Close()
	}
	return w.err
}

type lazy struct {
	w      *Writer
	name   string
	out    io.Writer
	failed bool
}

func (l *lazy) Write(p []byte) (int, error) {
	if l.out == nil {
		out, err := l.w.z.CreateHeader(&zip.FileHeader{Name: l.name + ".npy", Method: l.w.method})
		if err != nil {
			l.failed = true
			return 0, err
		}
		l.out = out
	}
	return l.out.Write(p)
}

// checkName refuses names that numpy could not read back.
func (w *Writer) checkName(name string) error {
	bad := func(got, want string) error {
		return &Error{Name: name, Kind: dataset.ErrOption, Got: got, Want: want}
	}
	short, npy := strings.CutSuffix(name, ".npy")
	switch {
	case name == "":
		return bad("an empty name", "a name")
	case len(name) > maxName:
		return bad(fmt.Sprintf("%d bytes", len(name)), fmt.Sprintf("at most %d", maxName))
	case !utf8.ValidString(name) || strings.Contains(name, "\x00"):
		return bad("a zero byte, or bytes that are not UTF-8", "UTF-8 without")
	case w.names[name]:
		return bad("the name twice", "each name once")
	case npy && w.names[short], w.names[name+".npy"]:
		return bad("a name with and without .npy", "one of them: numpy would take one for the other")
	}
	return nil
}
