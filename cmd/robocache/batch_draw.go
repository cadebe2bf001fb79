package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// over reports whether no batch is left to draw after a state: it is at the end of the last epoch, or later.
func (d *drawing) over(s loader.State) bool {
	return s.Epoch >= int64(d.epochs) || s.Epoch == int64(d.epochs)-1 && d.l.EpochEnds(s)
}

// draw draws all batches, or stops after the current batch if a signal comes.
func (d *drawing) draw() error {
	if err := d.statistics(); err != nil {
		return err
	}
	if d.shards != nil {
		if err := d.describe(); err != nil {
			return err
		}
	}
	ctx, ended, stop := d.app.UntilCut(0)
	defer stop()
	ctx = context.WithoutCancel(ctx)
	state, err := d.group.State(ctx)
	if err != nil {
		return err
	}
	d.saved = state
	d.publish(state)
	if d.state != "" && d.world > 1 { // the rank that starts later finds the state of the other
		if err := errors.Join(d.keep(state), d.compare(d.l)); err != nil {
			return err
		}
	}
	if d.over(state) {
		d.remark("all-drawn", "nothing is left to draw: %s has all of %s", d.state, text.Count(d.epochs, "epoch"))
	}
	bar := d.app.Rating("drawing batches", d.left(state), "windows")
	defer bar.Done()
	begin := time.Now()
	for !d.over(state) && (d.steps == 0 || d.out.Steps < d.steps) {
		if d.out.Ended = ended(); d.out.Ended {
			break
		}
		drawn := d.out.Drawn
		if state, err = d.batchAfter(ctx, state); err != nil {
			return err
		}
		bar.Add(d.out.Drawn - drawn)
		d.out.Seconds = time.Since(begin).Seconds()
		d.publish(state)
	}
	if err := d.lastShard(&state); err != nil {
		return err
	}
	d.out.Rate = float64(d.out.Drawn) / max(d.out.Seconds, 1e-9)
	d.out.Bound, d.out.State = boundBy(d.out.shares()), state
	d.ended()
	return nil
}

// keep writes the state file.
func (d *drawing) keep(s loader.State) error {
	shard := int64(0)
	if d.shards != nil {
		shard = d.shards.next
	}
	d.saved = s
	return d.save(s, d.step, shard, d.begun)
}

// lastShard closes the last shard, which may not be full. After a signal with --state it drops the shard and resets the state to
// the shard's start, because the state file has that state.
func (d *drawing) lastShard(s *loader.State) error {
	switch {
	case d.shards == nil || d.shards.open == nil:
		return nil
	case !d.out.Ended || d.state == "":
		if err := d.shards.end(); err != nil {
			return err
		}
		return d.keep(*s)
	}
	d.remark("batches-left-out", "%d batches in an unfinished shard are left out: a run that resumes from %s draws them again", d.shards.filled, d.state)
	d.step -= int64(d.shards.filled)
	d.shards.drop()
	*s = d.saved
	return nil
}

// left estimates how many windows are left to draw.
func (d *drawing) left(s loader.State) int {
	r := d.l.Report()
	if d.over(s) {
		return 0
	}
	batches := (d.epochs-int(s.Epoch))*r.Batches - int(s.Taken)/(d.Batch*d.devices*d.world)
	if d.steps > 0 {
		batches = min(batches, d.steps)
	}
	return batches * d.Batch * d.devices
}

// batchAfter draws the step after a state, one batch on each device. It writes the outputs and then the state file, and returns the new
// state.
func (d *drawing) batchAfter(ctx context.Context, state loader.State) (loader.State, error) {
	at, begin := time.Now(), d.l.Begin(state)
	if err := d.group.Next(ctx); err != nil {
		return state, d.Unreadable(err)
	}
	since(&at, &d.out.Compute)
	d.out.waits(d.group.Waits())
	host := make([]*loader.Batch, d.devices)
	var err error
	for i, b := range d.group.Batch() {
		if host[i], err = b.Host(ctx); err != nil {
			return state, err
		}
	}
	if state, err = d.group.State(ctx); err != nil {
		return state, err
	}
	since(&at, &d.out.Copy)
	for _, b := range host {
		if err := d.out.count(b); err != nil {
			return state, err
		}
	}
	if d.l.EpochEnds(state) {
		for p := state.Taken; p < int64(state.Windows); p++ {
			e, _ := d.l.At(state.Epoch, p)
			d.out.ByEpisode[e].Dropped++
			d.out.Undrawn++
		}
	}
	line, err := d.line(host)
	if err != nil {
		return state, err
	}
	since(&at, &d.out.Count)
	for i, b := range host {
		if err := d.file(d.l, b, begin, d.step, i); err != nil {
			return state, err
		}
	}
	whole := true // the batches are in a complete file
	if d.shards != nil {
		if whole, err = d.shards.add(ctx, d.l, host, func(device int) batchIndex { return d.index(begin, d.step, device) }); err != nil {
			return state, err
		}
	}
	if _, err := d.app.Out.Write(line); err != nil {
		return state, err
	}
	d.step++
	d.out.Steps++
	if whole {
		err = d.keep(state)
		if !d.met && d.state == "" && d.world > 1 { // if ranks began at the same time, one finds the other's first batch
			d.met = true
			err = errors.Join(err, d.earlier(state, false))
		}
	}
	since(&at, &d.out.Write)
	return state, err
}

// line returns the --digest line for a step: its number and the hashes of its windows, sorted by position. It returns nil without
// --digest.
func (d *drawing) line(host []*loader.Batch) ([]byte, error) {
	if !d.digest {
		return nil, nil
	}
	line := strconv.AppendInt(nil, d.step, 10)
	for row := range d.Batch {
		for _, b := range host {
			episodes, err := tensor.Data[int64](b.Episodes)
			if err != nil {
				return nil, err
			}
			if episodes[row] < 0 {
				continue
			}
			hash, err := b.Digest(row)
			if err != nil {
				return nil, err
			}
			line = fmt.Appendf(line, " %016x", hash)
		}
	}
	return append(line, '\n'), nil
}

// drew prints the report of the command batches.
func (d *drawing) drew() error {
	a, out := d.app, d.out
	if a.JSON {
		return a.WriteJSON(schema.Batches, out)
	}
	if d.digest {
		return nil
	}
	var b bytes.Buffer
	if d.episodes {
		w := text.NewTable(a.Out, tabwriter.AlignRight)
		fmt.Fprintf(w, "number\tepisode\twindows\tdrawn\tdropped\tpadded\tinvalid\t\n")
		for _, e := range out.ByEpisode {
			fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t\n", e.Number, printed.Text(e.Name), e.Windows, e.Drawn, e.Dropped, e.Padded, e.Invalid)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "%d windows per epoch in %s, %d batches, %d dropped, %d rows missing; %.1f MiB on %s\n",
		out.Windows, episodes(out.Episodes), out.Batches, out.Dropped, out.Missing, float64(out.Bytes)/(1<<20), out.on())
	fmt.Fprintf(&b, "drew %d windows in %d steps, %.0f a second; %d targets padded, %d not valid; read in %.2f s\n", out.Drawn, out.Steps, out.Rate, out.Padded, out.Invalid, out.Read)
	out.writeMixture(&b)
	for _, c := range out.Cameras {
		writeCamera(&b, &c)
	}
	if out.Bound != "" {
		fmt.Fprintf(&b, "%s\n", out.Bound)
	}
	out.Reading.write(&b)
	_, err := a.Out.Write(b.Bytes())
	return err
}

// writeCamera writes where a camera's frames are kept, and what a better level needs.
func writeCamera(b *bytes.Buffer, c *loader.CameraReport) {
	const mib = 1 << 20
	if c.Level == loader.FramesStreaming {
		fmt.Fprintf(b, "camera %s: frames are decoded for each batch, %d so far", printed.Text(c.Name), c.Decoded)
	} else {
		fmt.Fprintf(b, "camera %s: frames are kept, level %s, %.1f MiB; %d decoded, %d of %d left", printed.Text(c.Name), c.Level, float64(c.Bytes)/mib, c.Decoded, c.Left, c.Wanted)
	}
	if c.YUV420Mean != nil {
		fmt.Fprintf(b, "; as yuv420, which differs from rgb by %.2f in the mean, %d at most", *c.YUV420Mean, *c.YUV420Most)
	}
	if c.Need > 0 {
		fmt.Fprintf(b, "; the next better level needs %.1f MiB, and may take %.1f", float64(c.Need)/mib, float64(c.Room)/mib)
	}
	b.WriteByte('\n')
}
