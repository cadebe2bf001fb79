package dataset

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/errs"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// Kinds of errors in this package and the readers, for errors.Is. Packages in this module share the values with equal meaning.
var (
	// ErrTruncated: the file ends inside a structure.
	ErrTruncated = errors.New("truncated")
	// ErrCorrupt: the bytes break the format.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnsupported: the file may be valid, but this reader does not support it.
	ErrUnsupported error = errs.Unsupported
	// ErrTooLarge: a size exceeds the file or the format's limit.
	ErrTooLarge error = errs.TooLarge
	// ErrNotFound: the file has no member with this name.
	ErrNotFound error = errs.NotFound

	// ErrOption: the format or the package does not accept an option or a name.
	ErrOption error = errs.Option
	// ErrMissing: a required value is absent, such as a nil tensor.
	ErrMissing error = errs.Missing
	// ErrDType, ErrShape and ErrWrongDevice: a tensor does not fit a format or a Cloud.
	ErrDType       error = errs.DType
	ErrShape       error = errs.Shape
	ErrWrongDevice error = errs.WrongDevice
	// ErrClosed: the file was read after Close.
	ErrClosed error = errs.Closed
)

// FormatError reports where a file breaks its format, and why. Example: "ulog: a.ulg: byte 16: header: corrupt: got ..., want ...".
type FormatError struct {
	Format string // the format's name: "ulog", "npy", "pcd"
	Path   string // the file, or the member of an archive; empty if the reader does not know it
	Offset int64  // the offset of the wrong byte in the file or member; -1 if the error has no position
	Line   int    // the line in a text file or header, from 1; 0 in binary files
	Kind   error  // one of this package's Err values
	Msg    string // the structure that was being read: "header"
	Got    string
	Want   string
	Err    error // the cause, or nil
}

func (e *FormatError) Error() string {
	s := e.Format + ": "
	if e.Path != "" {
		s += e.Path + ": "
	}
	if e.Offset >= 0 {
		s += "byte " + strconv.FormatInt(e.Offset, 10) + ": "
	}
	if e.Line > 0 {
		s += "line " + strconv.Itoa(e.Line) + ": "
	}
	s += e.Msg
	if e.Kind != nil {
		s += ": " + e.Kind.Error()
	}
	return s + errs.Values(e.Got, e.Want, e.Err)
}

// InFile returns err, with path in its *FormatError if it is one.
func InFile(err error, path string) error {
	var bad *FormatError
	if errors.As(err, &bad) {
		bad.Path = path
	}
	return err
}

// Bare returns an error with the text of err, without the format name. Example: "npz: array a: truncated" becomes "array a:
// truncated".
func Bare(err error) error { return bareError{err} }

type bareError struct{ error }

func (e bareError) Error() string {
	format, text, _ := strings.Cut(e.error.Error(), ": ")
	if strings.Contains(format, " ") {
		return e.error.Error()
	}
	return strings.TrimPrefix(text, "npy: ") // of a member of an archive
}

func (e bareError) Unwrap() error { return e.error }

// Unwrap returns the kind and the cause, so errors.Is finds both.
func (e *FormatError) Unwrap() []error {
	var list []error
	if e.Kind != nil {
		list = append(list, e.Kind)
	}
	if e.Err != nil {
		list = append(list, e.Err)
	}
	return list
}

// Watched starts to watch reads at path; the caller defers the returned function. If a read at path failed with a system error,
// that error becomes *err, even if the code in between ignored it or counted it as damage.
//
//	defer dataset.Watched(path, &err)()
func Watched(path string, err *error) func() {
	w := storage.NewWatch(path)
	return func() {
		if met := w.Stop(); met != nil && !IsSystem(*err) {
			*err = met
		}
	}
}

// WatchedOpen is Watched for a function that opens *opened. If the watch has an error that the function did not return, it closes *opened.
func WatchedOpen[D io.Closer](path string, opened *D, err *error) func() {
	done := Watched(path, err)
	return func() {
		before := *err
		if done(); before == nil && *err != nil {
			*err = errors.Join(*err, (*opened).Close())
			var none D
			*opened = none
		}
	}
}

// Guard is Watched for a reader. It also turns a panic into a *FormatError, so a programming error in a reader affects one file
// only. A *memory.Error that memory.Must panicked with becomes *err itself. Open and the Episode methods of all readers defer it.
func Guard(format, path string, err *error) func() {
	done := Watched(path, err)
	return func() {
		defer done()
		if p := recover(); p != nil {
			var one *caught.Panic
			if asError, is := p.(error); is && errors.As(asError, &one) { // of another goroutine
				p = one.Value
			}
			if none, is := p.(*memory.Error); is {
				*err = none
				return
			}
			*err = &FormatError{Format: format, Path: path, Offset: -1, Kind: ErrCorrupt, Msg: "reader", Got: fmt.Sprintf("a panic: %v", p), Want: "none: this is a mistake in the program"}
		}
	}
}

// IsSystem is [storage.IsSystem]. A system error stops every reader; only damaged data is skipped.
func IsSystem(err error) bool { return storage.IsSystem(err) }

// IsFatal reports whether an error must stop a command: a system error, too little memory, or an option that an episode cannot
// satisfy, such as a name in Options.TaskFrom. Commands do not skip such an episode, because it can be read on another machine or
// with other options. Other errors concern one damaged episode, which a command may skip.
func IsFatal(err error) bool {
	var option *OptionError
	return IsSystem(err) || errors.Is(err, tensor.ErrOutOfMemory) || errors.As(err, &option)
}

// AsBroken returns the *FormatError if err reports a broken file, and false otherwise. A file with an unsupported format, or one
// too large for the memory, is not broken.
func AsBroken(err error) (*FormatError, bool) {
	var bad *FormatError
	if !errors.As(err, &bad) || errors.Is(err, ErrUnsupported) || errors.Is(err, errs.OutOfMemory) {
		return nil, false
	}
	return bad, true
}
