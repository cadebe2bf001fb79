package cpu

import (
	"errors"
	"image"
	"math"
	"sync/atomic"

	"github.com/robocache/robocache/internal/taps"
	"github.com/robocache/robocache/internal/yuv"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// framesPlan is a Frames bound to host memory. A piece of work is one frame.
type framesPlan struct {
	steppedPlan
	*backend.FramesJob
	sources      []frameSource
	choose, keys []int64 // Select and Keys
	valid        []uint8
	whole        []uint8 // Dst of u8, else nil
	floats       values  // another Dst
	levels       [3][]float32
	workers      []frameMaker
	fault        atomic.Uint64
}

// frameSource is the memory of a source.
type frameSource struct {
	*backend.FrameSource
	picture  yuv.Picture // the first one in a stack; RGB and gray have Data[0] and Stride[0] only
	pictures [3]int      // bytes from one picture to the next, for each plane
}

// frameMaker makes frames with one worker's memory.
type frameMaker interface{ frame(n int) }

// Frames plans a batch of images from decoded pictures.
func (b *Backend) Frames(job *backend.FramesJob) (backend.Plan, error) {
	p := &framesPlan{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, FramesJob: job}
	p.by = func(do func(*task)) error {
		p.fault.Store(uint64(backend.NoFault))
		do(&p.work)
		return p.FaultError(backend.Fault(p.fault.Load()))
	}
	var errs []error
	p.choose, p.keys = elementsOf[int64](job.Select, &errs), elementsOf[int64](job.Keys, &errs)
	p.valid = elementsOf[uint8](job.Valid, &errs)
	for i := range job.Sources {
		s := frameSource{FrameSource: &job.Sources[i], picture: job.Sources[i].Picture()}
		for plane := range s.Format.Planes() {
			s.picture.Data[plane] = elementsOf[uint8](s.Planes[plane], &errs)
			s.pictures[plane], s.picture.Stride[plane] = s.Plane(plane)
		}
		p.sources = append(p.sources, s)
	}
	if job.Dst.DType() == tensor.U8 {
		p.whole = elementsOf[uint8](job.Dst, &errs)
	} else {
		var err error
		p.floats, err = newValues(job.Dst)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for c := range p.levels[:job.C] {
		for v := range job.Top() + 1 {
			p.levels[c] = append(p.levels[c], job.Level(c, float32(v)))
		}
	}
	for range b.workers {
		p.workers = append(p.workers, newFrameMaker(p))
	}
	p.work = task{pieces: job.N, do: func(n, worker int) { p.workers[worker].frame(n) }}
	return p, nil
}

// framePasses has a worker's memory for pictures, by rows of W*C samples. They are whole with 8 or 16 bits, or float32 for
// FramesOptions.Float. They are resized in sums of type T.
type framePasses[S taps.Sample, T taps.Sum] struct {
	*framesPlan
	reader  *frameReader
	resizer taps.Resizer[S, T]
	filters []taps.Filter[T]        // by axis
	read    func(out []S, x, y int) // reads samples of row y in the picture, from column x on
	line    []S                     // one row of the rectangle
	picture []S                     // the window
	out     []float32               // one row of an output
	shades  []S                     // one row in gray
}

func newFrameMaker(p *framesPlan) frameMaker {
	r, deep, most := &frameReader{}, p.Top() > math.MaxUint8, p.W
	for i := range p.sources {
		most = max(most, p.sources[i].Crop.Dx())
		r.begin(&p.sources[i], 0) // makes its memory
	}
	switch {
	case p.Float && deep:
		return newPasses(p, r, floats(r.words, most*p.C), taps.Floats, taps.Keep)
	case p.Float:
		return newPasses(p, r, floats(r.bytes, most*p.C), taps.Floats, taps.Keep)
	case deep:
		return newPasses(p, r, r.words, taps.Whole[int64], taps.Round)
	}
	return newPasses(p, r, r.bytes, taps.Whole[int32], taps.Round)
}

func newPasses[S taps.Sample, T taps.Sum](
	p *framesPlan, r *frameReader, read func([]S, int, int), filter func(*taps.Axis) taps.Filter[T], round func([]S, []T),
) frameMaker {
	f := &framePasses[S, T]{framesPlan: p, reader: r, resizer: taps.Resizer[S, T]{C: p.C, Round: round}, read: read,
		picture: make([]S, p.H*p.W*p.C), out: make([]float32, p.W*p.C), shades: make([]S, p.W)}
	for _, a := range p.Axes {
		f.filters = append(f.filters, filter(a))
	}
	if p.Resized {
		var size image.Point
		for _, s := range p.sources {
			size = image.Pt(max(size.X, s.Crop.Dx()), max(size.Y, s.Crop.Dy()))
		}
		f.line = make([]S, size.X*p.C)
		f.resizer.Reserve(p.W, size.Y)
	}
	return f
}

// none is the picture of a frame that has none.
const none = -1

// frame makes frame n.
func (f *framePasses[S, T]) frame(n int) {
	s, picture := &f.sources[0], 0
	if f.choose == nil {
		s = &f.sources[n]
		picture = s.At
	} else if i := f.choose[n]; i >= 0 && i < int64(s.Count()) {
		picture = int(i)
	} else if picture = none; f.valid == nil {
		lower(&f.fault, backend.MakeFault(0, n, 0))
		return
	}
	var u backend.FrameChoices
	if f.keys != nil {
		per := f.PerKey()
		key := f.keys[n/per*2:]
		u = f.Choose(key[0], key[1], n%per)
	}
	g := f.Changes(u, s.Height, s.Width, f.H, f.W)
	if picture == none {
		f.valid[n] = 0
		clear(f.picture)
	} else if f.reader.begin(s, picture); f.Resized {
		f.resizer.Window(f.picture, f.filters[s.X], f.filters[s.Y], g.X, g.Y, f.W, f.H, func(y int) []S {
			row := f.line[:s.Crop.Dx()*f.C]
			f.read(row, s.Crop.Min.X, s.Crop.Min.Y+y)
			return row
		})
	} else {
		line := f.W * f.C
		for y := range f.H {
			f.read(f.picture[y*line:][:line], s.Crop.Min.X+g.X, s.Crop.Min.Y+g.Y+y)
		}
	}
	if f.Jitters() {
		f.jitter(&g)
	}
	for y := range f.H {
		from := y
		if g.FlipY {
			from = f.H - 1 - y
		}
		f.write(n, y, g.FlipX, f.picture[from*f.W*f.C:][:f.W*f.C])
	}
}

// frameReader reads rows of a picture.
type frameReader struct {
	format backend.FrameFormat
	rows   yuv.Rows
}

// begin begins a picture with a number in its stack.
func (r *frameReader) begin(s *frameSource, number int) {
	picture := s.picture
	for plane := range s.Format.Planes() {
		picture.Data[plane] = picture.Data[plane][number*s.pictures[plane]:]
	}
	r.format = s.Format
	r.rows.Set(picture, s.Crop.Dx())
}

// bytes reads red, green and blue or gray, from column x of row y on.
func (r *frameReader) bytes(out []uint8, x, y int) {
	if r.format.Subsampled() {
		r.rows.Read(out, x, y)
		return
	}
	copy(out, r.rows.Data[0][y*r.rows.Stride[0]+x*r.format.Channels():])
}

// words reads 16-bit gray.
func (r *frameReader) words(out []uint16, x, y int) {
	yuv.Unpack(out, r.rows.Data[0][y*r.rows.Stride[0]+2*x:], 0, 16)
}

// floats returns read with samples converted to float32, for at most n of them.
func floats[S uint8 | uint16](read func(out []S, x, y int), n int) func(out []float32, x, y int) {
	row := make([]S, n)
	return func(out []float32, x, y int) {
		read(row[:len(out)], x, y)
		for i := range out {
			out[i] = float32(row[i])
		}
	}
}

// jitter changes the picture's colours by torchvision's formulas. Each step rounds down to whole samples.
func (f *framePasses[S, T]) jitter(g *backend.FrameChanges) {
	if f.Brightness > 0 {
		for i, v := range f.picture {
			f.picture[i] = blend(g.Brightness, v, 0)
		}
	}
	if f.Contrast > 0 {
		var sum int64
		for y := range f.H {
			f.gray(f.picture[y*f.W*f.C:])
			for _, v := range f.shades {
				sum += int64(v)
			}
		}
		mean := float32(float64(sum) / float64(f.H*f.W))
		for i, v := range f.picture {
			f.picture[i] = blend(g.Contrast, v, mean)
		}
	}
	for y := range f.H {
		if row := f.picture[y*f.W*f.C:]; f.Saturation > 0 && f.C == 3 {
			f.gray(row)
			for i := range f.W * 3 {
				row[i] = blend(g.Saturation, row[i], float32(f.shades[i/3]))
			}
		}
	}
}

// gray fills in the shades of one row.
func (f *framePasses[S, T]) gray(row []S) {
	for i := range f.shades {
		if f.C == 1 {
			f.shades[i] = row[i]
			continue
		}
		r, g, b := float32(row[3*i]), float32(row[3*i+1]), float32(row[3*i+2])
		f.shades[i] = S(float32(float32(0.2989*r)+float32(0.587*g)) + float32(0.114*b))
	}
}

// blend returns factor*v + (1-factor)*other, limited to a sample and rounded down.
func blend[S taps.Sample](factor float32, v S, other float32) S {
	x := float32(factor*float32(v)) + float32((1-factor)*other)
	return S(min(max(x, 0), math.MaxUint8))
}

// write writes row y of frame n.
func (f *framePasses[S, T]) write(n, y int, flip bool, row []S) {
	w, c := f.W, f.C
	pixel, channel := 1, w // from a place in out to the next
	if f.Layout == backend.LayoutHWC {
		pixel, channel = c, 1
	}
	for x := range w {
		at := x * pixel
		if flip {
			at = (w - 1 - x) * pixel
		}
		for ch := range c {
			v := row[x*c+ch]
			switch {
			case f.whole != nil:
				f.out[at] = float32(v)
			case f.Float:
				f.out[at] = f.Level(ch, float32(v))
			default:
				f.out[at] = f.levels[ch][int(v)]
			}
			at += channel
		}
	}
	to, runs, step := n*f.Dst.Stride(0)+y*w, c, f.H*w
	if f.Layout == backend.LayoutHWC {
		to, runs = n*f.Dst.Stride(0)+y*w*c, 1
	}
	length := len(f.out) / runs
	for r := range runs {
		list := f.out[r*length:][:length]
		if f.whole == nil {
			f.floats.put32(to+r*step, list)
			continue
		}
		for i, v := range list {
			f.whole[to+r*step+i] = uint8(v)
		}
	}
}
