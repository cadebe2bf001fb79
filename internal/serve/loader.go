package serve

import (
	"cmp"
	"maps"
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
	// MaxGap is that of all streams, and MaxGapStreams by stream.
	MaxGap        *float64           `json:"max_gap"`
	MaxGapStreams map[string]float64 `json:"max_gap_streams"`
	// Statistics are as loaderReply's Normalised of another loader.
	Statistics []batching.Normalised `json:"statistics"`
	// Episodes are the numbers, ascending, of those of each dataset; null for all.
	Episodes [][]int `json:"episodes"`

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
	Definitions  []string       `json:"definitions"`
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
		Packing: batching.Packing{Path: r.Paths[0], Rate: r.Rate, Clock: r.Clock, Definitions: r.Definitions, Strict: r.Strict, Cameras: true},
		Others:  r.Paths[1:], Weights: r.Weights, Hz: r.Hz, Shuffle: r.Shuffle, Streaming: r.Streaming, Defaults: align.Sampling{Normalise: r.Normalise}, Normalise: r.NormaliseStreams,
		Loader: loader.Options{Batch: r.Batch, Seed: r.Seed, Age: r.Age, EpochWindows: r.EpochWindows, Workers: r.Workers, ShardWindows: r.ShardWindows, MixShards: r.MixShards, Apart: true, Episodes: r.Episodes},
	}
	q.Given = r.Statistics
	for i := range r.Statistics {
		n := &r.Statistics[i]
		s, err := n.Statistics()
		if err != nil {
			return nil, err
		}
		if q.Loader.Statistics == nil {
			q.Loader.Statistics = map[string]loader.Statistics{}
		}
		q.Loader.Statistics[n.Name] = s
		if _, own := q.Normalise[n.Name]; !own && r.Normalise == "" && r.Plan == "" && n.Rule != "" && n.Shift == nil {
			q.Normalise = maps.Clone(q.Normalise)
			if q.Normalise == nil {
				q.Normalise = map[string]string{}
			}
			q.Normalise[n.Name] = n.Rule
		}
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
	if r.MaxGap != nil {
		gap, err := seconds("max-gap", *r.MaxGap)
		if err != nil {
			return nil, err
		}
		q.Defaults.MaxGap = ops.Within(gap)
	}
	for name, s := range r.MaxGapStreams {
		gap, err := seconds("max-gap", s)
		if err != nil {
			return nil, err
		}
		if q.MaxGaps == nil {
			q.MaxGaps = map[string]time.Duration{}
		}
		q.MaxGaps[name] = gap
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

// seconds is a length of time that an option has.
func seconds(name string, s float64) (time.Duration, error) {
	if !(s >= 0 && s < 9e9) {
		return 0, batching.Usagef("--%s: got %g, want seconds, 0 or more", name, s)
	}
	return time.Duration(math.Round(s * 1e9)), nil
}
