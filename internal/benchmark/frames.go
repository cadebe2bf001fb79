package benchmark

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// FramesJob turns Frames pictures with Height x Width pixels in Format into images of To x To in Out, normalised as for ImageNet unless
// Out is u8. With Crop they are windows of the picture, else it is resized. With Jitter the colours and the side change at random. With
// Video each stream decodes Frames pictures, and resizes them unless To is 0. With Batches a loader draws Frames windows of one frame.
type FramesJob struct {
	Frames int    `json:"frames"`
	Format string `json:"format,omitempty"` // rgb, nv12, i420, p016 or i010
	Height int    `json:"height"`
	Width  int    `json:"width"`
	To     int    `json:"to"`
	Out    string `json:"out,omitempty"`    // u8, f16, bf16 or f32
	Resize string `json:"resize,omitempty"` // "" means antialias
	Float  bool   `json:"float,omitempty"`
	Crop   bool   `json:"crop,omitempty"`
	Jitter bool   `json:"jitter,omitempty"`
	Last   bool   `json:"last,omitempty"` // channels last

	Video   *VideoShape `json:"video,omitempty"`
	Batches string      `json:"batches,omitempty"` // resident, first or streaming: a loader makes them from the video
}

var framesSuite = suite{
	name: "frames", about: "decoded videos (a call is a frame); images from decoded pictures",
	jobs: func() []Job {
		var out []Job
		for _, dtype := range []string{"u8", "bf16", "f32"} {
			out = append(out, &FramesJob{Frames: 256, Format: "rgb", Height: 240, Width: 320, To: 224, Out: dtype, Crop: true})
		}
		out = append(out,
			&FramesJob{Frames: 256, Format: "rgb", Height: 224, Width: 224, To: 224, Out: "bf16", Crop: true},
			&FramesJob{Frames: 256, Format: "rgb", Height: 240, Width: 320, To: 224, Out: "bf16", Crop: true, Last: true},
			&FramesJob{Frames: 256, Format: "rgb", Height: 240, Width: 320, To: 224, Out: "bf16", Crop: true, Jitter: true},
			&FramesJob{Frames: 256, Format: "nv12", Height: 480, Width: 640, To: 224, Out: "u8", Last: true},
			&FramesJob{Frames: 256, Format: "nv12", Height: 480, Width: 640, To: 224, Out: "bf16"},
			&FramesJob{Frames: 256, Format: "nv12", Height: 480, Width: 640, To: 224, Out: "bf16", Float: true},
			&FramesJob{Frames: 256, Format: "nv12", Height: 480, Width: 640, To: 224, Out: "bf16", Resize: "nearest"},
			&FramesJob{Frames: 64, Format: "p016", Height: 1080, Width: 1920, To: 224, Out: "bf16"},
			&FramesJob{Frames: 256, Format: "i420", Height: 480, Width: 640, To: 480, Out: "u8", Crop: true},
		)
		return slices.Concat(out, videoJobs(), batchJobs())
	},
	empty: func() Job { return &FramesJob{} },
	random: func(rng *rand.Rand) Job {
		to := logUniform(rng, 8, 512)
		return &FramesJob{
			Frames: logUniform(rng, 1, 256), Format: frameFormats[rng.IntN(len(frameFormats))],
			Height: to + rng.IntN(256), Width: to + rng.IntN(256), To: to, Out: frameOuts[rng.IntN(len(frameOuts))],
			Crop: rng.IntN(2) == 0, Jitter: rng.IntN(4) == 0, Last: rng.IntN(2) == 0,
		}
	},
}

var (
	frameFormats = []string{"rgb", "nv12", "i420", "p016", "i010"}
	frameOuts    = []string{"u8", "f16", "bf16", "f32"}
)

func (j *FramesJob) Suite() string { return "frames" }

// Name returns the frames, the pictures, the steps and the output.
func (j *FramesJob) Name() string {
	from := j.Format
	if j.Video != nil {
		from = j.Video.String()
	}
	if j.Batches != "" {
		from = "windows, " + j.Batches + ", " + from
	}
	name := fmt.Sprintf("%d %s %dx%d", j.Frames, from, j.Height, j.Width)
	if j.To == 0 {
		return name
	}
	name += fmt.Sprintf("->%d %s", j.To, j.Out)
	if !j.Crop {
		name += " " + cmp.Or(j.Resize, "antialias")
	}
	for _, x := range []struct {
		on   bool
		name string
	}{{j.Float, "float"}, {j.Jitter, "jitter"}, {j.Last, "last"}} {
		if x.on {
			name += ", " + x.name
		}
	}
	return name
}

func (j *FramesJob) Keys() []Key {
	return keysOf("frames", j.Frames, "format", j.Format, "height", j.Height, "width", j.Width, "to", j.To, "out", j.Out,
		"crop", j.Crop, "jitter", j.Jitter, "last", j.Last)
}

func (j *FramesJob) check() error {
	if v := j.Video; v != nil {
		if j.Batches != "" {
			if !slices.Contains(batchKinds, j.Batches) {
				return &InputError{"batches", fmt.Sprintf("%q", j.Batches), fmt.Sprintf("one of %v", batchKinds)}
			}
			return errors.Join(v.check(), within("frames", j.Frames, 1, j.count()*batchEpisodes), within("to", j.To, 1, 240))
		}
		if j.Format != "" || j.Crop || j.To != 0 && j.Out != "u8" {
			return &InputError{"video", "a format, a crop or an output of floats", "decoded pictures, as they are or resized to u8"}
		}
		return errors.Join(v.check(), within("frames", j.Frames, 1, j.count()), within("to", j.To, 0, 1<<12),
			within("height", j.Height, 16, 1<<13), within("width", j.Width, 16, 1<<13))
	}
	least := 1
	if j.Crop {
		least = j.To
	}
	switch {
	case !slices.Contains(frameFormats, j.Format):
		return &InputError{"format", fmt.Sprintf("%q", j.Format), fmt.Sprintf("one of %v", frameFormats)}
	case !slices.Contains(frameOuts, j.Out):
		return &InputError{"out", fmt.Sprintf("%q", j.Out), fmt.Sprintf("one of %v", frameOuts)}
	case j.Resize != "" && !slices.Contains(ops.ResizeAntialias.Names(), j.Resize):
		return &InputError{"resize", fmt.Sprintf("%q", j.Resize), fmt.Sprintf("one of %v", ops.ResizeAntialias.Names())}
	}
	return errors.Join(within("frames", j.Frames, 1, 1<<16), within("to", j.To, 1, 1<<12),
		within("height", j.Height, least, 1<<13), within("width", j.Width, least, 1<<13))
}

func (j *FramesJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	switch {
	case j.Batches != "":
		return j.prepareBatches(r)
	case j.Video != nil:
		return j.prepareVideo(r)
	}
	dtype, err := tensor.ParseDType(j.Out)
	if err != nil {
		return nil, err
	}
	n, pixels := int64(j.Frames), int64(j.Height*j.Width)
	if j.Crop {
		pixels = int64(j.To * j.To)
	}
	format := ops.FrameFormat(slices.Index(ops.FrameRGB.Names(), j.Format))
	// Read: the samples of the rectangle, with a quarter of the chroma's. Written: the images.
	w := &work{limit: true, written: n * int64(3*j.To*j.To*dtype.Size())}
	for p, bytes := range format.Planes() {
		read := n * pixels * int64(bytes)
		if p > 0 {
			read /= 4
		}
		w.read += read
	}
	w.sets = r.sets(w.read + w.written)
	if err := j.plan(r, w, format, dtype); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// plan adds random pictures, the images and a plan for each set to the work.
func (j *FramesJob) plan(r *rig, w *work, format ops.FrameFormat, dtype tensor.DType) error {
	rng := rand.New(rand.NewPCG(seed, 11))
	var planes [3]*tensor.Tensor
	for p := range format.Planes() {
		host, err := tensor.New(tensor.U8, append([]int{j.Frames}, format.PlaneShape(p, j.Height, j.Width)...)...)
		if err != nil {
			return err
		}
		samples, err := tensor.Data[uint8](host)
		if err != nil {
			return err
		}
		for i := range samples {
			samples[i] = uint8(rng.Uint32())
		}
		if planes[p], err = r.put(w, host, nil); err != nil {
			return err
		}
	}
	keys, err := tensor.Of([]int64{0, 1}, 1, 2)
	if keys, err = r.put(w, keys, err); err != nil {
		return err
	}
	opts, err := j.options(dtype)
	if err != nil {
		return err
	}
	opts.Launch = r.opt.Launch
	shape := []int{w.sets, j.Frames, 3, j.To, j.To}
	if j.Last {
		shape = []int{w.sets, j.Frames, j.To, j.To, 3}
	}
	dst, err := r.alloc(w, dtype, shape...)
	if err != nil {
		return err
	}
	w.outputs = append(w.outputs, dst)
	return r.plans(w, func(i int) (*ops.Plan, error) {
		s := ops.FrameSurface{Format: format}
		for p := range format.Planes() {
			s.Planes[p] = at(planes[p], i)
		}
		return r.dev.PlanFrames(ops.FramesArgs{Dst: at(dst, i), Surfaces: []ops.FrameSurface{s}, Keys: at(keys, i)}, opts)
	})
}

func (j *FramesJob) options(dtype tensor.DType) (o ops.FramesOptions, err error) {
	if dtype != tensor.U8 {
		o, err = ops.FramesPreset("imagenet")
	}
	o.Float, o.Seed, o.PerFrame = j.Float, seed, true
	o.Resize = ops.FrameResize(max(slices.Index(ops.ResizeAntialias.Names(), j.Resize), 0))
	if j.Last {
		o.Layout = ops.LayoutHWC
	}
	if j.Crop {
		o.Crop = ops.CropRandom
	}
	if j.Jitter {
		o.FlipX, o.Brightness, o.Contrast, o.Saturation = 0.5, 0.2, 0.2, 0.2
	}
	return o, err
}
