package loader

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// film is a camera with its frames in all drawn episodes. A frame's index counts the frames of all drawn episodes, one after another.
type film struct {
	Camera
	options ops.FramesOptions
	rule    ops.FrameSurface // the kept frames' format, matrix and range
	plan    *cameraPlan
	camera  int     // its index
	begins  []int64 // [E+1]: each drawn episode's first index
	numbers part    // on the CPU: the samples are the frames' indexes
	// places is on the device: the samples are the frames' places in kept, i64 carried in f64. A place is NoPlace if the frame cannot be
	// decoded, or if the level is not FramesOnDevice.
	places   part
	level    FrameLevel
	kept     *tensor.Tensor // u8 [N,h,w,3], or [N,h*3/2,w] with yuv420; nil if the level is streaming
	place    []int32        // in kept, by index; -1 if no window wants the frame
	isKept   []bool         // by index
	report   *CameraReport
	batch    BatchCamera
	selected *tensor.Tensor // [B*T] i64 on the device: a batch's places, written by a Fuse
}

const (
	// noFrame is the index for a target without a frame. Its place is NoPlace.
	noFrame = -1
	// scanned is how many windows scan draws at a time.
	scanned = 4096
	// frameShare is a divisor: kept frames may take this share of the free memory.
	frameShare = 2
)

// count returns how many frames are kept.
func (f *film) count() int { return f.report.Wanted }

// bytes returns the size that n stored frames have.
func (f *film) bytes(n int) int64 {
	size := int64(1)
	for _, d := range f.Stored(n) {
		size *= int64(d)
	}
	return size
}

// episodeOf returns a frame's drawn episode.
func (f *film) episodeOf(index int) int {
	return sort.Search(len(f.begins)-1, func(e int) bool { return f.begins[e+1] > int64(index) })
}

// newFilms makes the films: it finds the frames that windows want, and allocates the memory to keep them.
func (l *Loader) newFilms(ctx context.Context, c *selection) error {
	f := c.cameras
	for i, s := range f.streams {
		p := part{
			name: s.Name, columns: []dataset.Column{{Name: "frame"}}, packed: tensor.F64, dtype: tensor.F64, width: 1, offsets: []int64{0},
		}
		var err error
		if p.deltas, err = deltasOf(&f.whole, s.Name); err != nil {
			return err
		}
		m := &film{Camera: f.cameras[i], options: f.options[i], plan: f, camera: i, begins: []int64{0}}
		r := CameraReport{Name: s.Name, Height: m.Height, Width: m.Width, Targets: len(p.deltas)}
		var rows []store.Samples
		var indexes []float64
		for e, shot := range c.frames {
			s := &shot.streams[i]
			if s.Values == nil {
				r.Empty++
			} else {
				numbers, err := tensor.Floats(s.Values)
				if err != nil {
					return err
				}
				for _, number := range numbers {
					indexes = append(indexes, float64(m.begins[e])+number)
				}
				rows = append(rows, store.Samples{Values: s.Values, Times: s.Times})
				r.Frames += s.Len()
				r.InGaps += inGaps(s, ops.Clock{Start: c.begins[e], Rate: l.order.Rate}, int(c.windows[e+1]-c.windows[e]))
				if len(rows) == 1 {
					p.normalise, p.offset, p.options = s.Normalise, s.Offset, s.Options
				}
				widen(&p.options, s)
			}
			p.offsets = append(p.offsets, int64(r.Frames))
			m.begins = append(m.begins, m.begins[e]+int64(shot.counts[i]))
		}
		if r.Frames == 0 {
			return f.none(i)
		}
		r.Unlimited = unlimited(&p.options)
		if _, p.times, err = store.Join(rows, 1, r.Frames, tensor.F64); err != nil {
			return err
		}
		if p.values, err = tensor.Of(indexes, r.Frames, 1); err != nil {
			return err
		}
		m.numbers, m.places = p, p
		m.numbers.options.Fill = ops.FillWith(noFrame)
		m.places.options.Fill = ops.FillWith(math.Float64frombits(uint64(NoPlace)))
		m.report = &r
		l.films = append(l.films, m)
	}
	if err := l.scan(ctx, c); err != nil {
		return err
	}
	for _, m := range l.films {
		if err := l.keep(m, c.opt); err != nil {
			return err
		}
	}
	return nil
}

// numbersLoader returns a loader on the CPU that draws frame indexes.
func (l *Loader) numbersLoader(ctx context.Context, c *selection, order ops.DrawOptions) (*Loader, error) {
	if l.cpu == nil {
		var err error
		if l.cpu, err = ops.Open("cpu"); err != nil {
			return nil, err
		}
		l.closers.add(l.cpu)
	}
	n := &Loader{device: l.cpu, order: order, isApart: true}
	for i, m := range l.films {
		n.parts = append(n.parts, m.numbers)
		n.parts[i].clock = i
	}
	if err := n.upload(ctx, c); err != nil {
		return n, errors.Join(err, n.Close())
	}
	n.closers.add(n.feed)
	err := n.plan(ctx)
	if err == nil {
		err = n.capture()
	}
	if err != nil {
		err = errors.Join(err, n.Close())
	}
	return n, err
}

// scan gives a place to each frame that a window wants.
func (l *Loader) scan(ctx context.Context, c *selection) error {
	count := int(c.windows[len(c.windows)-1])
	n, err := l.numbersLoader(ctx, c, ops.DrawOptions{
		Rate: l.order.Rate, Count: count, Batch: min(count, scanned), Ranks: 1, Last: ops.LastShort, TrustTables: true,
	})
	if err != nil {
		return err
	}
	wanted := make([][]bool, len(l.films))
	for i, m := range l.films {
		wanted[i] = make([]bool, m.begins[len(m.begins)-1])
	}
	for at := 0; at < count && err == nil; at += scanned {
		if err = n.Next(ctx); err != nil {
			break
		}
		for i := range l.films {
			var list []float64
			list, err = tensor.Data[float64](n.batch.Streams[i].Values)
			for _, index := range list {
				if index >= 0 {
					wanted[i][int(index)] = true
				}
			}
		}
	}
	if err = errors.Join(err, n.Close()); err != nil {
		return err
	}
	for i, m := range l.films {
		m.place = make([]int32, len(wanted[i]))
		for index, is := range wanted[i] {
			m.place[index] = noFrame
			if is {
				m.place[index] = int32(m.report.Wanted)
				m.report.Wanted++
			}
		}
		m.isKept = make([]bool, len(wanted[i]))
	}
	return nil
}

// keep chooses a camera's level, and allocates the memory for its frames.
func (l *Loader) keep(m *film, opt *Options) error {
	r := m.report
	need := m.bytes(m.count())
	m.level = FramesStreaming
	if opt.Keeper != nil {
		m.level, r.Left, r.Bytes = FramesOnDevice, m.count(), need
	}
	for _, level := range FrameLevels[:2] {
		onDevice := level == FramesOnDevice
		if opt.Keeper != nil || opt.FrameLevel != "" && opt.FrameLevel != level ||
			onDevice && opt.Unmade || opt.FrameLevel == "" && !onDevice && !opt.Unmade && l.device.Info().Backend == "cpu" {
			continue
		}
		free, alloc := tensor.Available(), l.device.AllocHost
		if onDevice {
			var err error
			if free, err = l.device.Free(); err != nil {
				return err
			}
			alloc = l.device.Alloc
		}
		room := free / frameShare
		if opt.FrameMemory > 0 {
			room = opt.FrameMemory
			for _, o := range l.films {
				if o != m && o.level == level {
					room -= o.report.Bytes
				}
			}
		}
		if opt.FrameLevel == "" && need > room {
			if r.Need == 0 {
				r.Need, r.Room = need, room
			}
			continue
		}
		t, err := alloc(tensor.U8, m.Stored(m.count())...)
		if err != nil {
			var memory *ops.MemoryError
			if opt.FrameLevel != "" || !errors.As(err, &memory) {
				return noRoomForFrames(m.Name, m.Stored(m.count()), 1, err)
			}
			if r.Need == 0 {
				r.Need, r.Room = need, free
			}
			continue
		}
		m.level, m.kept = level, t
		r.Left, r.Bytes = m.count(), need
		if l.closers.add(t); onDevice {
			l.report.Bytes += int(need)
			if !opt.Unfilled {
				if err := zero(l.device, t); err != nil {
					return err
				}
			}
		}
		break
	}
	r.Level = m.level
	places := make([]int64, m.numbers.values.Len())
	indexes, err := tensor.Data[float64](m.numbers.values)
	if err != nil {
		return err
	}
	for i, index := range indexes {
		places[i] = NoPlace
		if place := m.place[int(index)]; m.level == FramesOnDevice && place >= 0 {
			places[i] = int64(place)
		}
	}
	t, err := tensor.Of(places, len(places), 1)
	if err != nil {
		return err
	}
	m.places.values, err = bitsOf(t)
	return err
}

// samplesOf returns a frame's samples in numbers. There are several if the frame was recorded at several times.
func (m *film) samplesOf(index int) (list []int, err error) {
	indexes, err := tensor.Data[float64](m.numbers.values)
	if err != nil {
		return nil, err
	}
	e := m.episodeOf(index)
	for k := m.numbers.offsets[e]; k < m.numbers.offsets[e+1]; k++ {
		if int(indexes[k]) == index {
			list = append(list, int(k))
		}
	}
	return list, nil
}

// frameCopies returns how many batches have frames in memory.
func (l *Loader) frameCopies() int {
	if l.device.Info().Backend == "cpu" {
		return framesAhead + 2 // the batch itself, too
	}
	return framesAhead + 1
}

// planFilms plans the Fuse that selects each camera's places, and allocates a batch's frames and masks.
func (l *Loader) planFilms(ctx context.Context) error {
	for _, m := range l.films {
		b, t := l.order.Batch, len(m.places.deltas)
		out := &m.batch
		out.Name = m.Name
		shape := m.shape(b, t)
		for _, o := range []struct {
			to    **tensor.Tensor
			dtype tensor.DType
			shape []int
		}{
			{&out.Frames, m.DType, shape}, {&out.Valid, tensor.U8, []int{b, t, 1}}, {&out.Pad, tensor.U8, []int{b, t, 1}},
			{&out.Age, tensor.I64, []int{b, t, 1}}, {&m.selected, tensor.I64, []int{b, t, 1}},
		} {
			if o.to == &out.Age && !l.age || o.to == &out.Frames && l.isUnmade {
				continue
			}
			var err error
			if *o.to, err = l.alloc(o.dtype, o.shape...); err != nil {
				return noRoomForFrames(m.Name, shape, l.frameCopies(), err)
			}
		}
		values, err := bitsOf(m.selected)
		if err != nil {
			return err
		}
		g := &group{values: values, valid: out.Valid, pad: out.Pad, age: out.Age, shifts: []int64{0}}
		if err := l.planGroup(ctx, g, []*part{&m.places}, len(l.plans) > 0); err != nil {
			return err
		}
		for _, mask := range []**tensor.Tensor{&out.Valid, &out.Pad, &out.Age} {
			if *mask != nil {
				if *mask, err = (*mask).Reshape(b, t); err != nil {
					return err
				}
			}
		}
		if m.selected, err = m.selected.Reshape(b * t); err != nil {
			return err
		}
		l.batch.Cameras = append(l.batch.Cameras, m.batch)
	}
	return nil
}

// planFrames plans the launch that makes a batch's frames for a camera. stack holds stored frames, and selected the places in it.
func (l *Loader) planFrames(m *film, stack, selected *tensor.Tensor) (*ops.Plan, error) {
	launch := ops.LaunchDependent
	if stack != m.kept { // a copy comes before it
		launch = ops.LaunchDefault
	}
	plan, err := m.planFrames(l.device, m.batch.Frames, m.batch.Valid, StoredFrames{stack, selected, l.keys}, launch)
	if err == nil {
		l.closers.add(plan)
	}
	return plan, err
}

func (m *film) planFrames(on *ops.Device, dst, valid *tensor.Tensor, from StoredFrames, launch ops.LaunchMode) (*ops.Plan, error) {
	shape := dst.Shape()
	frames, err := dst.Reshape(append([]int{shape[0] * shape[1]}, shape[2:]...)...)
	if err != nil {
		return nil, err
	}
	if valid, err = valid.Reshape(shape[0] * shape[1]); err != nil {
		return nil, err
	}
	args := ops.FramesArgs{Dst: frames, Surfaces: m.surfaceOf(from.Frames), Select: from.Select, Valid: valid}
	if m.isRandom() {
		args.Keys = from.Keys
	}
	opt := m.options
	opt.Launch = launch
	return on.PlanFrames(args, opt)
}

// PlanFrames plans how a device makes a camera's frames and masks from a batch's stored frames, see Options.Unmade. dst is as BatchCamera.Frames
// with [Loader.FramesShape], and valid, which the plan reads and writes, as BatchCamera.Valid. The tensors have the same shapes as in the batch, but
// from.Frames has B*T frames.
func (l *Loader) PlanFrames(camera int, on *ops.Device, dst, valid *tensor.Tensor, from StoredFrames) (*ops.Plan, error) {
	return l.films[camera].planFrames(on, dst, valid, from, ops.LaunchDefault)
}

// FramesShape returns the dtype and shape of a camera's frames in a batch.
func (l *Loader) FramesShape(camera int) (tensor.DType, []int) {
	m := l.films[camera]
	return m.DType, m.shape(l.order.Batch, len(m.places.deltas))
}

// hasRandom reports whether a camera's frames depend on random choices.
func (l *Loader) hasRandom() bool {
	return slices.ContainsFunc(l.films, func(m *film) bool { return m.isRandom() })
}

// framesDevice returns the device that decodes and resizes frames.
func (l *Loader) framesDevice(opt *Options) *ops.Device {
	if opt.FramesOn != nil {
		return opt.FramesOn
	}
	return l.device
}

// FrameWorkers returns how many goroutines decode frames: Options.Workers, or more on a GPU.
func (l *Loader) FrameWorkers() int {
	if l.reel == nil {
		return 0
	}
	return len(l.reel.workers)
}
