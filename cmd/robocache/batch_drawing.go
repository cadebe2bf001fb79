package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/dataset/webdataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// drawing is a running batches command.
type drawing struct {
	*asking
	app    *app
	source *batching.Source
	group  *loader.Group
	l      *loader.Loader // the group's first; all have the same order and episodes
	meter  *meter         // nil without --metrics
	shards *shards        // nil if no samples are written
	begun  spot           // where this program and its other ranks started
	step   int64          // number of the next batch
	met    bool           // whether the other ranks' first batches were compared with this one's
	saved  loader.State   // the state in the state file, or where this program started
	out    *batched
}

// remark adds the command's note to the report, and prints it.
func (d *drawing) remark(code dataset.Code, format string, args ...any) {
	d.out.remark(code, format, args...)
	d.out.print(d.app)
}

// remarks prints the notes about data that is not drawn from. The JSON report has all of them in lists.
func (d *drawing) remarks() {
	list := func(what string, groups []dataset.Notes) {
		for i := range groups {
			if i == inspection.MostRemarks {
				d.app.Remark("%s: %d reasons more", what, len(groups)-i)
				break
			}
			d.app.Remark("%s: episode %s: %s", what, groups[i].Who(), notetext.Text(groups[i][0]))
		}
	}
	list("skipped", d.out.skipped.Groups())
	list("left out", d.out.Report.Notes.Groups())
	d.out.add(serve.LoaderEntries(&d.out.Report), serve.LoaderLines(&d.out.Report)...)
	d.out.print(d.app)
	if d.out.Rounded > 0 {
		list, more := d.out.rounded, ""
		if n := len(list); n > inspection.MostRemarks {
			list, more = list[:inspection.MostRemarks], fmt.Sprintf(" and %d streams more", n-inspection.MostRemarks)
		}
		d.remark("values-rounded", "%d values were rounded, in streams %s%s", d.out.Rounded, strings.Join(list, ", "), more)
	}
}

// begin reads the dataset, loads it to the devices and finds the start in the order.
func (d *drawing) begin(devices []*ops.Device) error {
	ctx := context.Background() // a signal may end the program here, because nothing is written yet
	began := time.Now()
	var err error
	d.Device = devices[0]
	if d.source, err = batching.Open(ctx, &d.Request, d.app.watch(&d.out.noteList)); err != nil {
		return err
	}
	if err := d.load(ctx, devices); err != nil {
		return err
	}
	at, begun, goesOn, err := d.resume(ctx, d.group)
	if err != nil {
		return err
	}
	state, err := d.group.State(ctx)
	if err != nil {
		return err
	}
	if d.format.Value == samplesFormat {
		r := d.group.Report()
		if d.shards, err = newShards(d.asking, &r); err != nil {
			return err
		}
		d.shards.next = at.Shard
	}
	if err := d.earlier(state, goesOn); err != nil {
		return err
	}
	d.step, d.begun = at.Step, begun
	d.out.of(d.source.Stores, d.group)
	d.out.add(notetext.NoteEntries(d.source.Absent))
	d.out.Problems = inspection.Problems(d.source.Problems)
	d.out.Read = time.Since(began).Seconds()
	d.remarks()
	return nil
}

// close closes the loader and its source.
func (d *drawing) close() {
	d.shards.drop()
	if d.group != nil {
		_ = d.group.Close() // all results are written
	}
	if d.source != nil {
		_ = d.source.Close()
	}
}

// load opens a loader on each device.
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
	d.l = d.group.Loaders()[0]
	state, err := d.group.State(ctx)
	d.run = d.runOf(&plan, state.Episodes)
	return err
}

// runOf returns a hash over the datasets, the plan and the drawn episodes. It does not depend on the batch size or the rank count.
func (d *drawing) runOf(plan *align.Plan, episodes string) string {
	h := sha256.New()
	add := func(values ...any) { fmt.Fprintf(h, "%+v\n", values) }
	for _, s := range d.source.Stores {
		add(s.Name())
	}
	if len(d.source.Stores) == 0 {
		add(d.source.Data.Name())
	}
	success := "any"
	if s := plan.Filter.Success; s != nil {
		success = strconv.FormatBool(*s)
	}
	add(plan.Rate, plan.Range, plan.Snap, plan.Unordered, plan.Defaults, plan.Streams, plan.Windows, plan.Padding, plan.PadAfter, plan.Shuffle)
	add(plan.Filter.Split, plan.Filter.Task, success)
	r := d.group.Report()
	for _, s := range r.Streams {
		add(s.Name, s.Columns, s.Targets, s.DType)
	}
	for i, c := range r.Cameras {
		add(d.Cameras[i], c.Targets)
	}
	for _, m := range r.Mixture {
		add(m.Windows, m.Share)
	}
	for _, k := range r.Weights {
		add(k.Windows, k.Share)
	}
	add(r.Episodes, r.Windows, r.ShardWindows, r.MixShards, episodes, d.VideoBackend)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// publish updates the --metrics numbers.
func (d *drawing) publish(s loader.State) {
	if d.meter == nil {
		return
	}
	o := d.out
	counter := func(name, help string, value int) metric { return metric{name, help, "counter", nil, float64(value)} }
	gauge := func(name, help string, value float64) metric { return metric{name, help, "gauge", nil, value} }
	list := []metric{
		counter("robocache_windows_total", "Windows that this program has drawn.", o.Drawn),
		counter("robocache_batches_total", "Batches drawn by each device in this program.", o.Steps),
		counter("robocache_padded_targets_total", "Window targets outside their episode.", o.Padded),
		counter("robocache_invalid_targets_total", "Window targets that are not valid, padded or not.", o.Invalid),
		counter("robocache_missing_rows_total", "Batch rows without a window.", o.Unfilled),
		counter("robocache_dropped_windows_total", "Windows in ended epochs that no rank has drawn.", o.Undrawn),
		gauge("robocache_epoch", "The epoch that is drawn from, counted from 0.", float64(s.Epoch)),
		gauge("robocache_epoch_windows", "Windows in an epoch.", float64(o.Windows)),
		gauge("robocache_episodes", "Episodes that windows are drawn from.", float64(o.Episodes)),
		gauge("robocache_skipped_episodes", "Episodes that could not be read.", float64(len(o.Skipped))),
		gauge("robocache_left_out_episodes", "Episodes that the plan cannot take.", float64(len(o.Report.Notes))),
		gauge("robocache_device_bytes", "Dataset and batch bytes on the devices.", float64(o.Bytes)),
		gauge("robocache_read_seconds", "Seconds until the dataset was read and on the device.", o.Read),
	}
	if len(d.Cameras) > 0 {
		for _, c := range d.group.Report().Cameras {
			list = append(list, metric{"robocache_bad_frames_total", "Frames that could not be decoded, by camera.", "counter", []string{"camera", c.Name}, float64(c.Bad)})
		}
	}
	for _, p := range o.shares() {
		list = append(list, metric{"robocache_spent_seconds_total", "Seconds spent on batches, by phase.", "counter", []string{"on", strings.TrimPrefix(p.by, "the ")}, p.seconds})
	}
	d.meter.set(list)
}

// describe writes the samples' members and their shapes to the folders in --out.
func (d *drawing) describe() error {
	about := described{Version: 1, Members: []describedPart{}}
	r := d.group.Report()
	for i, s := range r.Streams {
		part := describedPart{Member: webdataset.Ext(s.Name) + ".npy", Stream: s.Name, Shape: []int{s.Targets, s.Columns}, DType: s.DType,
			Columns: columns.Names(d.l.Batch().Streams[i].Columns)}
		about.Members = append(about.Members, part)
	}
	for _, c := range r.Cameras {
		member := webdataset.Ext(c.Name) + ".jpg"
		if c.Targets > 1 {
			member = fmt.Sprintf("%s.000.jpg to %s.%03d.jpg", webdataset.Ext(c.Name), webdataset.Ext(c.Name), c.Targets-1)
		}
		about.Members = append(about.Members, describedPart{Member: member, Camera: c.Name, Shape: []int{c.Targets, c.Height, c.Width, 3}, DType: tensor.U8.String()})
	}
	return d.beside(samplesFile, schema.Samples, about)
}

// statistics writes the statistics for normalised streams to the folders in --out.
func (d *drawing) statistics() error {
	if d.asking.out == "" || len(d.out.Normalised) == 0 {
		return nil
	}
	return d.beside(statisticsFile, schema.Statistics, map[string]any{"version": 1, "normalised": d.out.Normalised})
}

// beside writes a JSON file to each device's folder in --out, and removes temporary files that killed programs left.
func (d *drawing) beside(file string, name schema.Name, value any) error {
	text, err := schema.JSON(name, value, "  ")
	if err != nil {
		return err
	}
	for device := range d.devices {
		folder := d.folder(device)
		if err := atomicfile.Sweep(folder, func(name string) bool { return name == file }); err != nil {
			return unwritten(err)
		}
		if err := atomicfile.WriteBytes(filepath.Join(folder, file), text); err != nil {
			return unwritten(err)
		}
	}
	return nil
}

// ended adds the loader's final counts to the report.
func (d *drawing) ended() {
	d.out.of(d.source.Stores, d.group)
	if d.Streaming {
		w := d.group.Waits()
		d.out.Reading = &reading{w.Read, w.Bytes, w.Reading.Seconds(), w.Slots.Seconds()}
		if n := d.out.Streaming.Unread; n > 0 {
			d.remark("windows-unread", "%d windows were given as rows without one: their episodes could not be read again", n)
		}
	}
	for _, c := range d.out.Cameras {
		if c.Bad > 0 {
			d.remark("frames-undecoded", "camera %s: %d frames could not be decoded, the first: %s", c.Name, c.Bad, c.FirstBad)
		}
	}
}
