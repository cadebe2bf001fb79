package benchmark

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// VideoShape describes a video with noise, which ffmpeg encodes, and how it is decoded. Several streams decode the same video at once.
type VideoShape struct {
	Codec   string `json:"codec"` // h264, hevc or av1
	GOP     int    `json:"gop"`   // frames from one key frame to the next
	Bytes   int    `json:"bytes"` // per frame, on average
	Streams int    `json:"streams"`
	Random  bool   `json:"random,omitempty"` // single frames in random order
}

// videoJobs decodes videos, and resizes their frames.
func videoJobs() []Job {
	var out []Job
	for _, v := range []VideoShape{{Codec: "hevc", GOP: 2}, {Codec: "hevc", GOP: 8}, {Codec: "hevc", GOP: 250}, {Codec: "h264", GOP: 8}} {
		for _, v.Bytes = range []int{5000, 25_000} {
			for _, v.Random = range []bool{false, true} {
				job := FramesJob{Frames: 240, Height: 480, Width: 640, Video: &VideoShape{v.Codec, v.GOP, v.Bytes, 28, v.Random}}
				if v.Random { // more streams keep the engines busy while some seek
					job.Frames, job.Video.Streams = max(48/v.GOP, 2), 42
				}
				out = append(out, &job)
				if !v.Random {
					resized := job
					resized.To, resized.Out, resized.Last = 224, "u8", true
					out = append(out, &resized)
				}
			}
		}
	}
	// One stream, which the CPU decodes too.
	for _, v := range []VideoShape{
		{Codec: "hevc", GOP: 2}, {Codec: "h264", GOP: 8}, {Codec: "av1", GOP: 2}, {Codec: "av1", GOP: 2, Random: true},
	} {
		v.Bytes, v.Streams = 5000, 1
		out = append(out, &FramesJob{Frames: 48, Height: 480, Width: 640, Video: &v})
	}
	return out
}

func (v *VideoShape) String() string {
	order := "in order"
	if v.Random {
		order = "at random"
	}
	return fmt.Sprintf("%s g=%d, %d kB a frame, %s, streams: %d,", v.Codec, v.GOP, v.Bytes/1000, order, v.Streams)
}

func (v *VideoShape) check() error {
	if _, there := encoders[v.Codec]; !there {
		return &InputError{"codec", fmt.Sprintf("%q", v.Codec), "h264, hevc or av1"}
	}
	return errors.Join(within("gop", v.GOP, 1, 1000), within("bytes", v.Bytes, 100, 1<<20), within("streams", v.Streams, 1, 1000))
}

// encoders has ffmpeg's arguments for a codec. %d is the distance between key frames.
var encoders = map[string]string{
	"h264": "-c:v libx264 -preset veryfast -x264-params keyint=%d:scenecut=0:bframes=0",
	"hevc": "-c:v libx265 -preset veryfast -tag:v hvc1 -x265-params log-level=error:keyint=%d:scenecut=0:bframes=0",
	"av1":  "-c:v libsvtav1 -preset 10 -g %d",
}

// track opens the job's video in the folder for videos, and encodes it if it is missing.
func (j *FramesJob) track(r *rig, w *work) (*mp4.Track, error) {
	if r.opt.Videos == "" {
		var err error
		if r.temporary, err = os.MkdirTemp("", "robocache-bench-"); err != nil {
			return nil, err
		}
		r.opt.Videos = r.temporary
	}
	if err := os.MkdirAll(r.opt.Videos, 0o777); err != nil {
		return nil, err
	}
	v := j.Video
	path := filepath.Join(r.opt.Videos, fmt.Sprintf("%s-%d-%d-%dx%d.mp4", v.Codec, v.GOP, v.Bytes, j.Height, j.Width))
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		args := fmt.Sprintf("-v error -y -f lavfi -i testsrc2=size=%dx%d:rate=30 -vf noise=alls=8:allf=t ", j.Width, j.Height)
		args += fmt.Sprintf("-frames:v %d -pix_fmt yuv420p -b:v %d "+encoders[v.Codec], j.count(), v.Bytes*8*30, v.GOP)
		program, err := exec.LookPath(cmp.Or(os.Getenv("ROBOCACHE_FFMPEG"), "ffmpeg"))
		if err != nil {
			return nil, &skipped{"got no program ffmpeg, which makes its video, want it in PATH, or its path in ROBOCACHE_FFMPEG, or the video in --videos"}
		}
		part, err := os.CreateTemp(r.opt.Videos, filepath.Base(path)+".*.part")
		if err != nil {
			return nil, err
		}
		defer os.Remove(part.Name())
		if err := part.Close(); err != nil {
			return nil, err
		}
		out, err := exec.CommandContext(r.ctx, program, append(strings.Fields(args), "-f", "mp4", part.Name())...).CombinedOutput()
		if r.ctx.Err() != nil {
			return nil, r.ctx.Err()
		}
		if err != nil {
			return nil, &skipped{fmt.Sprintf("ffmpeg did not encode its video: %v %s", err, bytes.TrimSpace(out))}
		}
		if err := os.Rename(part.Name(), path); err != nil {
			return nil, err
		}
	}
	f, err := mp4.Open(path)
	if err != nil {
		return nil, err
	}
	w.later(f.Close)
	return f.Video()
}

// count returns how many frames the job's video has.
func (j *FramesJob) count() int { return max(240, j.Video.GOP) }

// prepareVideo prepares a job with a video.
func (j *FramesJob) prepareVideo(r *rig) (*work, error) {
	if r.queue == nil && (j.To > 0 || j.Video.Streams > 1) {
		return nil, &skipped{"it is a job of a GPU"}
	}
	w := &work{sets: 1, own: true, per: j.Frames * j.Video.Streams}
	track, err := j.track(r, w)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	device := ""
	if r.queue != nil {
		device = r.dev.Name()
	}
	var resizers []*resizer
	var mu sync.Mutex
	for range j.Video.Streams {
		s := &resizer{job: j, rig: r, work: w, mu: &mu}
		if device != "" {
			if s.queue, err = r.dev.NewQueue(); err != nil {
				return nil, errors.Join(err, w.close())
			}
			w.later(s.queue.Close)
		}
		resizers = append(resizers, s)
	}
	order := rand.New(rand.NewPCG(seed, 3)).Perm(track.Len())
	var next atomic.Int64
	decode := func(s *resizer, show video.Show) error {
		if !j.Video.Random {
			return track.Planes(context.Background(), video.Numbers(0, j.Frames), device, show)
		}
		for range j.Frames {
			at := order[int(next.Add(1))%len(order)]
			if err := track.Planes(context.Background(), []int{at}, device, show); err != nil {
				return err
			}
		}
		return nil
	}
	together := func(one func(s *resizer) error) func(int) error {
		return func(int) error {
			errs := make(chan error, len(resizers))
			for _, s := range resizers {
				go func() { errs <- one(s) }()
			}
			var err error
			for range resizers {
				err = errors.Join(err, <-errs)
			}
			return err
		}
	}
	alone := together(func(s *resizer) error {
		return decode(s, func(_ int64, p *video.Planes, err error) error { return j.decoded(p, err) })
	})
	if j.To == 0 {
		w.run = alone
		return w, nil
	}
	w.floor, w.how = &work{sets: 1, own: true, per: w.per, run: alone}, "the decoding alone"
	w.run = together(func(s *resizer) error { return errors.Join(decode(s, s.add), s.run()) })
	return w, nil
}

// decoded returns an error if a picture is absent, or not on the GPU where the job needs it.
func (j *FramesJob) decoded(p *video.Planes, err error) error {
	if err == nil && p.Memory == nil && (j.To > 0 || j.Video.Streams > 1) {
		err = &skipped{"the GPU does not decode the job's number of streams of the video"}
	}
	return err
}

// resizer resizes decoded pictures in batches.
type resizer struct {
	job    *FramesJob
	rig    *rig
	work   *work
	mu     *sync.Mutex // guards work
	queue  *ops.Queue
	stack  *tensor.Tensor // u8 [stackSize,rows,pitch]
	plan   *ops.Plan
	filled int
}

const stackSize = 16

// add copies a picture into the stack, and resizes a full stack.
func (s *resizer) add(_ int64, p *video.Planes, err error) error {
	if err := s.job.decoded(p, err); err != nil {
		return err
	}
	pitch := p.Stride[0]
	rows := int(p.Memory.Size()) / pitch
	if s.stack == nil {
		if err := s.begin(p, rows, pitch); err != nil {
			return err
		}
	}
	picture, err := tensor.OnDevice(p.Memory, tensor.U8, rows, pitch)
	if err != nil {
		return err
	}
	if err := s.queue.Copy(at(s.stack, s.filled), picture); err != nil {
		return err
	}
	if err := s.queue.Synchronize(context.Background()); err != nil {
		return err
	}
	if s.filled++; s.filled < stackSize {
		return nil
	}
	s.filled = 0
	return s.plan.Run(s.queue)
}

// begin allocates the stack, and a plan for pictures with p's format.
func (s *resizer) begin(p *video.Planes, rows, pitch int) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stack, err = s.rig.alloc(s.work, tensor.U8, stackSize, rows, pitch); err != nil {
		return err
	}
	dst, err := s.rig.alloc(s.work, tensor.U8, stackSize, s.job.To, s.job.To, 3)
	if err != nil {
		return err
	}
	surface := ops.FrameSurface{Format: ops.FrameNV12, Full: p.FullRange}
	strides := []int{rows * pitch, pitch, 1}
	if surface.Planes[0], err = s.stack.AsStrided([]int{stackSize, p.Height, p.Width}, strides, p.Start[0]); err != nil {
		return err
	}
	shape := []int{stackSize, p.Height / 2, p.Width / 2, 2}
	if surface.Planes[1], err = s.stack.AsStrided(shape, []int{rows * pitch, pitch, 2, 1}, p.Start[1]); err != nil {
		return err
	}
	args := ops.FramesArgs{Dst: dst, Surfaces: []ops.FrameSurface{surface}}
	s.plan, err = s.rig.dev.PlanFrames(args, ops.FramesOptions{Layout: ops.LayoutHWC})
	if err == nil {
		s.work.later(s.plan.Close)
	}
	return err
}

// run resizes the remaining pictures in the stack, and waits.
func (s *resizer) run() error {
	if s.filled > 0 {
		if err := s.plan.Run(s.queue); err != nil {
			return err
		}
	}
	s.filled = 0
	return s.queue.Synchronize(context.Background())
}
