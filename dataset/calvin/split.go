package calvin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

const (
	maxID   = 1 << 40 // of a frame: a thousand years of them
	maxRows = 1 << 22 // episodes of a split
)

// row is an episode's first frame and its last, inclusive.
type row struct{ first, last int64 }

func (r row) valid() bool { return r.first >= 0 && r.first <= r.last && r.last < maxID }

// split is a folder of frames.
type split struct {
	name, dir  string
	ids        []int64          // of the frames that are there, in order, each once
	odd        map[int64]string // the names of files that are not called as CALVIN calls them
	rows       []row
	inside     int // frames that are there, of all rows
	spans      []span
	embedding  string // the type and shape of one embedding; empty if there are none
	scenes     []scene
	problems   dataset.Notes
	attributes map[string]string
}

// problem adds a note about a file of the split.
func (p *split) problem(code dataset.Code, file string, count int, d dataset.Detail) {
	p.problems.Add(dataset.Note{Code: code, Subject: p.name + "/" + file, Count: count, Detail: d})
}

// openSplit opens a folder with frames, and reads the annotations in a given folder, or in the ones that it finds.
func openSplit(ctx context.Context, name, dir, language string) (*split, error) {
	p := &split{name: name, dir: dir, odd: map[int64]string{}, attributes: map[string]string{}}
	if err := p.readRows(); err != nil {
		return nil, err
	}
	others, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	p.compareLengths()
	p.compareFrames()
	if language != "" {
		others = slices.DeleteFunc(others, func(name string) bool { return name == language })
		p.readLanguage([]string{language})
	} else {
		p.readLanguage(append([]string{languageFolder}, others...))
	}
	p.readScenes()
	if len(others) > 0 {
		p.attributes[name+"/other files"] = text.Names(others)
	}
	return p, nil
}

// readRows reads the episodes' first and last frames.
func (p *split) readRows() error {
	path := storage.Join(p.dir, boundsFit)
	t, err := readNumbers(path)
	if err != nil {
		return err
	}
	if t.DType().IsFloat() || t.Rank() != 2 || t.Dim(1) != 2 || t.Dim(0) > maxRows {
		return formatError(dataset.ErrCorrupt, path, "episodes", t.String(), fmt.Sprintf("whole numbers [n,2], n at most %d", maxRows))
	}
	list, err := tensor.Floats(t)
	if err != nil {
		return err
	}
	p.rows = make([]row, t.Dim(0))
	invalid := dataset.Note{Code: dataset.CodeFrameRange, Subject: p.name + "/" + boundsFit}
	for i := range p.rows {
		if p.rows[i] = (row{id(list[2*i]), id(list[2*i+1])}); !p.rows[i].valid() {
			if invalid.Count++; invalid.Count == 1 {
				invalid.Row, invalid.Got = dataset.At(i), fmt.Sprintf("%v to %v", list[2*i], list[2*i+1])
			}
		}
	}
	if invalid.Count > 0 {
		p.problems.Add(invalid)
	}
	return nil
}

// readNumbers reads a file of no more numbers than all rows have.
func readNumbers(path string) (*tensor.Tensor, error) {
	if err := checkFile(path, 16*maxRows+1<<16); err != nil {
		return nil, err
	}
	return npy.ReadFile(path)
}

// checkFile returns an error of a file that is too large, or none.
func checkFile(path string, most int64) error {
	st, err := storage.Stat(context.Background(), path)
	switch {
	case err != nil:
		return err
	case !st.IsRegular():
		return formatError(dataset.ErrCorrupt, path, "file", "a folder or a pipe", "a regular file")
	case st.Size > most:
		return formatError(dataset.ErrTooLarge, path, "file", fmt.Sprintf("%d bytes", st.Size), fmt.Sprintf("at most %d", most))
	}
	return nil
}

// id returns a frame's number, or -1 if the value is not one.
func id(v float64) int64 {
	if !(v >= 0 && v < maxID) {
		return -1
	}
	return int64(v)
}

// list finds the frames, and returns the names of other files, in order.
func (p *split) list(ctx context.Context) (others []string, err error) {
	entries, err := storage.ReadNames(ctx, p.dir, -1)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := entry.Name
		n, ok := frameOf(name)
		switch {
		case ok && entry.Mode&^fs.ModeSymlink == 0: // no folder or pipe
			p.ids = append(p.ids, n)
			if old, seen := p.odd[n]; name != frameName(n) && (!seen || name < old) {
				p.odd[n] = name
			}
		case name != boundsFit && name != lengthsFile && name != scenesFile && name != languageFolder && !strings.HasPrefix(name, "."):
			others = append(others, name)
		}
	}
	slices.Sort(p.ids)
	for i := 1; i < len(p.ids); i++ { // of two files, that which is called as CALVIN calls them
		if n := p.ids[i]; n == p.ids[i-1] && checkFile(storage.Join(p.dir, frameName(n)), math.MaxInt64) == nil {
			delete(p.odd, n)
		}
	}
	all := len(p.ids)
	if p.ids = slices.Compact(p.ids); len(p.ids) < all {
		p.problem(dataset.CodeFrameTwice, "", all-len(p.ids), dataset.Detail{})
	}
	slices.Sort(others)
	return others, nil
}

// frameOf returns the number of a frame's file.
func frameOf(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, "episode_")
	if digits, ok = cutSuffix(digits, ".npz", ok); !ok || digits == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	return int64(n), err == nil && n < maxID
}

func cutSuffix(s, suffix string, before bool) (string, bool) {
	s, ok := strings.CutSuffix(s, suffix)
	return s, ok && before
}

func frameName(n int64) string { return fmt.Sprintf("episode_%07d.npz", n) }

// path returns the file of a frame.
func (p *split) path(n int64) string {
	name, odd := p.odd[n]
	if !odd {
		name = frameName(n)
	}
	return storage.Join(p.dir, name)
}

// between returns the frames of a row that are there. The memory is the split's.
func (p *split) between(r row) []int64 {
	if !r.valid() {
		return nil
	}
	lo, _ := slices.BinarySearch(p.ids, r.first)
	hi, _ := slices.BinarySearch(p.ids, r.last+1)
	return p.ids[lo:hi]
}

// firstGap returns the first frame of a row that is not there. One is not.
func firstGap(r row, ids []int64) int64 {
	for i, n := range ids {
		if n != r.first+int64(i) {
			return r.first + int64(i)
		}
	}
	return r.first + int64(len(ids))
}

const lengthsFile = "ep_lens.npy"

// compareLengths compares ep_lens.npy, which need not be there, with the episodes.
func (p *split) compareLengths() {
	t, err := readNumbers(storage.Join(p.dir, lengthsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var list []float64
	if err == nil {
		list, err = tensor.Floats(t)
	}
	switch {
	case err != nil:
		p.problem(dataset.CodeUnreadable, lengthsFile, 1, dataset.Detail{Cause: err})
	case len(list) != len(p.rows):
		p.problem(dataset.CodeLengthCount, lengthsFile, len(list), dataset.Detail{Of: len(p.rows), Want: boundsFit})
	default:
		wrong := dataset.Note{Code: dataset.CodeEpisodeLength, Subject: p.name + "/" + lengthsFile}
		for i, r := range p.rows {
			if n := r.last - r.first + 1; r.valid() && list[i] != float64(n) {
				if wrong.Count++; wrong.Count == 1 {
					wrong.Row, wrong.Got, wrong.Want = dataset.At(i), fmt.Sprint(list[i]), strconv.FormatInt(n, 10)
				}
			}
		}
		if wrong.Count > 0 {
			p.problems.Add(wrong)
		}
	}
}

// compareFrames compares the existing frames with the frames of the episodes.
func (p *split) compareFrames() {
	missing, all, first := 0.0, 0.0, int64(-1)
	for _, r := range p.rows {
		if r.valid() {
			all += float64(r.last - r.first + 1)
		}
		if ids := p.between(r); r.valid() && int64(len(ids)) <= r.last-r.first {
			if missing += float64(r.last - r.first + 1 - int64(len(ids))); first < 0 {
				first = firstGap(r, ids)
			}
		}
	}
	if missing > 0 {
		p.problem(dataset.CodeFilesMissing, boundsFit, clamp(missing), dataset.Detail{Of: clamp(all), Names: []string{frameName(first)}})
	}
	for _, r := range union(p.rows) {
		p.inside += len(p.between(r))
	}
	if extra := len(p.ids) - p.inside; extra > 0 {
		p.problem(dataset.CodeFrameOutside, boundsFit, extra, dataset.Detail{})
	}
}

// clamp returns a number of frames, which may be beyond int.
func clamp(n float64) int { return int(min(n, maxID)) }

// union returns the frames of all rows as rows that do not overlap, in order.
func union(rows []row) (list []row) {
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(a, b row) int { return cmp.Compare(a.first, b.first) })
	for _, r := range sorted {
		switch n := len(list); {
		case !r.valid():
		case n > 0 && r.first <= list[n-1].last:
			list[n-1].last = max(list[n-1].last, r.last)
		default:
			list = append(list, r)
		}
	}
	return list
}

// within returns a function that reports whether one of the rows has all frames of another.
func within(rows []row) func(row) bool {
	sorted := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !r.valid() })
	slices.SortFunc(sorted, func(a, b row) int { return cmp.Compare(a.first, b.first) })
	furthest := make([]int64, len(sorted)) // the last frame of those up to here
	far := int64(math.MinInt64)
	for i, r := range sorted {
		far = max(far, r.last)
		furthest[i] = far
	}
	return func(r row) bool {
		n, _ := slices.BinarySearchFunc(sorted, r.first+1, func(a row, first int64) int { return cmp.Compare(a.first, first) })
		return n > 0 && furthest[n-1] >= r.last
	}
}
