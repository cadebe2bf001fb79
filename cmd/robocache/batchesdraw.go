package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// drawing is batches at work.
type drawing struct {
	*asking
	app    *app
	source *batching.Source
	group  *loader.Group
	l      *loader.Loader // the group's first, of which all have the order and the episodes
	meter  *meter         // nil without --metrics
	shards *shards        // nil unless samples are written
	begun  spot           // where this and the ranks beside it took up the order
	step   int64          // of the batch that comes next
	saved  loader.State   // as the state file has it, or where this began
	out    *batched
}

// batched is what batches says of its work.
type batched struct {
	Input  string   `json:"input"`
	Inputs []string `json:"inputs"`           // all datasets
	Output string   `json:"output,omitempty"` // the folder of --out
	loader.Report
	Hz      float64      `json:"hz"` // of the windows' clock
	Devices []deviceInfo `json:"devices"`
	serve.DrawnNotes
	Skipped  []serve.Skipped `json:"skipped"` // episodes that could not be read
	Absent   []absentInput   `json:"absent"`  // inputs of which declared episodes are not there
	Rounded  int             `json:"rounded"` // values that the store's dtype could not hold
	rounded  []string        // of each stream that has some
	skipped  dataset.Notes
	Steps    int     `json:"steps"` // batches of each device
	Drawn    int     `json:"windows_drawn"`
	Undrawn  int     `json:"windows_dropped"` // of the epochs whose last batch was drawn, those that no rank has drawn
	Unfilled int     `json:"rows_missing"`    // rows of the batches that hold no window
	Padded   int     `json:"padded"`          // targets outside of what the episode has, of the windows that were drawn
	Invalid  int     `json:"invalid"`         // targets that are not valid, padded or not
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"windows_per_second"`
	Read     float64 `json:"read_seconds"`
	spent
	Reading *reading `json:"reading,omitempty"` // of --streaming
	Bound   string   `json:"bound_by"`          // what most of the time went into, in words
	// Normalised is what streams were normalised with: what a policy needs to take it back.
	Normalised []batching.Normalised   `json:"normalised"`
	ByEpisode  []episodeWindows        `json:"by_episode"`
	State      loader.State            `json:"state"`
	Ended      bool                    `json:"ended_by_signal"`
	Remarks    []string                `json:"remarks"`
	Entries    []notetext.EpisodeEntry `json:"said"` // Report.EpisodeNotes with their sentences
}

// episodeWindows is what became of an episode's windows.
type episodeWindows struct {
	Dataset int    `json:"dataset"` // of several, counted from 0
	Number  int    `json:"number"`  // in the dataset
	Name    string `json:"name"`
	Windows int    `json:"windows"` // that it has
	Drawn   int    `json:"drawn"`
	Dropped int    `json:"dropped"`
	Padded  int    `json:"padded"`
	Invalid int    `json:"invalid"`
}

// on names the devices.
func (out *batched) on() string {
	var names []string
	for _, d := range out.Devices {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// of says what the batches are drawn from. There are no stores of a dataset that is read meanwhile.
func (out *batched) of(stores []*loader.Store, g *loader.Group) {
	l := g.Loaders()[0]
	out.Report = batching.Listed(g.Report())
	out.Entries = notetext.EpisodeEntries(out.EpisodeNotes)
	if out.ByEpisode != nil {
		return
	}
	out.DrawnNotes, out.Skipped = serve.NotesOf(&out.Report), []serve.Skipped{}
	for i, s := range stores {
		for k, skipped := range serve.SkippedOf(s.Skipped) {
			n := s.Skipped[k]
			if len(stores) > 1 {
				skipped.Reason = out.Inputs[i] + ": " + skipped.Reason
				n.Cause = fmt.Errorf("%s: %w", out.Inputs[i], n.Cause)
			}
			out.Skipped, out.skipped = append(out.Skipped, skipped), append(out.skipped, n)
		}
		for _, p := range s.Streams {
			if out.Rounded += p.Rounded; p.Rounded > 0 {
				out.rounded = append(out.rounded, fmt.Sprintf("%s %d", p.Name, p.Rounded))
			}
		}
	}
	out.Normalised = batching.NormalisedBy(l, nil)
	out.ByEpisode = make([]episodeWindows, out.Episodes)
	for i := range out.ByEpisode {
		name, number := l.Known(int64(i))
		dataset, _ := l.StoreOf(int64(i))
		out.ByEpisode[i] = episodeWindows{Dataset: dataset, Number: number, Name: name, Windows: l.Windows(int64(i))}
	}
}

// remark tells the user something that is not the result, and keeps it for the JSON.
func (d *drawing) remark(format string, args ...any) {
	d.out.Remarks = append(d.out.Remarks, fmt.Sprintf(format, args...))
	d.app.remark(format, args...)
}

// remarks says what is not drawn from; the JSON has all of it in lists of its own.
func (d *drawing) remarks() {
	tell := func(what string, list []dataset.NoteGroup) {
		for i := range list {
			if i == inspection.MostRemarks {
				d.remark("%s: %d reasons more", what, len(list)-i)
				break
			}
			d.remark("%s: episode %s: %s", what, list[i].Who(), notetext.Text(list[i].Note))
		}
	}
	tell("skipped", d.out.skipped.Groups())
	tell("left out", d.out.Report.Notes.Groups())
	for _, text := range serve.LoaderLines(&d.out.Report) {
		d.remark("%s", text)
	}
	if d.out.Rounded > 0 {
		list, more := d.out.rounded, ""
		if n := len(list); n > inspection.MostRemarks {
			list, more = list[:inspection.MostRemarks], fmt.Sprintf(" and %d streams more", n-inspection.MostRemarks)
		}
		d.remark("%d values were rounded, of streams %s%s", d.out.Rounded, strings.Join(list, ", "), more)
	}
}

// over reports whether all epochs are drawn.
func (d *drawing) over(s loader.State) bool {
	return s.Epoch >= int64(d.epochs) || s.Epoch == int64(d.epochs)-1 && d.l.EpochEnds(s)
}

// draw makes the batches, until all are made or a signal comes; a batch that was begun is ended.
func (d *drawing) draw() error {
	if err := d.statistics(); err != nil {
		return err
	}
	if d.shards != nil {
		if err := d.describe(); err != nil {
			return err
		}
	}
	ctx, ended, stop := d.app.untilCut(0)
	defer stop()
	ctx = context.WithoutCancel(ctx)
	state, err := d.group.State(ctx)
	if err != nil {
		return err
	}
	d.saved = state
	d.tell(state)
	if d.over(state) {
		d.remark("nothing is left to draw: %s has all of %s", d.state, text.Count(d.epochs, "epoch"))
	}
	bar := d.app.rating("drawing batches", d.left(state), "windows")
	defer bar.done()
	begin := time.Now()
	for !d.over(state) && (d.steps == 0 || d.out.Steps < d.steps) {
		if d.out.Ended = ended(); d.out.Ended {
			break
		}
		drawn := d.out.Drawn
		if state, err = d.batchAfter(ctx, state); err != nil {
			return err
		}
		bar.add(d.out.Drawn - drawn)
		d.out.Seconds = time.Since(begin).Seconds()
		d.tell(state)
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

// lastShard ends the shard of samples that is not full. After a signal it is left out if the state file has where it begins, and so may other ranks'
// have: then the state becomes that again.
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
	d.remark("%d batches of a shard that was begun are left out: who goes on from %s draws them again", d.shards.filled, d.state)
	d.step -= int64(d.shards.filled)
	d.shards.drop()
	*s = d.saved
	return nil
}

// left is about how many windows there are to draw.
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

// batchAfter makes the step after a state, a batch on each device, and returns the state after it: saved, and that after whatever is to be written of the
// batches.
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
	whole := true // all that was drawn is in a file
	if d.shards != nil {
		if whole, err = d.shards.add(ctx, d.l, host, func(device int) batchIndex { return d.index(begin, d.step, device) }); err != nil {
			return state, err
		}
	}
	if _, err := d.app.out.Write(line); err != nil {
		return state, err
	}
	d.step++
	d.out.Steps++
	if whole {
		err = d.keep(state)
	}
	since(&at, &d.out.Write)
	return state, err
}

// count adds what became of the windows of a batch.
func (out *batched) count(b *loader.Batch) error {
	episodes, err := tensor.Data[int64](b.Episodes)
	if err != nil {
		return err
	}
	for _, e := range episodes {
		if e < 0 {
			out.Unfilled++
			continue
		}
		out.Drawn++
		out.ByEpisode[e].Drawn++
	}
	var masks [][2]*tensor.Tensor
	for _, s := range b.Streams {
		masks = append(masks, [2]*tensor.Tensor{s.Valid, s.Pad})
	}
	for _, c := range b.Cameras {
		masks = append(masks, [2]*tensor.Tensor{c.Valid, c.Pad})
	}
	for _, m := range masks {
		valid, err := tensor.Data[uint8](m[0])
		if err != nil {
			return err
		}
		pad, err := tensor.Data[uint8](m[1])
		if err != nil {
			return err
		}
		t := m[0].Dim(1)
		for row, e := range episodes {
			if e < 0 {
				continue
			}
			padded, invalid := 0, 0
			for k := row * t; k < (row+1)*t; k++ {
				padded += int(pad[k])
				invalid += 1 - int(valid[k])
			}
			out.Padded += padded
			out.Invalid += invalid
			out.ByEpisode[e].Padded += padded
			out.ByEpisode[e].Invalid += invalid
		}
	}
	return nil
}

// line is what --digest prints of a step: its number and the hashes of its windows, by their positions. Without --digest it is empty.
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

// tell gives --metrics the numbers as they are now.
func (d *drawing) tell(s loader.State) {
	if d.meter == nil {
		return
	}
	o := d.out
	counter := func(name, help string, value int) metric { return metric{name, help, "counter", nil, float64(value)} }
	gauge := func(name, help string, value float64) metric { return metric{name, help, "gauge", nil, value} }
	list := []metric{
		counter("robocache_windows_total", "Windows that this program has drawn.", o.Drawn),
		counter("robocache_batches_total", "Batches that each device of this program has drawn.", o.Steps),
		counter("robocache_padded_targets_total", "Targets of the windows outside of what the episode has.", o.Padded),
		counter("robocache_invalid_targets_total", "Targets of the windows that are not valid, padded or not.", o.Invalid),
		counter("robocache_missing_rows_total", "Rows of the batches that hold no window.", o.Unfilled),
		counter("robocache_dropped_windows_total", "Windows of ended epochs that no rank has drawn.", o.Undrawn),
		gauge("robocache_epoch", "The epoch that is drawn from, counted from 0.", float64(s.Epoch)),
		gauge("robocache_epoch_windows", "Windows of an epoch.", float64(o.Windows)),
		gauge("robocache_episodes", "Episodes that windows are drawn from.", float64(o.Episodes)),
		gauge("robocache_skipped_episodes", "Episodes that could not be read.", float64(len(o.Skipped))),
		gauge("robocache_left_out_episodes", "Episodes that the plan cannot take.", float64(len(o.DrawnNotes.LeftOut))),
		gauge("robocache_device_bytes", "Bytes of the dataset and the batches on the devices.", float64(o.Bytes)),
		gauge("robocache_read_seconds", "Seconds until the dataset was read and on the device.", o.Read),
	}
	if len(d.Cameras) > 0 {
		for _, c := range d.group.Report().Cameras {
			list = append(list, metric{"robocache_bad_frames_total", "Targets of the batches whose frames could not be decoded, by the camera.", "counter", []string{"camera", c.Name}, float64(c.Bad)})
		}
	}
	for _, p := range o.shares() {
		list = append(list, metric{"robocache_spent_seconds_total", "Seconds that batches took, by what they went into.", "counter", []string{"on", strings.TrimPrefix(p.by, "the ")}, p.seconds})
	}
	d.meter.set(list)
}

// drew prints what was done.
func (d *drawing) drew() error {
	a, out := d.app, d.out
	if a.json {
		return a.writeJSON(out)
	}
	if d.digest {
		return nil
	}
	var b bytes.Buffer
	if d.episodes {
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(w, "number\tepisode\twindows\tdrawn\tdropped\tpadded\tinvalid\t\n")
		for _, e := range out.ByEpisode {
			fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t\n", e.Number, printed.Text(e.Name), e.Windows, e.Drawn, e.Dropped, e.Padded, e.Invalid)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "%d windows of an epoch in %s, %d batches, %d dropped, %d rows missing; %.1f MiB on %s\n",
		out.Windows, episodes(out.Episodes), out.Batches, out.Dropped, out.Missing, float64(out.Bytes)/(1<<20), out.on())
	fmt.Fprintf(&b, "drew %d windows in %d steps, %.0f a second; %d targets padded, %d not valid; read in %.2f s\n", out.Drawn, out.Steps, out.Rate, out.Padded, out.Invalid, out.Read)
	out.writeMixture(&b)
	if out.Bound != "" {
		fmt.Fprintf(&b, "%s\n", out.Bound)
	}
	out.Reading.write(&b)
	_, err := a.out.Write(b.Bytes())
	return err
}
