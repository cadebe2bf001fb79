package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/robocache/robocache/storage"
)

// Dataset is a series of episodes, read one at a time. Its methods may be called from any goroutine.
type Dataset interface {
	// Name is the dataset's own, or that of its file or folder.
	Name() string
	// Format is the format's name: "ulog".
	Format() string
	// Info returns the declarations of the dataset: features, tasks, splits and notes.
	Info() Info
	// Len returns the number of episodes.
	Len() int
	// Episode reads episode i. If i is not from 0 to Len-1, the error is a *RangeError.
	Episode(ctx context.Context, i int) (*Episode, error)
	// Close releases files and memory of the dataset. Close twice is fine. Episodes stay valid.
	Close() error
}

// Weigher is a Dataset that has the sizes of its episodes without reading them.
type Weigher interface {
	// Weights returns a number for each episode, 0 or more, all in one unit: rows, or bytes of its file. The caller owns the slice.
	Weights() []int64
}

// Episodes reads one episode after the other. If an episode cannot be read, Episodes yields an *EpisodeError and goes on, so a caller that
// needs all episodes stops at the first error. Only the end of ctx ends it early.
func Episodes(ctx context.Context, d Dataset) iter.Seq2[*Episode, error] {
	return func(yield func(*Episode, error) bool) {
		for i := range d.Len() {
			e, err := d.Episode(ctx, i)
			if err != nil {
				e, err = nil, episodeError(d, i, err)
			}
			if !yield(e, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// episodeError returns the error of an episode, by its place.
func episodeError(d Dataset, place int, err error) *EpisodeError {
	info := d.Info()
	return &EpisodeError{Episode: info.Number(place), Err: err}
}

// EpisodeError is an episode that could not be read.
type EpisodeError struct {
	Episode int // the dataset's own number: see Info.Numbers
	Err     error
}

func (e *EpisodeError) Error() string { return fmt.Sprintf("episode %d: %v", e.Episode, e.Err) }

// Unwrap returns why.
func (e *EpisodeError) Unwrap() error { return e.Err }

// Options are the settings of a reader. With the zero value, a broken file gives its whole parts, and Episode.Notes counts the lost ones.
type Options struct {
	// Strict refuses a broken file: the first damage is an error.
	Strict bool `json:"strict"`
	// Rate is the number of steps a second, Hz, for formats without timestamps. It goes before the rate in the file.
	Rate float64 `json:"rate"`
	// Clock selects the source of timestamps, one of Info.Clocks, if a format has several. Empty is the format's default.
	Clock string `json:"clock"`
	// Stretch chooses one of the stretches of a log whose recorder's clock was set back, from 1; see [SetBackError]. 0 is the whole log, which is an
	// error if it has several, and -1 all of them, in the order of time.
	Stretch int `json:"stretch"`
	// TaskFrom is a log's topic, or a dataset's text column, that has the task. A row's task is the last text at or before its time. Rows before
	// the first text have no task.
	TaskFrom string `json:"task_from"`
	// Definitions are folders and files of message definitions (.msg, in folders named for their packages), for recordings that lack some.
	Definitions []string `json:"definitions"`
	// Lists reads LeRobot's language columns into Episode.Lists. Without it they are left out, with a note.
	Lists bool `json:"-"`
}

// Format is a file format that [Open] recognises. A format's package registers it in init.
type Format struct {
	Name       string   // "ulog"
	Extensions []string // of its files, in lower case: ".ulg"
	// Match recognises a file by its first HeadBytes bytes, or all bytes of a shorter file; nil if the format has no files.
	Match func(head []byte) bool
	// Named recognises a file by its extension and the same bytes, if no format's Match does. It is for formats without a signature, such
	// as CSV; nil if Match is enough.
	Named func(head []byte) bool
	// Inside recognises a file that Match takes by later content, for formats that share a container; nil if the first bytes are enough.
	// Formats with Inside are tried first, because a file may match both a container and the format inside it.
	Inside func(ctx context.Context, path string) (bool, error)
	// Folder recognises a folder that is a dataset of the format; nil if the format has none. It is also called for the folders in a
	// folder.
	Folder func(ctx context.Context, path string) bool
	// Text is true if the files are plain text. Next to recordings of other formats in a folder they are no recordings.
	Text bool
	Open func(ctx context.Context, path string, opt Options) (Dataset, error)
}

// named reports whether a file is called as the format's are.
func (f *Format) named(path string) bool {
	return slices.Contains(f.Extensions, strings.ToLower(filepath.Ext(path)))
}

// HeadBytes is how many bytes of a file Match sees.
const HeadBytes = 4096

var formats = struct {
	sync.Mutex
	list []Format
}{}

// Register adds a format. It panics if the name is taken.
func Register(f Format) {
	formats.Lock()
	defer formats.Unlock()
	if slices.ContainsFunc(formats.list, func(o Format) bool { return o.Name == f.Name }) {
		panic("dataset: Register called twice for " + f.Name)
	}
	formats.list = append(formats.list, f)
	slices.SortFunc(formats.list, func(a, b Format) int { return strings.Compare(a.Name, b.Name) })
}

// Formats returns the registered formats, by name.
func Formats() []Format {
	formats.Lock()
	defer formats.Unlock()
	return slices.Clone(formats.list)
}

// Open opens a file or folder, by its path or URL, of any registered format, which it recognises by its content, and by its name too only where that
// does not say. URLs are those of package storage: file://, and s3:// in programs that import storage/s3.
//
// A folder that is no dataset of a format itself is one of the recordings in it, if these are of one format: files, and folders that are datasets of
// it, such as those of ros2 bag. It has the episodes of all, in the order of their names by [CompareNames]. What else is in it is ignored, and so are the
// reports of package convert and what begins with a dot; the attribute "other files" names the rest. Folders are not looked into any further, and one that is no dataset and has files
// that are called as recordings is a problem in Info.Notes. A recording that cannot be opened is one episode, which is an error; with Options.Strict it is
// the error of all. So is a file that is called as the format's files are and cannot be read, is empty, or begins otherwise; of formats of text, only
// the first two.
//
// What is of no format is a *FormatError that is ErrUnsupported and lists the formats there are. A clock of Options that the dataset does not have is
// an *OptionError.
func Open(ctx context.Context, path string, opt Options) (Dataset, error) {
	d, err := open(ctx, path, opt)
	if err != nil && d != nil { // the file was taken for another because of an error of the system
		return nil, errors.Join(err, d.Close())
	}
	if err != nil || opt.Clock == "" && opt.Stretch == 0 && opt.TaskFrom == "" {
		return d, err
	}
	clocks := d.Info().Clocks
	if opt.Stretch != 0 && !slices.Contains(clocks, "log") {
		return nil, errors.Join(&OptionError{"Stretch", strconv.Itoa(opt.Stretch), "none: recordings of " + d.Format() + " are no logs of messages"}, d.Close())
	}
	if opt.TaskFrom != "" && !slices.Contains(clocks, "log") && !slices.Contains([]string{"rlds", "lerobot"}, d.Format()) {
		return nil, errors.Join(&OptionError{"TaskFrom", opt.TaskFrom, "none: recordings of " + d.Format() + " have no texts that change"}, d.Close())
	}
	if opt.Clock == "" || slices.Contains(clocks, opt.Clock) {
		return d, nil
	}
	want := "none: recordings of " + d.Format() + " have one clock"
	if len(clocks) > 0 {
		want = strings.Join(clocks, " or ")
	}
	return nil, errors.Join(&OptionError{"Clock", opt.Clock, want}, d.Close())
}

func open(ctx context.Context, path string, opt Options) (_ Dataset, err error) {
	defer Guard("dataset", storage.Dir(path), &err)()
	st, err := storage.Stat(ctx, path)
	if local, is := storage.Local(path); is {
		path = local
	} else if err != nil {
		return nil, unreachable(path, err)
	}
	if err == nil && st.IsDir() {
		return openFolder(ctx, path, opt)
	}
	head, err := headOf(ctx, path)
	if err != nil {
		return nil, err
	}
	f, err := recognise(ctx, path, head)
	if err != nil {
		return nil, err
	}
	return opened(f.Open(ctx, path, opt))
}

// opened returns nil for a nil pointer to a format's type.
func opened(d Dataset, err error) (Dataset, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// unreachable returns the error of a URL, a *FormatError if the scheme does not exist.
func unreachable(path string, err error) error {
	var scheme *storage.SchemeError
	if !errors.As(err, &scheme) {
		return err
	}
	return &FormatError{Format: "dataset", Path: path, Offset: -1, Kind: ErrUnsupported, Msg: "URL", Got: "scheme " + scheme.Scheme, Want: scheme.Want()}
}

// Recognise returns the registered format of a file.
func Recognise(ctx context.Context, path string) (_ Format, err error) {
	defer Watched(path, &err)()
	head, err := headOf(ctx, path)
	if err != nil {
		return Format{}, err
	}
	return recognise(ctx, path, head)
}

func recognise(ctx context.Context, path string, head []byte) (Format, error) {
	f, ok, err := match(ctx, path, head, false)
	if err == nil && !ok {
		f, ok, err = match(ctx, path, head, true)
	}
	switch {
	case ok:
		return f, nil
	case err == nil && len(head) == 0:
		err = &FormatError{Format: "dataset", Path: path, Offset: -1, Kind: ErrTruncated, Msg: "file", Got: "0 bytes", Want: "a recording"}
	case err == nil:
		err = &FormatError{Format: "dataset", Path: path, Offset: -1, Kind: ErrUnsupported, Msg: "format",
			Got: "a file of none that is known here", Want: known()}
	}
	return f, StandIn(ctx, err, path)
}

// match returns the format of a file that begins with head, if it is of a known one: by its content, or with named by its name and content. A container
// that is broken is an error, and of the format that takes what is left of such containers, if there is one.
func match(ctx context.Context, path string, head []byte, named bool) (Format, bool, error) {
	var rest Format
	var broken error
	for _, f := range Formats() {
		is := f.Match
		if named {
			is = nil
			if f.named(path) {
				is = f.Named
			}
		}
		switch {
		case is == nil || !is(head):
		case f.Inside != nil:
			ok, err := f.Inside(ctx, path)
			if ok {
				return f, true, nil
			}
			broken = cmp.Or(broken, err)
		case rest.Open == nil:
			rest = f
		}
	}
	return rest, rest.Open != nil, broken
}

// known lists the registered formats.
func known() string {
	var list []string
	for _, f := range Formats() {
		what := "a folder"
		if len(f.Extensions) > 0 {
			what = strings.Join(f.Extensions, ", ")
		}
		list = append(list, f.Name+" ("+what+")")
	}
	return strings.Join(list, ", ")
}

// headOf returns the first bytes of a file.
func headOf(ctx context.Context, path string) ([]byte, error) {
	file, err := storage.Open(ctx, path)
	if err != nil {
		return nil, unreachable(path, err)
	}
	defer file.Close()
	head := make([]byte, HeadBytes)
	n, err := storage.Bound(ctx, file).ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return head[:n], nil
}

// Single is the dataset of one file that is one episode, which read reads whenever it is asked for. Its name is the file's without the extension.
func Single(format, path string, read func(ctx context.Context) (*Episode, error)) Dataset {
	return &single{format: format, path: path, read: read}
}

type single struct {
	format, path string
	read         func(ctx context.Context) (*Episode, error)
}

func (s *single) Name() string   { return BaseName(s.path) }
func (s *single) Format() string { return s.format }
func (s *single) Info() Info     { return Info{} }
func (s *single) Len() int       { return 1 }
func (s *single) Close() error   { return nil }

func (s *single) Episode(ctx context.Context, i int) (_ *Episode, err error) {
	defer Guard(s.format, s.path, &err)()
	if i != 0 {
		return nil, &RangeError{What: "episode", Got: i, Len: 1}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.read(ctx)
}

// BaseName returns a file's name without its folder and extension: what its episode is called.
func BaseName(path string) string {
	base := storage.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
