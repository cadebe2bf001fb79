package cpu

import (
	"errors"
	"image"
	"math"
	"sync/atomic"

	"github.com/robocache/robocache/internal/taps"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// framesPlan is a Frames bound to host memory. A piece of work is one frame.
type framesPlan struct {
	steppedPlan
	*backend.FramesJob
	sources      []frameSource
	choose, keys []int64 // Select and Keys
	whole        []uint8 // Dst of u8, else nil
	floats       values  // another Dst
	levels       [3][]float32
	workers      []frameMaker
	fault        atomic.Uint64
}

// frameSource is the memory of a source: for each plane the samples, and the bytes from one picture to the next and from one row to the next.
type frameSource struct {
	*backend.FrameSource
	planes        [3][]uint8
	pictures, row [3]int
	colour        backend.Colour
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
	for i := range job.Sources {
		s := frameSource{FrameSource: &job.Sources[i]}
		for plane := range s.Format.Planes() {
			s.planes[plane] = elementsOf[uint8](s.Planes[plane], &errs)
			s.pictures[plane], s.row[plane] = s.Plane(plane)
		}
		if s.Format.Subsampled() {
			s.colour = s.Colour()
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

// sample is the type in which a picture is resized: int32 for samples with 8 bits, int64 for 16 bits, float32 for FramesOptions.Float.
type sample interface{ int32 | int64 | float32 }

// framePasses has a worker's memory for pictures, by rows of W*C samples.
type framePasses[T sample] struct {
	*framesPlan
	weights [][]T     // by axis
	round   func([]T) // rounds the sums of a pass; nil if they stay as they are
	line    []T       // one row of the rectangle
	lines   []T       // rows after the horizontal pass
	picture []T       // the window
	out     []float32 // one row of an output
	shades  []T       // one row in gray
}

func newFrameMaker(p *framesPlan) frameMaker {
	switch {
	case p.Float:
		return newPasses(p, func(a *taps.Axis) (out []float32) {
			for _, w := range a.Exact {
				out = append(out, float32(w))
			}
			return out
		}, nil)
	case p.Top() > math.MaxUint8:
		return newPasses(p, wholeWeights[int64], roundSums[int64](math.MaxUint16))
	}
	return newPasses(p, wholeWeights[int32], roundSums[int32](math.MaxUint8))
}

func wholeWeights[T int32 | int64](a *taps.Axis) (out []T) {
	for _, w := range a.Whole() {
		out = append(out, T(w))
	}
	return out
}

func roundSums[T int32 | int64](top T) func([]T) {
	return func(sums []T) {
		for i, v := range sums {
			sums[i] = min((v+1<<(taps.Bits-1))>>taps.Bits, top)
		}
	}
}

func newPasses[T sample](p *framesPlan, weights func(*taps.Axis) []T, round func([]T)) *framePasses[T] {
	f := &framePasses[T]{framesPlan: p, round: round, picture: make([]T, p.H*p.W*p.C), out: make([]float32, p.W*p.C), shades: make([]T, p.W)}
	for _, a := range p.Axes {
		f.weights = append(f.weights, weights(a))
	}
	if p.Resized {
		var size image.Point
		for _, s := range p.sources {
			size = image.Pt(max(size.X, s.Crop.Dx()), max(size.Y, s.Crop.Dy()))
		}
		f.line, f.lines = make([]T, size.X*p.C), make([]T, size.Y*p.W*p.C)
	}
	return f
}

// frame makes frame n.
func (f *framePasses[T]) frame(n int) {
	s, picture := &f.sources[0], 0
	if f.choose == nil {
		s = &f.sources[n]
		picture = s.At
	} else if i := f.choose[n]; i >= 0 && i < int64(s.Count()) {
		picture = int(i)
	} else {
		lower(&f.fault, backend.MakeFault(0, n, 0))
		return
	}
	var u backend.FrameChoices
	if f.keys != nil {
		rows := len(f.keys) / 2
		key := f.keys[n/(f.N/rows)*2:]
		u = f.Choose(key[0], key[1], n%(f.N/rows))
	}
	g := f.Changes(u, s.Height, s.Width, f.H, f.W)
	if f.Resized {
		f.resize(s, picture, g.Y, g.X)
	} else {
		for y := range f.H {
			read(s, picture, s.Crop.Min.X+g.X, s.Crop.Min.Y+g.Y+y, f.picture[y*f.W*f.C:][:f.W*f.C])
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

// resize fills in the picture with the window of the resized rectangle that begins at row y and column x.
func (f *framePasses[T]) resize(s *frameSource, picture, y, x int) {
	across, down := f.Axes[s.X], f.Axes[s.Y]
	width := f.W * f.C
	first, last := int(down.First[y]), y+f.H-1
	for row := first; row < int(down.First[last]+down.Count[last]); row++ {
		read(s, picture, s.Crop.Min.X, s.Crop.Min.Y+row, f.line[:s.Crop.Dx()*f.C])
		to := f.lines[(row-first)*width:][:width]
		for i := range f.W {
			at := x + i
			weights := f.weights[s.X][at*across.Most:][:across.Count[at]]
			from := f.line[int(across.First[at])*f.C:][:len(weights)*f.C]
			if f.C == 1 {
				var sum T
				for k, w := range weights {
					sum += T(w * from[k])
				}
				to[i] = sum
				continue
			}
			var r, g, b T
			for k, w := range weights {
				p := from[3*k:][:3]
				r, g, b = r+T(w*p[0]), g+T(w*p[1]), b+T(w*p[2])
			}
			to[3*i], to[3*i+1], to[3*i+2] = r, g, b
		}
		f.finish(to)
	}
	for i := range f.H {
		at, to := y+i, f.picture[i*width:][:width]
		clear(to)
		for k, w := range f.weights[s.Y][at*down.Most:][:down.Count[at]] {
			for e, v := range f.lines[(int(down.First[at])-first+k)*width:][:width] {
				to[e] += T(w * v)
			}
		}
		f.finish(to)
	}
}

func (f *framePasses[T]) finish(sums []T) {
	if f.round != nil {
		f.round(sums)
	}
}

// read reads samples of one row of a picture, from column x on, as red, green and blue or as gray.
func read[T sample](s *frameSource, picture, x, y int, out []T) {
	row := func(plane, y int) []uint8 { return s.planes[plane][picture*s.pictures[plane]+y*s.row[plane]:] }
	first := row(0, y)
	switch s.Format {
	case backend.FrameRGB, backend.FrameGray:
		for i, v := range first[x*s.Format.Planes()[0]:][:len(out)] {
			out[i] = T(v)
		}
		return
	case backend.FrameGray16:
		for i := range out {
			out[i] = T(word(first[2*(x+i):]))
		}
		return
	}
	c := &s.colour
	us := row(1, y/2)
	vs, step, second := us, 2, 1
	if planes := s.Format.Planes(); len(planes) == 3 {
		vs, step, second = row(2, y/2), 1, 0
	}
	var r, g, b int32
	for i := range len(out) / 3 {
		if at := x + i; i == 0 || at%2 == 0 {
			u, v := s.value(us, at/2*step)-c.C0, s.value(vs, at/2*step+second)-c.C0
			r, g, b = c.RV*v, -c.GU*u-c.GV*v, c.BU*u
		}
		luma, p := c.CY*(s.value(first, x+i)-c.Y0)+1<<(backend.ColourBits-1), out[3*i:][:3]
		p[0], p[1], p[2] = colour[T](luma+r), colour[T](luma+g), colour[T](luma+b)
	}
}

// value returns sample i of a 4:2:0 plane.
func (s *frameSource) value(plane []uint8, i int) int32 {
	if s.Format >= backend.FrameP016 {
		return int32(word(plane[2*i:]) >> s.colour.Shift & s.colour.Mask)
	}
	return int32(plane[i])
}

func word(b []uint8) uint32 { return uint32(b[0]) | uint32(b[1])<<8 }

func colour[T sample](sum int32) T { return T(min(max(sum>>backend.ColourBits, 0), math.MaxUint8)) }

// jitter changes the picture's colours by torchvision's formulas. Each step gives whole samples, rounded down.
func (f *framePasses[T]) jitter(g *backend.FrameChanges) {
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
func (f *framePasses[T]) gray(row []T) {
	for i := range f.shades {
		if f.C == 1 {
			f.shades[i] = row[i]
			continue
		}
		r, g, b := float32(row[3*i]), float32(row[3*i+1]), float32(row[3*i+2])
		f.shades[i] = T(float32(float32(0.2989*r)+float32(0.587*g)) + float32(0.114*b))
	}
}

// blend returns factor*v + (1-factor)*other, limited to a sample and rounded down.
func blend[T sample](factor float32, v T, other float32) T {
	x := float32(factor*float32(v)) + float32((1-factor)*other)
	return T(min(max(x, 0), math.MaxUint8))
}

// write writes row y of frame n.
func (f *framePasses[T]) write(n, y int, flip bool, row []T) {
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
