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
	arrays []*array
	masks  map[string]*array // by the names of their streams
	clock  *array            // nil if there is none
	left   dataset.Notes     // about arrays that no episode has
	lost   dataset.Notes     // damage that costs an array in all episodes
	chunks chunkcache.Cache[chunkKey]
	closed atomic.Bool
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
	var list storage.Listing
	return list.Has(ctx, storage.Join(path, ".zgroup")) || list.Has(ctx, storage.Join(path, metadataNames[1]))
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
		Open: Open,
	})
}

// Open opens a folder or zip file. It reads meta/episode_ends and the arrays' descriptions, but no rows, except for the first
// row in arrays that may be cameras in float32. Without meta/episode_ends the error is a *dataset.FormatError that is ErrUnsupported.
func Open(ctx context.Context, path string, opt Options) (opened dataset.Dataset, err error) {
	defer dataset.WatchedOpen(path, &opened, &err)()
	defer dataset.Guard(format, path, &err)()
	f, err := open(ctx, path)
	if err != nil {
		return nil, dataset.StandIn(ctx, err, path)
	}
	s := &Set{path: path, strict: opt.Strict, files: f, masks: map[string]*array{}}
	if err := s.index(ctx, opt); err != nil {
		return nil, errors.Join(dataset.StandIn(ctx, err, path), s.Close())
	}
	return s, nil
}

// index reads what describes the dataset.
func (s *Set) index(ctx context.Context, opt Options) error {
	if err := s.readEnds(ctx); err != nil {
		return err
	}
	var about setAttributes
	if err := s.files.readAttributes(ctx, "", &about); err != nil {
		if err := s.cost(ctx, &s.left, &s.lost, "attributes", err); err != nil {
			return err
		}
	}
	s.about = about.Episodes
	seen := map[string]bool{"": true}
	for _, e := range s.about {
		if !seen[e.Task] {
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
	list := make([]*array, len(names))
	n := storage.AtOnce(s.path)
	for i, err := range inorder.Each(ctx, len(names), n, n, func(error) int { return n }, func(ctx context.Context, i int) (err error) {
		list[i], err = s.files.readArray(ctx, "data/"+names[i])
		return err
	}) {
		if err == nil {
			err = s.add(ctx, list[i])
		}
		if errors.Is(err, fs.ErrNotExist) {
			s.leave(names[i], dataset.CodeNotArray, dataset.Detail{})
		} else if err != nil {
			if err := s.cost(ctx, &s.left, &s.lost, names[i], err); err != nil {
				return err
			}
		}
	}
	return nil
}

// cost notes an array that cannot be read, unless Strict refuses it. It returns errors that do not come from the file's content.
func (s *Set) cost(ctx context.Context, left, damage *dataset.Notes, name string, err error) error {
	err = dataset.StandIn(ctx, err, s.path)
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
	wrong := func(kind error, got, want string) error { return fail(kind, s.path, endsPath, got, want) }
	a, err := s.files.readArray(ctx, endsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return wrong(dataset.ErrUnsupported, "none", "the row after each episode, and arrays in data: a ReplayBuffer")
	}
	if err != nil {
		return err
	}
	if len(a.Shape) != 1 || !a.number || a.typ[0] == 'f' || a.Shape[0] > mostEpisodes {
		return wrong(dataset.ErrCorrupt, a.typ+" "+tensor.FormatShape(a.Shape), "whole numbers [E], at most 2^24")
	}
	values, err := s.numbers(ctx, a, 0, a.Shape[0], nil)
	if err != nil {
		return err
	}
	list, err := tensor.Floats(values)
	if err != nil {
		return err
	}
	for i, end := range list {
		if end < float64(s.info.Frames) || end > 1<<47 {
			return wrong(dataset.ErrCorrupt, fmt.Sprintf("%.0f after %d, at episode %d", end, s.info.Frames, i), "ends that rise")
		}
		s.info.Frames = int(end)
		s.ends = append(s.ends, s.info.Frames)
	}
	s.info.Version = strconv.Itoa(a.version)
	return nil
}

// numbers returns an array's rows from to to-1, in its shape. Whole numbers have their own dtypes.
func (s *Set) numbers(ctx context.Context, a *array, from, to int, absent *dataset.Notes) (*tensor.Tensor, error) {
	data, err := s.rows(ctx, a, from, to, absent)
	if err != nil {
		return nil, err
	}
	shape := append([]int{to - from}, a.Shape[1:]...)
	head, err := npy.HeaderOf(a.DType, 0, shape...)
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
var encodings = map[string]string{"uint8 1": "mono8", "uint8 3": "rgb8", "uint8 4": "rgba8", "uint16 1": "16UC1", "int16 1": "16SC1",
	"float32 1": "32FC1"}

// add uses an array as the clock, a mask, a stream or a camera of the episodes, or leaves it out.
func (s *Set) add(ctx context.Context, a *array) error {
	rank := len(a.Shape)
	if rank == 0 {
		s.leave(a.Name, dataset.CodeSingleValue, dataset.Detail{})
		return nil
	}
	width, err := tensor.NumElements(a.Shape[1:]...)
	_, _, isClock := clockname.Of(a.Name, a.Unit)
	images := err == nil && width < maxPixels && (a.DType[0] != '>' || a.item == 1) && rank > 2 && min(a.Shape[1], a.Shape[2]) >= minSide
	most := maxColumns
	if rank > 2 {
		most = maxMatrix
	}
	switch {
	case !a.number:
		s.leave(a.Name, dataset.CodeValueType, dataset.Detail{Got: a.typ})
		return nil
	case err == nil && width == 0:
		s.leave(a.Name, dataset.CodeNoColumns, dataset.Detail{})
		return nil
	case a.MaskOf != "" && a.typ == "bool":
		s.masks[a.MaskOf] = a
		s.leave(a.Name, dataset.CodeMaskApplied, dataset.Detail{Got: a.MaskOf})
		return nil
	case s.clock == nil && isClock && width == 1:
		s.clock = a
	case images && rank == 4 && a.typ == "float32" && a.Shape[0] > 0 && a.Shape[3] == 3:
		data, err := s.rows(ctx, a, 0, 1, nil)
		if err != nil {
			return err
		}
		if _, a.pixels = pixels(data); a.pixels {
			a.encoding = "rgb8"
		}
	case images && rank == 4:
		a.encoding = encodings[fmt.Sprint(a.typ, " ", a.Shape[3])]
	case images && rank == 3 && width > maxMatrix:
		a.encoding = encodings[a.typ+" 1"]
	}
	f := dataset.Feature{Name: a.Name, DType: a.typ, Shape: a.Shape[1:]}
	switch {
	case a.encoding != "":
		f.Media, f.Encoding, f.Height, f.Width = true, a.encoding, a.Shape[1], a.Shape[2]
	case err != nil || width > most:
		s.leave(a.Name, dataset.CodeTooWide, dataset.Detail{Got: strconv.Itoa(width), Want: strconv.Itoa(most), Unit: "numbers"})
		return nil
	case len(a.Columns) == width:
		f.Names = a.Columns
	}
	s.arrays, s.info.Features = append(s.arrays, a), append(s.info.Features, f)
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

// Close closes a zip file and frees the cached chunks. Close twice is fine. Frames cannot be read after it.
func (s *Set) Close() error {
	s.closed.Store(true)
	s.chunks.Close()
	return s.files.close()
}
