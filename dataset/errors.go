package dataset

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/errs"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// The kinds of error of this package and of the readers, for errors.Is. Packages of this module that mean the same have the same values.
var (
	// ErrTruncated: the file ends inside something that it began.
	ErrTruncated = errors.New("truncated")
	// ErrCorrupt: the bytes break the format's rules.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnsupported: the file may be right, but this reader does not take it.
	ErrUnsupported error = errs.Unsupported
	// ErrTooLarge: a size that the file could not fill, or that the format has no room for.
	ErrTooLarge error = errs.TooLarge
	// ErrNotFound: the file has no member of that name.
	ErrNotFound error = errs.NotFound

	// ErrOption: an option, or a name that is to be written, that the format or the package does not take.
	ErrOption error = errs.Option
	// ErrMissing: nothing where something is needed, such as a nil tensor.
	ErrMissing error = errs.Missing
	// ErrDType, ErrShape and ErrWrongDevice: a tensor that is not as a format or a Cloud needs it.
	ErrDType       error = errs.DType
	ErrShape       error = errs.Shape
	ErrWrongDevice error = errs.WrongDevice
	// ErrClosed: the file was read after its Close.
	ErrClosed error = errs.Closed
)

// FormatError is the place where a file breaks its format, and the reason.
type FormatError struct {
	Format string // the format's name: "ulog", "npy", "pcd"
	Path   string // the file, or the member of an archive; empty where the reader was not told
	Offset int64  // the byte, from the start of the file or member, of what is wrong; -1 where no byte is to blame
	Line   int    // of a text file or header, from 1; 0 where there are no lines
	Kind   error  // one of this package's Err values
	Msg    string // what was being read
	Got    string
	Want   string
	Err    error // what lies below, or nil
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
	if e.Got != "" {
		s += ": got " + e.Got
	}
	if e.Want != "" {
		s += ", want " + e.Want
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Bare returns an error with the text of err without the name of its format: "npz: array a: truncated" becomes "array a: truncated".
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

// Unwrap returns the kind and the cause, so that errors.Is finds both.
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

// Watched begins a watch over reads at path; the caller defers the returned function. A system error at path becomes *err, even if the code between
// passed over it or took it for damage.
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

// Guard is Watched for a reader. It also turns a panic into a *FormatError, so that a mistake in a reader costs one file. Open and the Episode
// methods of all readers defer it.
func Guard(format, path string, err *error) func() {
	done := Watched(path, err)
	return func() {
		if p := recover(); p != nil {
			var one *caught.Panic
			if asError, is := p.(error); is && errors.As(asError, &one) { // of another goroutine
				p = one.Value
			}
			*err = &FormatError{Format: format, Path: path, Offset: -1, Kind: ErrCorrupt, Msg: "reader", Got: fmt.Sprintf("a panic: %v", p), Want: "none: this is a mistake in the program"}
		}
		done()
	}
}

// IsSystem is [storage.IsSystem]. Such an error ends every reading of a dataset; only damaged data is skipped.
func IsSystem(err error) bool { return storage.IsSystem(err) }

// IsFatal reports whether an error ends every reading of a dataset: a system error, too little memory, or an option that an episode cannot have, such as
// a name in Options.TaskFrom. With another machine or other options the same episode can be read, so no command skips it. Other errors concern one
// damaged episode, and a command may skip that.
func IsFatal(err error) bool {
	var option *OptionError
	return IsSystem(err) || errors.Is(err, tensor.ErrOutOfMemory) || errors.As(err, &option)
}

// AsBroken returns the *FormatError in an error about a broken file, and false for other errors. A file is not broken if its format is not supported,
// or if it does not fit the memory.
func AsBroken(err error) (*FormatError, bool) {
	var bad *FormatError
	if !errors.As(err, &bad) || errors.Is(err, ErrUnsupported) || errors.Is(err, errs.OutOfMemory) {
		return nil, false
	}
	return bad, true
}
