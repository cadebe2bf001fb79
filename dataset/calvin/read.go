package calvin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/tensor"
)

const (
	maxWidth = 4096    // numbers that an array of a stream may have in a frame
	maxBytes = 1 << 16 // of a file of such an array, as the archive has it
	maxOpen  = 32      // blocks of frames that are read at once, each by a goroutine

	maxVariants = 16 // types and shapes that the samples of one array have
)

// series contains one array in all frames of an episode.
type series struct {
	name     string
	variants []*variant // by type and shape; one, where the frames are alike
}

// variant is the samples of an array that have the same type and shape.
type variant struct {
	like    npy.Header   // of the first
	size    int64        // of images, how many bytes their files have: their headers are not read
	reason  dataset.Note // why it is no stream; without a code if it is one
	rows    []int        // the samples' frames, as numbers of the episode's list of frames
	narrow  []float32    // the values if they are f32, else
	wide    []float64
	inexact int
}

// table contains the arrays in an episode's frames, or in a block of them.
type table struct {
	series []*series
	at     map[string]*series // by name
	lost   []int              // frames with unreadable files
	damage dataset.Notes
}

func (t *table) of(name string) *series {
	s := t.at[name]
	if s == nil {
		s = &series{name: name}
		t.series = append(t.series, s)
		t.at[name] = s
	}
	return s
}

func (v *variant) isStream() bool { return v.reason.Code == "" }

func tooWide(got string, most int, unit string) dataset.Note {
	return dataset.Note{Code: dataset.CodeTooWide, Detail: dataset.Detail{Got: got, Want: strconv.Itoa(most), Unit: unit}}
}

// variant returns the samples with the same type and shape. Samples that are left out count as equal.
func (s *series) variant(like *variant) *variant {
	for _, v := range s.variants {
		if !v.isStream() && !like.isStream() {
			return v
		}
		if v.isStream() == like.isStream() && v.size == like.size && slices.Equal(v.like.Shape, like.like.Shape) &&
			(v.like.Descr == like.like.Descr || v.like.Type() == like.like.Type()) { // but for the byte order
			return v
		}
	}
	if len(s.variants) >= maxVariants && like.isStream() {
		return s.variant(&variant{reason: tooWide("", maxVariants, "types and shapes")})
	}
	v := &variant{like: like.like, size: like.size, reason: like.reason}
	s.variants = append(s.variants, v)
	return v
}

// add appends later samples.
func (v *variant) add(o *variant) {
	if v.rows = append(v.rows, o.rows...); !v.isStream() {
		return
	}
	v.narrow, v.wide = append(v.narrow, o.narrow...), append(v.wide, o.wide...)
	v.inexact += o.inexact
}

// add appends later frames, and returns t.
func (t *table) add(o *table) *table {
	for _, s := range o.series {
		into := t.of(s.name)
		for _, v := range s.variants {
			into.variant(v).add(v)
		}
	}
	t.lost = append(t.lost, o.lost...)
	t.damage.Join(o.damage)
	return t
}

// room returns an error if the free memory cannot hold the numbers of all frames. It estimates from the first ones.
func (t *table) room(path string, frames, all int) error {
	have := 0
	for _, s := range t.series {
		for _, v := range s.variants {
			have += 4*len(v.narrow) + 8*len(v.wide)
		}
	}
	want := float64(have) / float64(frames) * float64(all-frames)
	if want < 1<<28 { // too little to check the free memory
		return nil
	}
	if free := tensor.Available(); want > float64(free) {
		return formatError(dataset.ErrTooLarge, path, "episode", fmt.Sprintf("%.0f bytes more of numbers", want), fmt.Sprintf("at most the %d that are free", free))
	}
	return nil
}

// read reads the numbers of frames, blocks of them at once, and puts them together in order. Images are not read, but for their sizes. A frame that is
// broken is lost, unless that is refused. No goroutine outlives the call.
func (p *split) read(ctx context.Context, ids []int64, strict bool) (*table, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	most := min(max(2*runtime.GOMAXPROCS(0), 8), maxOpen)
	size := min(max(len(ids)/most, 8), 256)
	type result struct {
		t      *table
		frames int
		err    error
	}
	open := make([]chan result, 0, most)
	next, done := 0, 0
	start := func() {
		for len(open) < most && next < len(ids) {
			from, to := next, min(next+size, len(ids))
			read := make(chan result, 1)
			go func() {
				r := result{frames: to - from}
				r.err = caught.Do(func() (err error) { r.t, err = p.block(ctx, ids, from, to, strict); return err })
				read <- r
			}()
			open, next = append(open, read), to
		}
	}
	all := &table{at: map[string]*series{}}
	var failed error
	for start(); len(open) > 0; {
		r := <-open[0]
		open = open[1:]
		switch {
		case failed != nil: // only waits
		case r.err != nil:
			failed = r.err
			cancel()
		default:
			done += r.frames
			if failed = all.add(r.t).room(p.dir, done, len(ids)); failed != nil {
				cancel()
				break
			}
			start()
		}
	}
	return all, failed
}

// block reads the frames of a part of a list.
func (p *split) block(ctx context.Context, ids []int64, from, to int, strict bool) (*table, error) {
	t := &table{at: map[string]*series{}}
	for row := from; row < to; row++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		path := p.path(ids[row])
		samples, err := readFrame(path)
		bad, broken := dataset.AsBroken(err)
		if errors.Is(err, fs.ErrNotExist) {
			bad, broken = formatError(dataset.ErrNotFound, path, "frame", "no file", "one: it was there"), true
		}
		switch {
		case broken:
			if strict {
				return nil, bad
			}
			t.lost = append(t.lost, row)
			t.damage.AddDamage(dataset.CodeFrameBroken, 0, bad)
		case err != nil:
			return nil, err
		default:
			for i := range samples {
				v := &samples[i].variant
				v.rows = []int{row}
				t.of(samples[i].name).variant(v).add(v)
			}
		}
	}
	return t, nil
}

// sample is an array of a frame.
type sample struct {
	name string
	variant
}

// readFrame reads the numbers of a frame, and how long its images are.
func readFrame(path string) ([]sample, error) {
	f, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names := f.Names()
	list := make([]sample, 0, len(names))
	for _, name := range names {
		s := sample{name: name}
		size := f.Size(name)
		switch {
		case isImage(name):
			s.size = size
		case size > maxBytes:
			s.size, s.reason = size, tooWide(fmt.Sprintf("%d bytes", size), maxWidth, "numbers")
		default:
			if err := s.read(f); err != nil {
				return nil, err
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// read reads a numeric array, or sets the reason why it is no stream.
func (s *sample) read(f *npz.File) error {
	t, err := f.Checked(s.name, func(h npy.Header) error {
		if s.like = h; h.Len() > maxWidth {
			s.reason = tooWide(h.String(), maxWidth, "numbers")
			return formatError(dataset.ErrTooLarge, "", "array", h.String(), "fewer numbers")
		}
		return nil
	})
	switch {
	case !s.isStream():
		return nil
	case errors.Is(err, dataset.ErrUnsupported):
		var bad *dataset.FormatError
		errors.As(err, &bad)
		s.reason = dataset.Note{Code: dataset.CodeValueType, Detail: dataset.Detail{Got: bad.Got}}
		return nil
	case err != nil:
		return err
	}
	values, inexact, err := dataset.Numbers(t, 8*s.like.ItemSize())
	if err != nil {
		return err
	}
	s.inexact = inexact
	switch values.DType() {
	case tensor.F64:
		s.wide, err = tensor.Data[float64](values)
	case tensor.F32:
		s.narrow, err = tensor.Data[float32](values)
	default: // f16
		list, err := tensor.Floats(values)
		if err != nil {
			return err
		}
		for _, v := range list {
			s.narrow = append(s.narrow, float32(v))
		}
	}
	return err
}
