package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// loaderRequest asks for the loader of a connection. Lengths of time are seconds.
type loaderRequest struct {
	Do
	Paths   []string  `json:"paths"`
	Weights []float64 `json:"weights"`
	// Plan is the text of a plan, and PlanName what errors call it; instead of hz to normalise_streams.
	Plan             string                `json:"plan"`
	PlanName         string                `json:"plan_name"`
	Hz               float64               `json:"hz"`
	Streams          []loaderStream        `json:"streams"`
	Windows          map[string][2]float64 `json:"windows"`
	Shuffle          string                `json:"shuffle"`
	Normalise        string                `json:"normalise"`
	NormaliseStreams map[string]string     `json:"normalise_streams"`

	Batch        int            `json:"batch"`
	Seed         uint64         `json:"seed"`
	Rank         *int           `json:"rank"`
	World        *int           `json:"world"`
	Last         string         `json:"last"`
	DType        string         `json:"dtype"`
	Age          bool           `json:"age"`
	Cameras      []loaderCamera `json:"cameras"`
	EpochWindows int            `json:"epoch_windows"`
	Streaming    bool           `json:"streaming"`
	Workers      int            `json:"workers"`
	ShardWindows int            `json:"shard_windows"`
	MixShards    int            `json:"mix_shards"`
	Strict       bool           `json:"strict"`
	Rate         float64        `json:"rate"`
	Clock        string         `json:"clock"`

	Slots int `json:"slots"` // batches that there is memory for
}

type loaderStream struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

type loaderCamera struct {
	Name   string `json:"name"`
	Height int    `json:"height"`
	Width  int    `json:"width"`
}

// mostSlots is how many batches there may be memory for.
const mostSlots = 1024

// asked is the request as the command line would have it.
func (r *loaderRequest) asked() (*batching.Request, error) {
	if len(r.Paths) == 0 {
		return nil, batching.Usagef("--paths: got none, want a dataset or several")
	}
	q := &batching.Request{
		Packing: batching.Packing{Path: r.Paths[0], Rate: r.Rate, Clock: r.Clock, Strict: r.Strict, Cameras: true},
		Others:  r.Paths[1:], Weights: r.Weights, Hz: r.Hz, Shuffle: r.Shuffle, Streaming: r.Streaming, Defaults: align.Sampling{Normalise: r.Normalise}, Normalise: r.NormaliseStreams,
		Loader: loader.Options{Batch: r.Batch, Seed: r.Seed, Age: r.Age, EpochWindows: r.EpochWindows, Workers: r.Workers, ShardWindows: r.ShardWindows, MixShards: r.MixShards, Apart: true},
	}
	if r.Plan != "" {
		q.PlanText, q.PlanFile = []byte(r.Plan), cmp.Or(r.PlanName, "plan")
	}
	for name, number := range map[string]float64{"hz": r.Hz, "rate": r.Rate} {
		if !(number >= 0 && number <= 1e9) {
			return nil, batching.Usagef("--%s: got %g, want more than 0, at most 1e9 Hz", name, number)
		}
	}
	for _, s := range r.Streams {
		q.Taken = append(q.Taken, align.Stream{Name: s.Name, Columns: s.Columns})
		q.Packing.Streams = append(q.Packing.Streams, s.Name)
	}
	for name, w := range r.Windows {
		from, to := w[0]*1e9, w[1]*1e9
		if !(math.Abs(from) < 9e18 && math.Abs(to) < 9e18) {
			return nil, batching.Usagef("--window: got %s: %g to %g, want seconds", name, w[0], w[1])
		}
		q.Windows = append(q.Windows, batching.Window{Name: name, Window: align.Window{From: time.Duration(math.Round(from)), To: time.Duration(math.Round(to))}})
	}
	for _, c := range r.Cameras {
		q.Cameras = append(q.Cameras, loader.Camera{Name: c.Name, Height: c.Height, Width: c.Width})
		q.Media = append(q.Media, c.Name)
	}
	if r.DType != "" {
		d, err := tensor.ParseDType(r.DType)
		if err != nil || !d.IsFloat() {
			return nil, batching.Usagef("--dtype: got %q, want f32, f64, f16 or bf16", r.DType)
		}
		q.Loader.DType = d
	}
	if r.Last != "" {
		last, found := ops.LastDrop, false
		for _, l := range []ops.LastBatch{ops.LastDrop, ops.LastShort} {
			if l.String() == r.Last {
				last, found = l, true
			}
		}
		if !found {
			return nil, batching.Usagef("--last: got %q, want one of %v", r.Last, last.Names())
		}
		q.Loader.Last = last
	}
	p, err := batching.PlaceOf(r.Rank, r.World, os.Getenv)
	if err != nil {
		return nil, err
	}
	if p.Count < 1 || p.Index < 0 || p.Index >= p.Count {
		return nil, batching.Usagef("--rank: got %d of --world %d, want a rank from 0 to %d", p.Index, p.Count, max(p.Count, 1)-1)
	}
	q.Loader.Rank, q.Loader.Ranks = p.Index, p.Count
	return q, q.Check()
}

// loaderReply says what the loader's batches are.
type loaderReply struct {
	Arrays     []slotArray           `json:"arrays"`
	Slots      int                   `json:"slots"`
	SlotBytes  int                   `json:"slot_bytes"`
	Rank       int                   `json:"rank"`
	World      int                   `json:"world"`
	Hz         float64               `json:"hz"`
	State      loader.State          `json:"state"`
	Report     loader.Report         `json:"report"`
	Skipped    []loader.Skipped      `json:"skipped"` // episodes that could not be read
	Rounded    map[string]int        `json:"rounded"` // values that the store's dtype could not hold, by stream
	Normalised []batching.Normalised `json:"normalised"`
	Streams    []loaderStream        `json:"streams"` // with the names of all columns
	Remarks    []string              `json:"remarks"`
}

// openLoader answers "loader": it opens datasets, and begins to draw batches into slots, whose memory is the reply's file.
func openLoader(ctx context.Context, c *Conn, r *Request) (*Reply, error) {
	var ask loaderRequest
	if err := r.Decode(&ask); err != nil {
		return nil, err
	}
	if c.loading != nil {
		return nil, &RequestError{Arg: "loader", Got: "a second one", Want: "one for each connection"}
	}
	q, err := ask.asked()
	if err == nil && (ask.Slots < 1 || ask.Slots > mostSlots) {
		err = batching.Usagef("--slots: got %d, want 1 to %d", ask.Slots, mostSlots)
	}
	if err != nil {
		return nil, told(err)
	}
	l := &loading{request: q, rank: q.Loader.Rank, world: q.Loader.Ranks}
	if err := l.open(ctx, c.cpu, ask.Slots); err != nil {
		return nil, told(errors.Join(err, l.Close()))
	}
	c.loading = l
	c.closing(l.Close)
	reply := l.reply()
	l.start()
	return &Reply{Value: reply, File: l.memory.File()}, nil
}

// reply describes the loader.
func (l *loading) reply() *loaderReply {
	out := &loaderReply{Arrays: l.layout.arrays, Slots: cap(l.free), SlotBytes: l.layout.bytes, Rank: l.rank, World: l.world, Hz: l.hz, State: l.at,
		Report: batching.Listed(l.loader.Report()), Skipped: []loader.Skipped{}, Rounded: map[string]int{}, Normalised: batching.NormalisedBy(l.loader), Remarks: append([]string{}, l.remarks...)}
	for _, s := range l.source.Stores {
		out.Skipped = append(out.Skipped, s.Skipped...)
		for _, p := range s.Streams {
			if p.Rounded > 0 {
				out.Rounded[p.Name] += p.Rounded
			}
		}
	}
	for _, s := range l.loader.Batch().Streams {
		columns := []string{}
		for _, c := range s.Columns {
			columns = append(columns, c.Name)
		}
		out.Streams = append(out.Streams, loaderStream{s.Name, columns})
	}
	return out
}

// nextReply is a batch: the slot that it is in, the epoch that it is of, and whether it is the last one of that; State is what goes on behind it.
type nextReply struct {
	Slot  int           `json:"slot"` // -1 where there is none yet, and the request does not wait
	Epoch int64         `json:"epoch"`
	Last  bool          `json:"last"`
	State *loader.State `json:"state,omitempty"`
}

// nextBatch answers "next": it takes back slots, and hands out the batch that comes next.
func nextBatch(ctx context.Context, c *Conn, r *Request) (*Reply, error) {
	var ask struct {
		Do
		Release []int `json:"release"`
		Poll    bool  `json:"poll"` // does not wait
	}
	l, err := c.loaderOf(r, &ask)
	if err != nil {
		return nil, err
	}
	for _, slot := range ask.Release {
		if err := l.release(slot); err != nil {
			return nil, err
		}
	}
	d, err := l.next(ctx, !ask.Poll)
	if err != nil {
		return nil, told(l.request.Unreadable(err))
	}
	if d == nil {
		return &Reply{Value: nextReply{Slot: -1}}, nil
	}
	return &Reply{Value: nextReply{d.slot, d.epoch, d.last, &d.state}}, nil
}

// resumeLoader answers "resume": the next batch is the one after a state. Slots that were handed out stay so.
func resumeLoader(ctx context.Context, c *Conn, r *Request) (*Reply, error) {
	var ask struct {
		Do
		State loader.State `json:"state"`
	}
	l, err := c.loaderOf(r, &ask)
	if err != nil {
		return nil, err
	}
	if err := l.resume(ctx, ask.State); err != nil {
		return nil, told(err)
	}
	return &Reply{Value: struct {
		Epoch int64 `json:"epoch"` // of the batch that comes next
	}{l.loader.Begin(ask.State).Epoch}}, nil
}

// reportLoader answers "report": what the loader's report says by now, and what was waited for.
func reportLoader(_ context.Context, c *Conn, r *Request) (*Reply, error) {
	var ask Do
	l, err := c.loaderOf(r, &ask)
	if err != nil {
		return nil, err
	}
	w := l.loader.Waits()
	return &Reply{Value: map[string]any{"report": batching.Listed(l.loader.Report()), "waits": map[string]any{
		"frames_seconds": w.Frames.Seconds(), "shards_seconds": w.Shards.Seconds(), "slots_seconds": w.Slots.Seconds(), "reading_seconds": w.Reading.Seconds(), "bytes": w.Bytes, "shards": w.Read,
	}}}, nil
}

// loaderOf decodes a request to the loader that the connection has.
func (c *Conn) loaderOf(r *Request, ask any) (*loading, error) {
	if err := r.Decode(ask); err != nil {
		return nil, err
	}
	if c.loading == nil {
		return nil, &RequestError{Arg: "do", Got: fmt.Sprintf("%q", r.Do), Want: `"loader" before it`}
	}
	return c.loading, nil
}
