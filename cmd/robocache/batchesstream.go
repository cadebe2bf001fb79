package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// streaming are the flags of batches that say how what does not fit the device is read meanwhile.
type streaming struct {
	on                               bool
	workers, shardWindows, mixShards int
}

const streamingHelp = `--streaming reads the dataset while batches are drawn, and keeps but a small part of it on the device:
for datasets that are larger than the device's memory, or the machine's. It takes windows from
--mix-shards shards at a time, each --shard-windows windows that follow each other, in a shuffled
order; --workers goroutines read the shards that come next. A store that robocache pack has made is
read as fast as the disk gives it; recordings are decoded anew in each epoch, and without --plan and
--stream the streams are those of the first one. With the same two numbers the batches are the same
without --streaming. Each rank reads all shards.`

// shards says that the order is one of shards.
func (s *streaming) shards() bool { return s.on || s.shardWindows != 0 || s.mixShards != 0 }

// options adds to those of the loader.
func (s *streaming) options(o loader.Options) loader.Options {
	o.Workers, o.ShardWindows, o.MixShards = s.workers, s.shardWindows, s.mixShards
	return o
}

// load makes a loader on each device.
func (d *drawing) load(ctx context.Context, devices []*ops.Device) error {
	plan, err := d.plan(ctx)
	if err != nil {
		return err
	}
	d.out.Hz = plan.Rate
	opt := d.streaming.options(loader.Options{Batch: d.batch, Seed: d.seed, Rank: d.number * d.devices, Ranks: d.world * d.devices, Last: d.last.value, DType: d.values.value, Strict: d.strict,
		EpochWindows: d.mixing.windows, Cameras: d.cameras})
	what := "putting the store on " + d.out.on()
	if d.streaming.on {
		what = "looking at the episodes"
	}
	done := d.app.step(what)
	d.group, err = loader.NewGroup(devices, opt, func(device *ops.Device, opt loader.Options) (*loader.Loader, error) {
		if d.streaming.on {
			return loader.NewStreaming(ctx, device, d.data, plan, opt)
		}
		return loader.NewMixture(ctx, device, d.weighted(), plan, opt)
	})
	done()
	if err != nil {
		return d.explain(err)
	}
	d.l, d.run = d.group.Loaders()[0], d.runOf(&plan)
	return nil
}

// noRoom says which flags need less memory than there is; err itself where they do not matter.
func (b *batching) noRoom(err error) error {
	var room *loader.RoomError
	var memory *ops.MemoryError
	var frames *loader.FramesError
	switch {
	case errors.As(err, &frames): // which the dataset's size does not change
		return fmt.Errorf("--camera: %w", err)
	case errors.As(err, &room) && room.FitMix > 0:
		return fmt.Errorf("%w; want --mix-shards %d and --shard-windows %d, which are another order", err, room.FitMix, room.FitWindows)
	case errors.As(err, &memory) && !b.streaming.on:
		return fmt.Errorf("%w; --streaming keeps a small part of the dataset there and reads the rest meanwhile", err)
	}
	return err
}

// names returns those of the streams: of a dataset that is no store those of the first episode that can be read.
func (d *drawing) names(ctx context.Context) (names []string, err error) {
	if d.store != nil {
		for _, s := range d.store.Streams {
			names = append(names, s.Name)
		}
		return names, nil
	}
	for e, failed := range dataset.Episodes(ctx, d.data) {
		if failed == nil {
			return e.Names(), nil
		}
		err = errors.Join(err, failed)
	}
	return nil, readError(d.path, err)
}

// reading is what is said of a loader that reads meanwhile.
type reading struct {
	Shards  int64   `json:"shards"` // that were read
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`              // of all workers, reading
	Waited  float64 `json:"slots_waited_seconds"` // of all workers, for a slot on the device
}

// ended takes up what was read so far, and what could not be.
func (d *drawing) ended() {
	d.out.of(d.stores, d.group)
	if d.streaming.on {
		w := d.group.Waits()
		d.out.Reading = &reading{w.Read, w.Bytes, w.Reading.Seconds(), w.Slots.Seconds()}
		if n := d.out.Streaming.Unread; n > 0 {
			d.remark("%d windows were given as rows without one: their episodes could not be read again", n)
		}
	}
	for _, c := range d.out.Cameras {
		if c.Bad > 0 {
			d.remark("camera %s: %d frames could not be decoded, the first: %s", c.Name, c.Bad, c.FirstBad)
		}
	}
}

// unreadable says that an error is one of the dataset, where it is.
func (b *batching) unreadable(err error) error {
	var episode *dataset.EpisodeError
	if errors.As(err, &episode) {
		return &inputError{Path: b.path, Err: err}
	}
	return err
}

// write says in words what was read.
func (r *reading) write(w io.Writer) {
	if r == nil || r.Seconds+r.Waited == 0 {
		return
	}
	fmt.Fprintf(w, "read %d shards, %.1f MiB; readers waited for free slots %.0f %% of their time\n", r.Shards, float64(r.Bytes)/(1<<20), 100*r.Waited/(r.Seconds+r.Waited))
}
