package main

import (
	"context"
	"fmt"
	"io"

	"github.com/robocache/robocache/ops"
)

const streamingHelp = `--streaming reads the dataset while batches are drawn, and keeps but a small part of it on the device:
for datasets that are larger than the device's memory, or the machine's. It takes windows from
--mix-shards shards at a time, each --shard-windows windows that follow each other, in a shuffled
order; --workers goroutines read the shards that come next. A store that robocache pack has made is
read as fast as the disk gives it; recordings are decoded anew in each epoch, and without --plan and
--stream the streams are those of the first one. With the same two numbers the batches are the same
without --streaming. Each rank reads all shards.`

// load makes a loader on each device.
func (d *drawing) load(ctx context.Context, devices []*ops.Device) error {
	plan, err := d.source.Plan(ctx)
	if err != nil {
		return err
	}
	d.out.Hz = plan.Rate
	d.Rank, d.Ranks = d.number*d.devices, d.world*d.devices
	if d.group, err = d.source.Make(ctx, devices, plan); err != nil {
		return err
	}
	d.l, d.run = d.group.Loaders()[0], d.runOf(&plan)
	return nil
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
	d.out.of(d.source.Stores, d.group)
	if d.Streaming {
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

// write says in words what was read.
func (r *reading) write(w io.Writer) {
	if r == nil || r.Seconds+r.Waited == 0 {
		return
	}
	fmt.Fprintf(w, "read %d shards, %.1f MiB; readers waited for free slots %.0f %% of their time\n", r.Shards, float64(r.Bytes)/(1<<20), 100*r.Waited/(r.Seconds+r.Waited))
}
