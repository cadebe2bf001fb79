package zarr

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/chunkcache"
	"github.com/robocache/robocache/dataset/internal/clockname"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// Options are package dataset's options. Strict refuses a dataset with a broken array. Rate overrides the dataset's attribute fps.
type Options = dataset.Options

// rates holds the steps per second for well-known datasets, by their names.
var rates = map[string]float64{"pusht_cchi_v7_replay": 10}

// Set is an open dataset. Its methods may be called from any goroutine.
type Set struct {
	path   string
	strict bool
	files  *files
	info   dataset.Info
	ends   []int // the row after each episode
	about  []episodeAttributes
	parts  []part
	clock  *array        // nil if there is none
	left   dataset.Notes // about arrays that no episode has
	lost   dataset.Notes // damage that costs an array in all episodes
	chunks chunkcache.Cache[chunkKey]
	closed atomic.Bool
}

// part is an array with the use that it has in an episode.
type part struct {
	*array
	encoding string // the frames' encoding; empty for a stream
	pixels   bool   // the elements are float32, and pixels in whole numbers
}

// episodeAttributes is an episode in a dataset's attributes.
type episodeAttributes struct {
	Name    string `json:"name,omitempty"`
	Task    string `json:"task,omitempty"`
	Success *bool  `json:"success,omitempty"`
}

// setAttributes are a dataset's attributes. The JSON names are a contract.
type setAttributes struct {
	FPS      float64             `json:"fps,omitempty"`
	Episodes []episodeAttributes `json:"episodes,omitempty"`
}

// Folder reports whether a folder is a zarr group. Open refuses one without episodes.
func Folder(ctx context.Context, path string) bool {
	for _, name := range []string{".zgroup", metadataNames[1]} {
		if st, err := storage.Stat(ctx, storage.Join(path, name)); err == nil && st.IsRegular() {
			return true
		}
	}
	return false
}

func init() {
	dataset.Register(dataset.Format{
		Name: format, Extensions: []string{".zip"}, Match: isArchive, Folder: Folder,
		Inside: func(ctx context.Context, path string) (bool, error) {
			f, err := open(ctx, path)
			if err != nil {
				if !dataset.IsSystem(err) {
					err = nil // another zip file
				}
				return false, err
			}
			return true, f.close()
		},
		Open: func(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			s, err := Open(ctx, path, opt)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	})
}

// Open opens a folder or zip file. It reads meta/episode_ends and the arrays' descriptions, but no rows, except for the first
// row in arrays that may be cameras in float32. Without meta/episode_ends the error is a *dataset.FormatError that is ErrUnsupported.
func Open(ctx context.Context, path string, opt Options) (opened *Set, err error) {
	defer dataset.WatchedOpen(path, &opened, &err)()
	defer dataset.Guard(format, path, &err)()
	f, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &Set{path: path, strict: opt.Strict, files: f}
	if err := s.index(ctx, opt); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// index reads what describes the dataset.
func (s *Set) index(ctx context.Context, opt Options) error {
	if err := s.readEnds(ctx); err != nil {
		return err
	}
	about, err := s.attributes(ctx)
	if err != nil {
		return err
	}
	s.about = about.Episodes
	seen := map[string]bool{}
	for _, e := range s.about {
		if e.Task != "" && !seen[e.Task] {
			seen[e.Task] = true
			s.info.Tasks = append(s.info.Tasks, e.Task)
		}
	}
	if err := s.info.ChooseRate(opt.Rate, about.FPS, rates[s.Name()]); err != nil {
		return err
	}
	names, err := s.files.arrays(ctx)
	if err != nil {
		return err
	}
	type read struct {
		a   *array
		err error
	}
	n := storage.AtOnce(s.path)
	for i, r := range inorder.Each(ctx, len(names), n, n, func(read) int { return n }, func(ctx context.Context, i int) (r read) {
		r.a, r.err = s.files.readArray(ctx, "data/"+names[i])
		return r
	}) {
		if r.err == nil {
			r.err = s.add(ctx, r.a)
		}
		if errors.Is(r.err, fs.ErrNotExist) {
			s.leave(names[i], dataset.CodeNotArray, dataset.Detail{})
		} else if r.err != nil {
			if err := s.cost(&s.left, &s.lost, names[i], r.err); err != nil {
				return err
			}
		}
	}
	return nil
}

// attributes reads the dataset's attributes; those that are broken or missing are empty.
func (s *Set) attributes(ctx context.Context) (about setAttributes, err error) {
	var v3 struct {
		Attributes setAttributes `json:"attributes"`
	}
	if err = s.files.readJSON(ctx, ".zattrs", &about); errors.Is(err, fs.ErrNotExist) {
		err = s.files.readJSON(ctx, metadataNames[1], &v3)
		about = v3.Attributes
	}
	if bad, broken := dataset.AsBroken(err); broken {
		if s.strict {
			return about, bad
		}
		s.info.Notes.Add(dataset.Note{Code: dataset.CodeUnreadable, Subject: "attributes", Count: 1, Detail: dataset.Detail{Cause: bad}})
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return about, err
	}
	return about, nil
}

// cost notes an array that cannot be read, unless Strict refuses it. It returns errors that do not come from the file's content.
func (s *Set) cost(left, damage *dataset.Notes, name string, err error) error {
	bad, broken := dataset.AsBroken(err)
	code := dataset.CodeUnsupported
	switch {
	case broken && s.strict:
		return err
	case broken:
		code = dataset.CodeBroken
		damage.AddDamage(dataset.CodeArrayBroken, 0, bad)
	case !errors.Is(err, dataset.ErrUnsupported):
		return err
	}
	*left = append(*left, dataset.Note{Code: code, Subject: name, Detail: dataset.Detail{Cause: err}})
	return nil
}

func (s *Set) leave(name string, code dataset.Code, d dataset.Detail) {
	s.left = append(s.left, dataset.Note{Code: code, Subject: name, Detail: d})
}

// mostEpisodes limits a dataset's episodes.
const mostEpisodes = 1 << 24

// readEnds reads meta/episode_ends.
func (s *Set) readEnds(ctx context.Context) error {
	a, err := s.files.readArray(ctx, endsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return s.fail(dataset.ErrUnsupported, "group", "no "+endsPath, "a ReplayBuffer, with "+endsPath+" and arrays in data")
	}
	if err != nil {
		return err
	}
	if dtype, ok := a.head.DType(); len(a.shape) != 1 || !ok || dtype.IsFloat() {
		return s.fail(dataset.ErrCorrupt, endsPath, a.head.Type()+" "+tensor.FormatShape(a.shape), "whole numbers [E]")
	}
	if a.shape[0] > mostEpisodes {
		return s.fail(dataset.ErrTooLarge, endsPath, strconv.Itoa(a.shape[0]), fmt.Sprintf("at most %d", mostEpisodes))
	}
	const some, most = 1 << 16, 1 << 47 // missing chunks must not cost much memory, so a fall ends the reading
	for first := 0; first < a.shape[0]; first += some {
		values, err := s.numbers(ctx, a, first, min(first+some, a.shape[0]))
		if err != nil {
			return err
		}
		list, err := tensor.Floats(values)
		if err != nil {
			return err
		}
		for i, end := range list {
			if end < float64(s.info.Frames) || end > most {
				return s.fail(dataset.ErrCorrupt, endsPath, fmt.Sprintf("%.0f after %d, at episode %d", end, s.info.Frames, first+i), "ends that rise")
			}
			s.info.Frames = int(end)
			s.ends = append(s.ends, s.info.Frames)
		}
	}
	s.info.Version = strconv.Itoa(a.version)
	return nil
}

func (s *Set) fail(kind error, msg, got, want string) error {
	return fail(kind, s.path, msg, got, want)
}

// numbers returns an array's rows from to to-1, in its shape. Whole numbers have their own dtypes.
func (s *Set) numbers(ctx context.Context, a *array, from, to int) (*tensor.Tensor, error) {
	data, err := s.rows(ctx, a, from, to)
	if err != nil {
		return nil, err
	}
	shape := append([]int{to - from}, a.shape[1:]...)
	head, err := npy.HeaderOf(a.descr, 0, shape...)
	if err != nil {
		return nil, err
	}
	t, err := npy.ReadData(bytes.NewReader(data), &head)
	return t, dataset.InFile(err, s.files.where(a.path))
}

const (
	// maxMatrix is how many numbers a row with more than one dimension may have as columns. maxColumns is the limit for other rows.
	maxMatrix  = 1024
	maxColumns = 1 << 16
	// minSide is a camera's least height and width.
	minSide = 8
)

// maxPixels is how many numbers a frame may have.
const maxPixels = 1 << 26

// encodings are frame encodings by element type and number of channels.
var encodings = map[string]string{"uint8 1": "mono8", "uint8 3": "rgb8", "uint8 4": "rgba8", "uint16 1": "16UC1", "float32 1": "32FC1"}

// add decides what an array is in the episodes: the clock, a stream, a camera, or nothing.
func (s *Set) add(ctx context.Context, a *array) error {
	_, numbers := a.head.DType()
	if len(a.shape) == 0 {
		s.leave(a.name, dataset.CodeSingleValue, dataset.Detail{})
		return nil
	}
	width, err := tensor.NumElements(a.shape[1:]...)
	_, _, isClock := clockname.Of(a.name, a.unit)
	p, typ, f := part{array: a}, a.head.Type(), dataset.Feature{Name: a.name, DType: a.head.Type(), Shape: a.shape[1:]}
	native := a.descr[0] != '>' || a.head.ItemSize() == 1
	most := maxColumns
	if len(a.shape) > 2 {
		most = maxMatrix
	}
	switch {
	case !numbers:
		s.leave(a.name, dataset.CodeValueType, dataset.Detail{Got: typ})
		return nil
	case err == nil && width == 0:
		s.leave(a.name, dataset.CodeNoColumns, dataset.Detail{})
		return nil
	case s.clock == nil && isClock && width == 1:
		s.clock = a
	case native && width < maxPixels && len(a.shape) == 4 && min(a.shape[1], a.shape[2]) >= minSide:
		p.encoding = encodings[fmt.Sprint(typ, " ", a.shape[3])]
		if typ == "float32" && a.shape[0] > 0 && a.shape[3] == 3 {
			data, err := s.rows(ctx, a, 0, 1)
			if err != nil {
				return err
			}
			if _, p.pixels = pixels(data); p.pixels {
				p.encoding = "rgb8"
			}
		}
	case native && len(a.shape) == 3 && width > maxMatrix && width < maxPixels && min(a.shape[1], a.shape[2]) > minSide:
		p.encoding = encodings[typ+" 1"]
	}
	if p.encoding == "" && (err != nil || width > most) {
		s.leave(a.name, dataset.CodeTooWide, dataset.Detail{Got: strconv.Itoa(width), Want: strconv.Itoa(most), Unit: "numbers"})
		return nil
	}
	if f.Media = p.encoding != ""; f.Media {
		f.Encoding, f.Height, f.Width = p.encoding, a.shape[1], a.shape[2]
	} else if len(a.columns) == width {
		f.Names = a.columns
	}
	s.parts = append(s.parts, p)
	s.info.Features = append(s.info.Features, f)
	return nil
}

// Name returns the folder's or file's name without .zarr and .zip.
func (s *Set) Name() string {
	name := storage.Base(s.path)
	return cmp.Or(strings.TrimSuffix(strings.TrimSuffix(name, ".zip"), ".zarr"), name)
}

// Format returns "zarr".
func (s *Set) Format() string { return format }

// Info returns the arrays as features, the rate and the tasks.
func (s *Set) Info() dataset.Info { return s.info.Clone() }

// Len returns the number of episodes.
func (s *Set) Len() int { return len(s.ends) }

// Weights returns the number of rows for each episode.
func (s *Set) Weights() []int64 {
	list := make([]int64, len(s.ends))
	for i := range list {
		from, to := s.rowsOf(i)
		list[i] = int64(to - from)
	}
	return list
}

// rowsOf returns an episode's first row, and the row after its last.
func (s *Set) rowsOf(i int) (from, to int) {
	if i > 0 {
		from = s.ends[i-1]
	}
	return from, s.ends[i]
}

// Close closes a zip file and frees the cached chunks. Close twice is fine. Frames cannot be read after it.
func (s *Set) Close() error {
	s.closed.Store(true)
	s.chunks.Close()
	return s.files.close()
}
