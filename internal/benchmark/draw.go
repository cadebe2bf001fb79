package benchmark

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// DrawJob draws batches of Windows windows, shuffled, from a store with Episodes episodes and Streams streams. Each episode has 125 to
// 375 windows at 50 Hz, and as many samples in each stream. Every call draws the next batch.
type DrawJob struct {
	Windows  int  `json:"windows"`
	Episodes int  `json:"episodes"`
	Streams  int  `json:"streams"`
	Trusted  bool `json:"trusted,omitempty"` // tables are not checked
}

var drawSuite = suite{
	name: "draw", about: "the windows of the next batch, from the episodes of a store",
	jobs: func() []Job {
		var out []Job
		for _, windows := range []int{32, 4096} {
			for _, episodes := range []int{1000, 100_000} {
				out = append(out, &DrawJob{Windows: windows, Episodes: episodes, Streams: 2}, &DrawJob{Windows: windows, Episodes: episodes, Streams: 2, Trusted: true})
			}
		}
		return out
	},
	empty: func() Job { return &DrawJob{} },
	random: func(rng *rand.Rand) Job {
		return &DrawJob{Windows: logUniform(rng, 1, 8192), Episodes: logUniform(rng, 100, 200_000), Streams: rng.IntN(ops.MaxStreams + 1), Trusted: rng.IntN(2) == 0}
	},
}

func (j *DrawJob) Suite() string { return "draw" }

// Name returns the windows, the episodes and the streams.
func (j *DrawJob) Name() string {
	name := fmt.Sprintf("%d of %s episodes, %d streams", j.Windows, count(j.Episodes), j.Streams)
	if j.Trusted {
		name += ", trusted"
	}
	return name
}

func (j *DrawJob) Keys() []Key {
	return keysOf("windows", j.Windows, "episodes", j.Episodes, "streams", j.Streams, "trusted", j.Trusted)
}

func (j *DrawJob) check() error {
	return errors.Join(within("windows", j.Windows, 1, 1<<20), within("episodes", j.Episodes, 1, 1<<24), within("streams", j.Streams, 0, ops.MaxStreams))
}

// leastWindows is the minimum for an episode. Up to moreWindows-1 are added at random.
const leastWindows, moreWindows = 125, 251

func (j *DrawJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	b, e, m := int64(j.Windows), int64(j.Episodes), int64(j.Streams)
	// Read: the tables if they are checked, or else only the entries that a window needs. Written: one row per window.
	w := &work{limit: true, read: 16 + 8*(e+1+e+m*(e+1)), written: 16 + 8*b*(3+2*m)}
	w.sets = r.sets(w.read + w.written)
	if j.Trusted {
		w.read = 16 + 8*b*(3+2*m)
	}
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }
	rng := rand.New(rand.NewPCG(seed, 7))
	windows, begins := make([]int64, e+1), make([]int64, e)
	for i := range begins {
		windows[i+1] = windows[i] + leastWindows + rng.Int64N(moreWindows)
		begins[i] = windows[i] * 20_000_000
	}
	var all ops.DrawArgs // for all sets
	all.Streams = make([]ops.DrawStream, j.Streams)
	type table struct {
		to   **tensor.Tensor
		data []int64
	}
	tables := []table{{&all.Windows, windows}, {&all.Begins, begins}, {&all.Cursor, make([]int64, 2)}}
	outputs := []**tensor.Tensor{&all.Episodes, &all.Ticks, &all.Anchors}
	for k := range all.Streams {
		s := &all.Streams[k]
		tables = append(tables, table{&s.Offsets, windows})
		outputs = append(outputs, &s.Starts, &s.Lengths)
	}
	for _, x := range tables {
		host, err := tensor.Of(x.data, len(x.data))
		if *x.to, err = r.put(w, host, err); err != nil {
			return fail(err)
		}
	}
	for _, to := range outputs {
		var err error
		if *to, err = r.alloc(w, tensor.I64, w.sets, j.Windows); err != nil {
			return fail(err)
		}
		w.outputs = append(w.outputs, *to)
	}
	mode := min(r.opt.Launch, ops.LaunchDependent) // a cursor is ready only after the last run on its set
	err := r.plans(w, func(i int) (*ops.Plan, error) {
		args := ops.DrawArgs{Cursor: at(all.Cursor, i), Windows: at(all.Windows, i), Begins: at(all.Begins, i), Episodes: at(all.Episodes, i), Ticks: at(all.Ticks, i), Anchors: at(all.Anchors, i)}
		for _, s := range all.Streams {
			args.Streams = append(args.Streams, ops.DrawStream{Starts: at(s.Starts, i), Lengths: at(s.Lengths, i), Offsets: at(s.Offsets, i)})
		}
		return r.dev.PlanDraw(args, ops.DrawOptions{Rate: 50, Count: int(windows[e]), Batch: j.Windows, Last: ops.LastShort, Shuffle: true, Seed: seed, TrustTables: j.Trusted, Launch: mode})
	})
	if err != nil {
		return fail(err)
	}
	return w, nil
}
