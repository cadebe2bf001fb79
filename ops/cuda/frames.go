package cuda

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// framesOut is the kernels' number for an output's dtype.
var framesOut = map[tensor.DType]uint32{
	tensor.U8: ptx.FramesOutU8, tensor.F16: ptx.FramesOutF16, tensor.BF16: ptx.FramesOutBf16, tensor.F32: ptx.FramesOutF32,
}

// groupsEach is the number of groups of pixels that a thread of the kernel frames makes in a large launch.
const groupsEach = 4

func (b *gpu) Frames(job *backend.FramesJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), job.FaultError)
	if job.N == 0 {
		return p, nil
	}
	kernel, blocks, share := "frames", 0, 0
	if job.Resized {
		kernel, share = "frames_resize", blocksOfRows(job.W, ptx.FramesTile)
		blocks = share * blocksOfRows(job.H, ptx.FramesTile)
	} else {
		groups := job.H * blocksOfRows(job.W, ptx.FramesGroup)
		most := blocksOfRows(groups, ptx.FramesThreads)
		blocks = min(max(blocksOfRows(most, groupsEach), blocksOfRows(4*b.sms, job.N)), most)
		share = blocksOfRows(groups, blocks)
		blocks = blocksOfRows(groups, share)
	}
	if job.N > math.MaxInt32/blocks {
		return nil, &backend.ArgError{Op: "Frames", Arg: "Dst", Kind: backend.ErrTooLarge,
			Got: fmt.Sprintf("%d frames of %d blocks", job.N, blocks), Want: fmt.Sprintf("at most %d blocks", math.MaxInt32)}
	}
	return p.prepare(func() error {
		params, err := p.framesParams(job, blocks, share)
		if err != nil {
			return err
		}
		mode := job.Launch
		if job.Contrast > 0 {
			sums := *params
			sums.Flags |= ptx.FramesParamsFlags{Summing: true}.Word()
			if err := p.Add(b.bind(kernel, mode, job.N*blocks, ptx.FramesThreads, 0, &sums)); err != nil {
				return err
			}
			mode = backend.LaunchDependent
			params.Flags &^= ptx.FramesParamsFlags{Early: true}.Word()
		}
		return p.Add(b.bind(kernel, mode, job.N*blocks, ptx.FramesThreads, 0, params))
	})
}

// framesParams uploads the tables and returns the parameter for frames.cu. Each frame has `blocks` blocks.
func (p *plan) framesParams(job *backend.FramesJob, blocks, share int) (*ptx.FramesParams, error) {
	var levels [3][256]uint32
	for c := range levels[:job.C] {
		for v := range levels[c] {
			levels[c][v] = uint32(valueBits(float64(job.Level(c, float32(v))), job.Dst.DType()))
		}
	}
	axes, places := framesAxes(job)
	var sources []ptx.FramesSource
	for i := range job.Sources {
		sources = append(sources, framesSource(job, &job.Sources[i], places))
	}
	sums := 0
	if job.Contrast > 0 {
		sums = 8 * job.N * blocks
	}
	table, levelWords, axisWords := packed(sources), packed(levels[:]), packed(axes)
	var black []byte // a row of three zeros for each column of the picture
	if job.Valid != nil {
		black = make([]byte, 3*job.Sources[0].Crop.Max.X)
	}
	if err := p.upload(slices.Concat(make([]byte, sums), table, levelWords, axisWords, black)); err != nil {
		return nil, err
	}
	at, size := uint64(p.table.Ptr()), uint64(job.Dst.DType().Size())
	unit := uint64(16) // bytes that a thread writes at once
	if size == 1 {
		unit = 8
	}
	row, frame := uint64(job.W)*size, uint64(job.Dst.Stride(0))*size
	if job.Layout == backend.LayoutHWC {
		row *= uint64(job.C)
	}
	amounts := [3]backend.Amount{backend.AmountOf(job.Brightness), backend.AmountOf(job.Contrast), backend.AmountOf(job.Saturation)}
	zeros := at + uint64(sums+len(table)+len(levelWords)+len(axisWords))
	params := &ptx.FramesParams{
		Dst: address(job.Dst), Frame: frame, Select: address(job.Select), Valid: address(job.Valid), Keys: address(job.Keys),
		Black: zeros, BlackEnd: zeros + uint64(len(black)), Sums: at, Sources: at + uint64(sums),
		Levels: at + uint64(sums+len(table)), Axes: at + uint64(sums+len(table)+len(levelWords)), Fault: p.Cell.At, FaultFlag: p.Cell.Flag,
		FlipX: backend.FlipLimit(job.FlipX), FlipY: backend.FlipLimit(job.FlipY), N: uint32(job.N), H: uint32(job.H), W: uint32(job.W),
		PerKey: uint32(job.PerKey()), Blocks: uint32(blocks), Share: uint32(share), Key: job.Key(),
		White: job.White, Mean: job.Mean, Deviation: job.Std,
		Flags: ptx.FramesParamsFlags{
			Out: framesOut[job.Dst.DType()], Gray: job.C == 1, Last: job.Layout == backend.LayoutHWC, Whole: (address(job.Dst)|frame|row)%unit == 0,
			Crop: uint32(job.Crop), PerFrame: job.PerFrame,
			Brightness: job.Brightness > 0, Contrast: job.Contrast > 0, Saturation: job.Saturation > 0,
			Deep: job.Top() > math.MaxUint8, Floats: job.Float, Early: job.Launch == backend.LaunchInputsReady,
		}.Word(),
	}
	for i, a := range amounts {
		params.Low[i], params.Span[i] = a.Low, a.Span
	}
	return params, nil
}

// framesAxes returns the tables for resizing, and the place of each.
func framesAxes(job *backend.FramesJob) (words []uint32, places []uint32) {
	for _, a := range job.Axes {
		places = append(places, uint32(len(words)))
		words = slices.Concat(words, a.First, a.Count)
		whole := a.Whole()
		for k := range a.Most {
			for i := range a.First {
				w := uint32(whole[i*a.Most+k])
				if job.Float {
					w = math.Float32bits(float32(a.Exact[i*a.Most+k]))
				}
				words = append(words, w)
			}
		}
	}
	return words, places
}

// framesSource returns a source in the kernels' form.
func framesSource(job *backend.FramesJob, s *backend.FrameSource, places []uint32) ptx.FramesSource {
	out := ptx.FramesSource{
		Count: uint32(s.Count()), Format: uint32(s.Format),
		X: uint32(s.Crop.Min.X), Y: uint32(s.Crop.Min.Y), Height: uint32(s.Height), Width: uint32(s.Width),
	}
	if job.Resized {
		out.Down, out.Across = places[s.Y], places[s.X]
	}
	for plane := range s.Format.Planes() {
		picture, row := s.Plane(plane)
		out.Plane[plane], out.Picture[plane], out.Pitch[plane] = address(s.Planes[plane])+uint64(s.At*picture), uint64(picture), uint32(row)
	}
	_, lo, hi := s.Planes[0].Extent()
	out.Begin = address(s.Planes[0])
	out.End = out.Begin + uint64(hi-lo)
	if s.Format.Subsampled() {
		picture := s.Picture()
		c := picture.Colour()
		out.Shift, out.Mask, out.Y0, out.C0 = uint32(picture.Shift), 1<<picture.Bits-1, c.Y0, c.C0
		out.Cy, out.Rv, out.Gu, out.Gv, out.Bu = c.CY, c.RV, c.GU, c.GV, c.BU
	}
	return out
}
