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
	// Name is the declared name, or else the name of the file or folder.
	Name() string
	// Format is the format's name, for example "ulog".
	Format() string
	// Info returns the dataset's declarations: features, tasks, splits and notes.
	Info() Info
	// Len returns the number of episodes.
	Len() int
	// Episode reads episode i. If i is not from 0 to Len-1, the error is a *RangeError.
	Episode(ctx context.Context, i int) (*Episode, error)
	// Close releases the dataset's files and memory. Close twice is fine. Episodes stay valid.
	Close() error
}

// Weigher is a Dataset that can estimate the size of each episode without reading it.
type Weigher interface {
	// Weights returns a number for each episode, 0 or more, all in one unit: rows, or file bytes. The caller owns the slice.
	Weights() []int64
}

// Episodes reads one episode after the other. If an episode cannot be read, Episodes yields an *EpisodeError and continues, so a
// caller that needs all episodes stops at the first error. The loop ends early only if ctx ends.
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

// episodeError returns the *EpisodeError for the episode at index place, with the episode's own number.
func episodeError(d Dataset, place int, err error) *EpisodeError {
	info := d.Info()
	return &EpisodeError{Episode: info.Number(place), Err: err}
}

// EpisodeError reports an episode that cannot be read.
type EpisodeError struct {
	Episode int // the dataset's own number: see Info.Numbers
	Err     error
}

func (e *EpisodeError) Error() string { return fmt.Sprintf("episode %d: %v", e.Episode, e.Err) }

// Unwrap returns the reason.
func (e *EpisodeError) Unwrap() error { return e.Err }

// Options are the settings of a reader. With the zero value, a broken file returns its intact parts, and Episode.Notes counts the
// lost ones.
type Options struct {
	// Strict refuses a broken file: the first damage is an error.
	Strict bool `json:"strict"`
	// Rate is the number of steps a second, Hz, for formats without timestamps. It takes precedence over the rate in the file.
	Rate float64 `json:"rate"`
	// Clock selects the source of timestamps, one from Info.Clocks, if a format has several. Empty means the format's default.
	Clock string `json:"clock"`
	// Stretch selects a part of a log whose recorder set its clock back, from 1; see [SetBackError]. If the log has several parts,
	// 0 is an error, and -1 reads all of them in the order of their times.
	Stretch int `json:"stretch"`
	// TaskFrom is a log's topic, or a dataset's text column, that contains the task. The task of a row is the last text at or
	// before the row's time. Rows before the first text have no task.
	TaskFrom string `json:"task_from"`
	// VideoBackend is LeRobot's video_backend, one of VideoBackends. A row of a LeRobot dataset then has the frame that LeRobotDataset
	// returns with this backend, or none if the frame is more than Tolerance from the row's time, in seconds. Tolerance 0 is LeRobot's
	// tolerance_s, 1e-4. Package lerobot has the rules; an empty backend is its own rule.
	VideoBackend string  `json:"video_backend"`
	Tolerance    float64 `json:"tolerance_s"`
	// Definitions are folders and files with message definitions (.msg files, in folders named after their packages), for
	// recordings that lack some.
	Definitions []string `json:"definitions"`
	// Lists reads LeRobot's language columns into Episode.Lists. Without it they are left out, with a note.
	Lists bool `json:"-"`
	// Episodes are the episodes to open; the zero value opens all. They keep their numbers: see [Subset].
	Episodes Selection `json:"-"`
}

// VideoBackends are the values for Options.VideoBackend.
var VideoBackends = []string{"pyav", "torchcodec"}

// FrameTolerance returns Tolerance, or its default.
func (o *Options) FrameTolerance() float64 { return cmp.Or(o.Tolerance, 1e-4) }

// Format is a file format that [Open] recognises. A format's package registers it in init.
type Format struct {
	Name       string   // "ulog"
	Extensions []string // file name extensions in lower case: ".ulg"
	// Match recognises a file by its first HeadBytes bytes, or by all bytes if it is shorter. Match is nil if the format has no
	// files.
	Match func(head []byte) bool
	// Named recognises a file by its extension and the same bytes, if Match of every format returned false. It is for formats
	// without a signature, such as CSV. Named is nil if Match is enough.
	Named func(head []byte) bool
	// Inside recognises a file that Match accepts by its later content, for formats that share a container. Inside is nil if the
	// first bytes are enough. Formats with Inside are tried first, because a file may match both a container and the format inside
	// it.
	Inside func(ctx context.Context, path string) (bool, error)
	// Folder recognises a folder that is a dataset in this format; nil if the format has no folders. Open also calls it for the
	// folders inside a folder.
	Folder func(ctx context.Context, path string) bool
	// Text is true for plain text formats. A text file next to recordings in other formats is not a recording.
	Text bool
	Open func(ctx context.Context, path string, opt Options) (Dataset, error)
}

// named reports whether a file has one of the format's extensions.
func (f *Format) named(path string) bool {
	return slices.Contains(f.Extensions, strings.ToLower(filepath.Ext(path)))
}

// HeadBytes is the number of bytes that Match gets.
const HeadBytes = 4096

var formats = struct {
	sync.Mutex
	list []Format
}{}

// Register adds a format. It panics if a format with this name is already registered.
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

// Open opens a file or folder in any registered format. The path may be a URL for package storage: file://, or s3:// in programs
// that import storage/s3. Open recognises the format by the content; the name decides only if the content is ambiguous, as with
// CSV.
//
// A folder that is a dataset itself is opened as one. Any other folder is a dataset of the recordings in it, if these have one
// format. A recording is a file, or a folder that is a dataset, such as a ros2 bag. The episodes are in the order of their names by
// [CompareNames]. Other files are ignored; the attribute "other files" lists them, except for the reports that package convert
// writes and for names that begin with a dot. Deeper folders are not searched. If one of them contains files that look like
// recordings, Info.Notes has a problem.
//
// If a recording in a folder cannot be opened, its episode is an error; with Options.Strict, Open returns the error. The same holds
// for a file that has the format's extension and is unreadable, empty or has a wrong beginning. In text formats a wrong beginning
// is no error.
//
// If no registered format fits, the error is a *FormatError that is ErrUnsupported and lists the registered formats, or only those
// with the file's extension. If Options selects a clock or an episode that the dataset lacks, it is an *OptionError.
func Open(ctx context.Context, path string, opt Options) (Dataset, error) {
	d, err := openChecked(ctx, path, opt)
	if err != nil {
		return nil, err
	}
	some, err := Select(d, opt.Episodes)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return some, nil
}

func openChecked(ctx context.Context, path string, opt Options) (Dataset, error) {
	d, err := open(ctx, path, opt)
	if err != nil && d != nil { // a system error may have led to the wrong format
		return nil, errors.Join(err, d.Close())
	}
	if err != nil || opt.Clock == "" && opt.Stretch == 0 && opt.TaskFrom == "" && opt.VideoBackend == "" {
		return d, err
	}
	if opt.VideoBackend != "" && d.Format() != "lerobot" {
		return nil, errors.Join(&OptionError{"VideoBackend", opt.VideoBackend, "none: recordings of " + d.Format() + " are no LeRobot dataset"}, d.Close())
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

// opened returns a format's result, but a nil Dataset after an error, because a format returns a nil pointer of its own type.
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

// Recognise returns the registered format of a file. If none fits, the error is a *FormatError that is ErrUnsupported.
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
			Got: "a file in no known format", Want: known(path)}
	}
	return f, StandIn(ctx, err, path)
}

// match returns the format of a file that begins with head: by its content, or with named by its name and content. A broken
// container is an error, unless a format accepts the remains of such containers.
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

// known lists the registered formats with a path's extension, or all if there are none.
func known(path string) string {
	all := Formats()
	if near := slices.DeleteFunc(Formats(), func(f Format) bool { return !f.named(path) }); len(near) > 0 {
		all = near
	}
	var list []string
	for _, f := range all {
		what := "a folder"
		if len(f.Extensions) > 0 {
			what = strings.Join(f.Extensions, ", ")
		}
		list = append(list, f.Name+" ("+what+")")
	}
	return strings.Join(list, ", ")
}

// headOf returns the first HeadBytes bytes of a file, or all bytes if it is shorter.
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

// Single returns a dataset with one file that is one episode. Each call of Episode calls read. The dataset's name is the file name
// without its extension.
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
	if err := CheckIndex(ctx, "episode", i, 1); err != nil {
		return nil, err
	}
	return s.read(ctx)
}

// BaseName returns a file name without its folder and extension: the name of its episode.
func BaseName(path string) string {
	base := storage.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
