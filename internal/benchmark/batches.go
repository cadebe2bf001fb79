package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// Values of FramesJob.Batches.
const (
	batchesResident  = "resident"  // all frames are on the device before the first batch
	batchesFirst     = "first"     // an epoch in which all frames are decoded
	batchesStreaming = "streaming" // each batch's frames are decoded
)

var batchKinds = []string{batchesResident, batchesFirst, batchesStreaming}

// batchJobs returns jobs that draw batches from a dataset with a camera: windows with one random frame each.
func batchJobs() []Job {
	var out []Job
	job := func(codec string, gop int, kind string) {
		out = append(out, &FramesJob{
			Frames: 256, Height: 480, Width: 640, To: 224, Out: "bf16", Crop: true, Batches: kind,
			Video: &VideoShape{Codec: codec, GOP: gop, Bytes: 5000, Streams: 28, Random: true},
		})
	}
	job("hevc", 2, batchesResident)
	for _, gop := range []int{2, 8} {
		job("hevc", gop, batchesFirst)
		job("hevc", gop, batchesStreaming)
	}
	job("av1", 2, batchesFirst)
	return out
}

// filmed is a dataset with a camera. Each episode has the whole video.
type filmed struct {
	track    *mp4.Track
	episodes int
}

func (d *filmed) Name() string       { return "filmed" }
func (d *filmed) Format() string     { return "benchmark" }
func (d *filmed) Info() dataset.Info { return dataset.Info{} }
func (d *filmed) Len() int           { return d.episodes }
func (d *filmed) Close() error       { return nil }

func (d *filmed) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	n := d.track.Len()
	times, values := make([]int64, n), make([]float32, n)
	for k := range times {
		times[k], values[k] = int64(math.Round(float64(k)*1e9/30)), float32(k)
	}
	v, err := tensor.Of(values, n, 1)
	if err != nil {
		return nil, err
	}
	s, err := dataset.NewStream("state", times, v, nil)
	return &dataset.Episode{
		Name: fmt.Sprint(i), Streams: []dataset.Stream{s},
		Media: []dataset.Media{{Name: "camera", Encoding: d.track.Codec, Times: times, Source: d.track}},
	}, err
}

// batchEpisodes is how many episodes the dataset has.
const batchEpisodes = 32

// prepareBatches prepares a job with batches.
func (j *FramesJob) prepareBatches(r *rig) (*work, error) {
	if r.queue == nil {
		return nil, &skipped{"it is a job of a GPU"}
	}
	w := &work{sets: 1, own: true, per: j.Frames}
	track, err := j.track(r, w)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	d := &filmed{track, batchEpisodes}
	open := func() (*loader.Loader, error) {
		ctx := context.Background()
		built, err := store.Build(ctx, d, store.BuildOptions{})
		if err != nil {
			return nil, err
		}
		camera := loader.Camera{
			Name: "camera", Height: j.To, Width: j.To, StoredHeight: 240, StoredWidth: 320, Crop: "random", Layout: "CHW", Normalise: "imagenet",
		}
		if camera.DType, err = tensor.ParseDType(j.Out); err != nil {
			return nil, err
		}
		opt := loader.Options{
			Batch: j.Frames, Seed: seed, Cameras: []loader.Camera{camera}, FrameLevel: loader.FramesOnDevice, Workers: j.Video.Streams,
		}
		if j.Batches == batchesStreaming {
			opt.FrameLevel = loader.FramesStreaming
		}
		return loader.New(ctx, r.dev, built, align.Plan{Rate: 30}, opt)
	}
	if j.Batches == batchesFirst {
		w.per = track.Len() * d.episodes / j.Frames * j.Frames
		w.run = func(int) error {
			l, err := open()
			if err != nil {
				return err
			}
			for _, err = range l.Epoch(context.Background()) {
				if err != nil {
					break
				}
			}
			return errors.Join(err, l.Close())
		}
		return w, nil
	}
	l, err := open()
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	w.later(l.Close)
	if j.Batches == batchesResident {
		if err := l.Fill(context.Background()); err != nil {
			return nil, errors.Join(err, w.close())
		}
		g, err := l.Capture(r.stream)
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.later(g.Close)
		w.own, w.direct, w.run = false, true, func(int) error { return g.Launch(r.stream) }
		return w, nil
	}
	w.run = func(int) error { return l.Next(context.Background()) }
	w.floor, w.how = j.randomFrames(track, r.dev.Name(), w.per), "the decoding alone"
	return w, nil
}

// randomFrames returns work that only decodes n random frames, in the job's streams.
func (j *FramesJob) randomFrames(track *mp4.Track, device string, n int) *work {
	var next, started atomic.Int64
	return &work{sets: 1, own: true, per: n, run: func(int) error {
		end := started.Add(int64(n))
		errs := make(chan error, j.Video.Streams)
		for range j.Video.Streams {
			go func() {
				var err error
				for at := next.Add(1); at <= end && err == nil; at = next.Add(1) {
					frame := int(at*7919) % track.Len()
					err = track.Planes(context.Background(), []int{frame}, device, func(_ int64, p *video.Planes, err error) error { return err })
				}
				errs <- err
			}()
		}
		var err error
		for range j.Video.Streams {
			if failed := <-errs; err == nil { // all streams fail alike
				err = failed
			}
		}
		next.Store(end)
		return err
	}}
}
