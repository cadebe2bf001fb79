package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// loading is a connection's loader. It draws into slots, or it is recorded and replayed on a GPU.
type loading struct {
	source   *batching.Source
	borrowed bool // the source is another one's
	plan     align.Plan
	loader   *loader.Loader
	notes    dataset.Notes // from opening the datasets
	device   *ops.Device   // decodes frames; nil if it is the CPU
	decoder  *decoder      // nil without cameras
}

// decoder is the device that decodes frames.
type decoder struct {
	Device string `json:"device"`
	Reason string `json:"reason,omitempty"` // why it is not the GPU that was asked for
}

// decoderRoom is how much free memory a GPU must have to decode frames, bytes.
const decoderRoom = 1 << 30

// openLoading opens the datasets in a request for a loader. It returns an error if an argument is invalid, or if the connection already
// has a loader.
func openLoading(ctx context.Context, c *Conn, ask *loaderRequest) (*loading, error) {
	if c.slots != nil || c.resident != nil || c.filling != nil {
		return nil, &RequestError{Arg: "do", Got: "a second loader", Want: "one for each connection"}
	}
	err := ask.check()
	if err != nil {
		return nil, &loaderError{err}
	}
	l := &loading{}
	ask.Device = c.cpu
	watch := batching.Watch{Note: func(n dataset.Note) { l.notes.Add(n) }}
	if l.source, err = batching.Open(ctx, &ask.Request, watch); err != nil {
		return nil, &loaderError{err}
	}
	if l.plan, err = l.source.Plan(ctx); err != nil {
		return nil, &loaderError{errors.Join(err, l.source.Close())}
	}
	freed(l.source.Bytes(l.plan))
	if len(ask.Cameras) > 0 {
		l.openDecoder(ask.FramesOn)
	}
	return l, nil
}

// openDecoder opens the device that decodes frames. If it cannot, the CPU decodes them.
func (l *loading) openDecoder(name string) {
	l.decoder = &decoder{Device: "cpu"}
	if name == "" || name == "cpu" {
		return
	}
	device, err := ops.Open(name)
	if err == nil {
		var free int64
		if free, err = device.Free(); err == nil && free < decoderRoom {
			err = &ops.MemoryError{Device: name, What: "decoding of frames", Bytes: decoderRoom, Err: fmt.Errorf("%d bytes are free", free)}
		}
		if err != nil {
			err = errors.Join(err, device.Close())
		}
	}
	if err != nil {
		l.decoder.Reason = err.Error()
		return
	}
	l.device, l.decoder.Device, l.source.Options.FramesOn = device, name, device
}

// Close closes the loader and its datasets.
func (l *loading) Close() error {
	var err error
	if l.loader != nil {
		err = l.loader.Close()
	}
	if l.device != nil {
		err = errors.Join(err, l.device.Close())
	}
	if l.borrowed {
		return err
	}
	return errors.Join(err, l.source.Close())
}

// LoaderLines returns the lines of a report that a trainer prints before it draws: the recordings' notes, episodes that lack a stream, and
// samples that are not finite.
func LoaderLines(r *loader.Report) []string {
	return slices.Concat(notetext.EpisodeLines(r.EpisodeNotes, r.Episodes), batching.Remarks(r, notetext.Text), notetext.Lines(batching.Notes(r)))
}

// drawnReport is a loader's report with the sentences of its notes.
type drawnReport struct {
	loader.Report
	Entries []notetext.EpisodeEntry `json:"notes"`
	Decoder *decoder                `json:"decoder,omitempty"`
}

// Skipped is an episode that cannot be read.
type Skipped struct {
	Number int          `json:"number"`
	Reason string       `json:"reason"`
	Code   dataset.Code `json:"code"`
}

// LoaderEntries returns the notes in a loader's report: the recordings' notes, episodes that the plan cannot use, episodes without samples
// in a stream, with the number of windows as the count, and samples that are not finite.
func LoaderEntries(r *loader.Report) []notetext.EpisodeEntry {
	list := append(notetext.EpisodeEntries(r.EpisodeNotes), notetext.NoteEntries(r.Notes)...)
	for _, l := range r.Lacking {
		n := l.Note
		n.Subject, n.Count = l.Stream, l.Windows
		e := notetext.EpisodeEntry{Entry: notetext.EntryOf(n), Episode: l.Episode, Episodes: 1, Dataset: l.Dataset}
		e.Text = batching.LackingLine(&l, 1, l.Windows, notetext.Text)
		list = append(list, e)
	}
	return append(list, notetext.NoteEntries(batching.Notes(r))...)
}

// SkippedOf returns the episodes that the notes are about.
func SkippedOf(notes dataset.Notes) []Skipped {
	list := []Skipped{}
	for _, n := range notes {
		number, _ := n.Row.Index()
		list = append(list, Skipped{number, notetext.Text(n), n.Code})
	}
	return list
}

func (l *loading) report() drawnReport {
	r := batching.Listed(l.loader.Report())
	d := drawnReport{r, append(notetext.NoteEntries(l.notes), LoaderEntries(&r)...), l.decoder}
	for i := range d.Entries {
		d.Entries[i].Text = byArguments.Replace(d.Entries[i].Text)
	}
	return d
}

// byArguments has Python's arguments for the flags that advice names.
var byArguments = strings.NewReplacer("--unordered sort", `unordered="sort"`)

// loaderReply describes a loader and its datasets.
type loaderReply struct {
	Rank       int                   `json:"rank"`
	World      int                   `json:"world"`
	Batch      int                   `json:"batch"`
	Last       string                `json:"last"`
	Hz         float64               `json:"hz"`
	State      loader.State          `json:"state"` // before the first batch
	Report     drawnReport           `json:"report"`
	Skipped    []Skipped             `json:"skipped"`  // episodes that cannot be read
	Rounded    map[string]int        `json:"rounded"`  // values that do not fit the store's dtype, by stream
	Problems   []inspection.Problem  `json:"problems"` // about the datasets as a whole
	Normalised []batching.Normalised `json:"normalised"`
	Streams    []align.Stream        `json:"streams"` // with the names of all columns
	// Tasks are the episodes' tasks, in order: the text is Texts[Text] from the time From on, ns.
	Tasks []taskReply `json:"tasks"`
	Texts []string    `json:"texts"`
	// Listed are the first dataset's tasks by its own numbers. Frames are pairs of an episode's number there and its rows, in the order of
	// the numbers, unless it is streamed.
	Listed []string `json:"listed"`
	Frames [][2]int `json:"frames"`
}

// taskReply is a task in an episode. The episode is given by the number of its dataset, and by its number there.
type taskReply struct {
	Dataset int   `json:"dataset"`
	Episode int   `json:"episode"`
	From    int64 `json:"from"`
	Text    int   `json:"text"`
}

// tasks describes the tasks in all episodes.
func (out *loaderReply) tasks(l *loader.Loader) {
	out.Tasks, out.Texts = []taskReply{}, []string{}
	at := map[string]int{}
	for e := range int64(out.Report.Episodes) {
		set, _ := l.StoreOf(e)
		_, number := l.Known(e)
		for _, t := range l.Tasks(e) {
			if _, there := at[t.Text]; !there {
				at[t.Text], out.Texts = len(out.Texts), append(out.Texts, t.Text)
			}
			out.Tasks = append(out.Tasks, taskReply{set, number, t.From, at[t.Text]})
		}
	}
}

// describe describes the loader.
func (l *loading) describe() loaderReply {
	o := &l.source.Options
	out := loaderReply{Rank: o.Rank, World: o.Ranks, Batch: o.Batch, Last: o.Last.String(), Hz: l.plan.Rate, State: l.loader.StateAt(0, 0), Report: l.report(),
		Problems: inspection.Problems(l.source.Problems), Skipped: []Skipped{}, Rounded: map[string]int{}, Normalised: batching.NormalisedBy(l.loader, l.source.Given)}
	out.tasks(l.loader)
	out.Listed = l.source.Data.Info().Tasks
	if s := l.source.Store; s != nil {
		for i := range s.Episodes {
			out.Frames = append(out.Frames, [2]int{s.Episodes[i].Number, s.Episodes[i].Frames})
		}
	}
	for _, s := range l.source.Stores {
		out.Skipped = append(out.Skipped, SkippedOf(s.Skipped)...)
		for _, p := range s.Streams {
			if p.Rounded > 0 {
				out.Rounded[p.Name] += p.Rounded
			}
		}
	}
	for _, s := range l.loader.Batch().Streams {
		out.Streams = append(out.Streams, align.Stream{Name: s.Name, Columns: columns.Names(s.Columns)})
	}
	return out
}

// slotsReply describes batches in slots.
type slotsReply struct {
	loaderReply
	Arrays    []slotArray `json:"arrays"`
	Slots     int         `json:"slots"`
	SlotBytes int         `json:"slot_bytes"`
}

// openLoader handles "loader": it opens datasets and starts to draw batches into slots. The reply's file is the memory of the slots.
func openLoader(ctx context.Context, c *Conn, r *Request) (*Reply, error) {
	var ask struct {
		loaderRequest
		Slots  int  `json:"slots"`  // the number of slots
		Unmade bool `json:"unmade"` // the client makes the cameras' frames: see slotArray
	}
	if err := r.decodeLoader(&ask); err != nil {
		return nil, err
	}
	if ask.Slots < 1 || ask.Slots > mostSlots {
		return nil, &loaderError{&dataset.OptionError{Arg: "slots", Got: fmt.Sprint(ask.Slots), Want: fmt.Sprintf("1 to %d", mostSlots)}}
	}
	l, err := openLoading(ctx, c, &ask.loaderRequest)
	if err != nil {
		return nil, err
	}
	s := &slots{loading: l}
	l.source.Unmade = ask.Unmade
	if err := s.open(ctx, c.cpu, ask.Slots); err != nil {
		return nil, &loaderError{errors.Join(err, s.Close())}
	}
	c.slots = s
	c.closing(s.Close)
	s.start()
	return &Reply{Value: &slotsReply{l.describe(), s.layout.arrays, ask.Slots, s.layout.bytes}, File: s.memory.File()}, nil
}

type cameraRequest struct {
	Do
	Target int    `json:"target"`
	Camera string `json:"camera"`
}

// planCamera handles "camera": it exports the plan that makes a camera's frames. Its arguments are the camera's arrays frames, valid, stored,
// select and keys, by their parts. The kernels read and write valid.
func planCamera(_ context.Context, c *Conn, r *Request, ask cameraRequest) (*Reply, error) {
	device, err := c.target(ask.Target)
	if err != nil {
		return nil, err
	}
	if c.slots == nil || !c.slots.source.Unmade {
		return nil, noLoader(r)
	}
	l := c.slots.loader
	camera := slices.IndexFunc(l.Batch().Cameras, func(b loader.BatchCamera) bool { return b.Name == ask.Camera })
	if camera < 0 {
		return nil, &RequestError{Arg: "camera", Got: fmt.Sprintf("%q", ask.Camera), Want: "one of the loader's"}
	}
	var args []record.Tensor
	for _, part := range []string{"frames", "valid", "stored", "select", "keys"} {
		i := slices.IndexFunc(c.slots.layout.arrays, func(a slotArray) bool { return a.Name == ask.Camera && a.Part == part })
		if i >= 0 { // there may be no keys
			a := &c.slots.layout.arrays[i]
			dtype, err := tensor.ParseDType(a.DType)
			if err != nil {
				return nil, err
			}
			args = append(args, record.Tensor{Name: part, DType: dtype, Shape: a.Shape})
		}
	}
	p, err := device.recorder.Plan("frames", args, func(d *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
		from := loader.StoredFrames{Frames: t[2], Select: t[3]}
		if len(t) > 4 {
			from.Keys = t[4]
		}
		return l.PlanFrames(camera, d, t[0], t[1], from)
	})
	if err != nil {
		return nil, err
	}
	return &Reply{Value: map[string]any{"plan": json.RawMessage(p.Header())}, Blob: p.Payload}, nil
}

// nextReply is a batch: its slot, its epoch, whether it ends the epoch, and the state after it.
type nextReply struct {
	Slot  int           `json:"slot"` // -1 if no batch is ready and the request does not wait
	Epoch int64         `json:"epoch"`
	Last  bool          `json:"last"`
	State *loader.State `json:"state,omitempty"`
}

type nextRequest struct {
	Do
	Release []int `json:"release"`
	Poll    bool  `json:"poll"` // returns at once
}

// nextBatch handles "next": it takes released slots back and returns the next batch. With "poll" it does not wait, and the reply has slot
// -1 if no batch is ready.
func nextBatch(ctx context.Context, c *Conn, r *Request, ask nextRequest) (*Reply, error) {
	s := c.slots
	if s == nil {
		return nil, noLoader(r)
	}
	for _, slot := range ask.Release {
		if err := s.release(slot); err != nil {
			return nil, err
		}
	}
	d, err := s.next(ctx, !ask.Poll)
	if err != nil {
		return nil, &loaderError{s.source.Unreadable(err)}
	}
	if d == nil {
		return &Reply{Value: nextReply{Slot: -1}}, nil
	}
	return &Reply{Value: nextReply{d.slot, d.epoch, d.last, &d.state}}, nil
}

type resumeRequest struct {
	Do
	State loader.State `json:"state"`
}

// resumeLoader handles "resume": the next batch is the one after the state. Slots that Python has stay valid. A resident loader only checks
// the state, because the client writes the cursors.
func resumeLoader(ctx context.Context, c *Conn, r *Request, ask resumeRequest) (*Reply, error) {
	l := c.loading()
	if l == nil {
		return nil, noLoader(r)
	}
	var err error
	if c.slots != nil {
		err = c.slots.resume(ctx, ask.State)
	} else {
		err = l.loader.Check(ask.State)
	}
	if err != nil {
		return nil, &loaderError{err}
	}
	return &Reply{Value: struct {
		Epoch int64 `json:"epoch"` // the next batch's epoch
	}{l.loader.Begin(ask.State).Epoch}}, nil
}

// reportLoader handles "report": it returns the loader's report and its waits.
func reportLoader(_ context.Context, c *Conn, r *Request, _ Do) (*Reply, error) {
	l := c.loading()
	if l == nil {
		return nil, noLoader(r)
	}
	w := l.loader.Waits()
	return &Reply{Value: map[string]any{"report": l.report(), "waits": map[string]any{
		"frames_seconds": w.Frames.Seconds(), "shards_seconds": w.Shards.Seconds(), "slots_seconds": w.Slots.Seconds(), "reading_seconds": w.Reading.Seconds(), "bytes": w.Bytes, "shards": w.Read,
	}}}, nil
}

// loading returns the connection's loader, or nil.
func (c *Conn) loading() *loading {
	switch {
	case c.slots != nil:
		return c.slots.loading
	case c.filling != nil:
		return c.filling.loading
	case c.resident != nil && c.resident.ready():
		return c.resident.loading
	}
	return nil
}

func noLoader(r *Request) error {
	return &RequestError{Arg: "do", Got: fmt.Sprintf("%q", r.Do), Want: "a loader before it"}
}
