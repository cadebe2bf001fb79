package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/robocache/robocache/align"
	_ "github.com/robocache/robocache/dataset/all"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// drawing is a client with a loader. It maps the slots.
type drawing struct {
	*client
	slots []byte
	reply slotsReply
}

type fields map[string]any

// connected connects a client until the test ends.
func connected(t *testing.T) *drawing { return &drawing{client: connect(t)} }

// good sends a request that must succeed, and decodes the reply.
func (c *drawing) good(do string, with fields, to any) *os.File {
	a := c.client.good(do, with)
	if to != nil {
		text, err := json.Marshal(a.object)
		require.NoError(c.t, err)
		require.NoError(c.t, json.Unmarshal(text, to))
	}
	return a.file
}

// open requests a loader.
func (c *drawing) open(with fields) *drawing {
	file := c.good("loader", with, &c.reply)
	require.NotNil(c.t, file)
	defer file.Close()
	var err error
	c.slots, err = unix.Mmap(int(file.Fd()), 0, c.reply.Slots*c.reply.SlotBytes, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { assert.NoError(c.t, unix.Munmap(c.slots)) })
	return c
}

func (c *drawing) next(release ...int) nextReply {
	var n nextReply
	c.good("next", fields{"release": release}, &n)
	return n
}

// array returns an array in a slot.
func (c *drawing) array(slot int, name, part string) []byte {
	for _, a := range c.reply.Arrays {
		if a.Name == name && a.Part == part {
			d := tensor.U8
			if a.DType != "u8" {
				var err error
				d, err = tensor.ParseDType(a.DType)
				require.NoError(c.t, err)
			}
			n := d.Size()
			for _, dim := range a.Shape {
				n *= dim
			}
			at := slot*c.reply.SlotBytes + a.At
			return c.slots[at : at+n]
		}
	}
	require.Fail(c.t, "no array", "%s %s", name, part)
	return nil
}

// all returns a slot's bytes, as text to compare.
func (c *drawing) all(slot int) string {
	return string(c.slots[slot*c.reply.SlotBytes : (slot+1)*c.reply.SlotBytes])
}

var g1Windows = fields{"observation.state": []float64{-1, 0}, "action": []float64{0, 1}}

// asked returns a request for batches from the G1 episodes.
func asked(with fields) fields {
	all := fields{"paths": []string{g1}, "batch": 8, "hz": 50, "seed": 7, "windows": g1Windows, "slots": 3, "normalise": "mean-std"}
	maps.Copy(all, with)
	return all
}

// loaderOfG1 returns the same loader in this process.
func loaderOfG1(t testing.TB, opt loader.Options) *loader.Loader {
	ctx := context.Background()
	d := settest.Open(t, g1)
	store, err := store.Build(ctx, d, store.BuildOptions{})
	require.NoError(t, err)
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	plan := align.Plan{Rate: 50, Shuffle: "windows", Windows: map[string]align.Window{"observation.state": {From: -time.Second}, "action": {To: time.Second}}, Defaults: align.Sampling{Normalise: "mean-std"}}
	opt.Seed = 7
	l, err := loader.New(ctx, cpu, store, plan, opt)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()); assert.NoError(t, cpu.Close()) })
	return l
}

// A slot holds the same batch as a loader in this process, over two epochs, for several ranks and rules for the last batch.
func TestASlotHoldsTheLoadersBatch(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, opt := range []loader.Options{{Batch: 8}, {Batch: 64, Rank: 1, Ranks: 3, Last: ops.LastShort, DType: tensor.BF16, Age: true}} {
		l := loaderOfG1(t, opt)
		with := fields{"batch": opt.Batch, "rank": opt.Rank, "world": max(opt.Ranks, 1), "last": opt.Last.String(), "age": opt.Age}
		if opt.DType != 0 {
			with["dtype"] = opt.DType.String()
		}
		c := connected(t).open(asked(with))
		assert.Equal(t, l.Report().Batches, c.reply.Report.Batches)
		assert.Len(t, c.reply.Normalised, 2)
		var held []int
		for step := range 2 * l.Report().Batches {
			require.NoError(t, l.Next(context.Background()))
			n := c.next(held...)
			held = []int{n.Slot}
			b, err := l.Batch().Host(context.Background())
			require.NoError(t, err)
			state, err := l.State(context.Background())
			require.NoError(t, err)
			assert.Equal(t, &state, n.State)
			assert.Equal(t, int64(step/l.Report().Batches), n.Epoch)
			assert.Equal(t, step%l.Report().Batches == l.Report().Batches-1, n.Last)
			for _, s := range b.Streams {
				for part, want := range map[string]*tensor.Tensor{"values": s.Values, "valid": s.Valid, "pad": s.Pad, "age": s.Age} {
					if want == nil {
						continue
					}
					bytes, err := raw.Of(want)
					require.NoError(t, err)
					require.Equal(t, bytes, c.array(n.Slot, s.Name, part), "step %d: %s.%s", step, s.Name, part)
				}
			}
			for part, want := range map[string]*tensor.Tensor{"tick": b.Ticks, "anchor": b.Anchors, "episode": b.Episodes} { // all three episodes are drawn from
				bytes, err := raw.Of(want)
				require.NoError(t, err)
				require.Equal(t, bytes, c.array(n.Slot, "", part), "step %d: %s", step, part)
			}
		}
	}
}

// A state belongs to the returned batch, not to batches drawn ahead, and resumes with any number of ranks.
func TestAStateIsThatOfTheBatchThatWasHandedOut(t *testing.T) {
	c := connected(t).open(asked(fields{"batch": 6}))
	other := connected(t).open(asked(fields{"batch": 3, "world": 2, "rank": 1}))
	held := []int{}
	var taken []int
	for range 40 {
		n := c.next(held...)
		held = []int{n.Slot}
		time.Sleep(time.Millisecond) // others are drawn ahead
		after := c.next(held...)
		var at struct{ Epoch int64 }
		other.good("resume", fields{"state": n.State}, &at)
		assert.Equal(t, after.Epoch, at.Epoch)
		o := other.next(taken...)
		taken = []int{o.Slot}
		assert.Equal(t, after.State, o.State)
		for row := range 3 { // with two ranks, rank 1 has every second position
			want := c.array(after.Slot, "", "anchor")[8*(2*row+1):][:8]
			assert.Equal(t, want, other.array(o.Slot, "", "anchor")[8*row:][:8])
		}
		held = []int{after.Slot}
	}
}

// A slot does not change while the client holds it.
func TestASlotThatIsHeldIsLeftAlone(t *testing.T) {
	c := connected(t).open(asked(nil))
	kept := c.next()
	before := c.all(kept.Slot)
	last := c.next()
	for range 50 {
		last = c.next(last.Slot)
		assert.NotEqual(t, kept.Slot, last.Slot)
	}
	c.good("resume", fields{"state": last.State}, nil)
	last = c.next(last.Slot)
	assert.Equal(t, before, c.all(kept.Slot))
	third := c.next()
	assert.NotContains(t, []int{kept.Slot, last.Slot}, third.Slot)

	assert.Equal(t, "RequestError", c.bad("next", fields{}).Class, "all are held, so nothing can come")
	var none nextReply
	c.good("next", fields{"poll": true}, &none)
	assert.Equal(t, -1, none.Slot)
	assert.Equal(t, before, c.all(kept.Slot))
	assert.Nil(t, none.State)
	assert.NotEqual(t, before, c.all(c.next(kept.Slot).Slot))
}

func TestWhatALoaderCannotBeIsSaid(t *testing.T) {
	broken := t.TempDir()
	filetest.Write(t, filepath.Join(broken, "a.mcap"), "no recording")
	for _, c := range []struct {
		with       fields
		class, say string
	}{
		{fields{"paths": []string{}}, "OptionError", "paths: got none"},
		{fields{"batch": 0}, "OptionError", "batch: got 0"},
		{fields{"batch": 100000}, "OptionError", "batch: got 100000 of each of 1 ranks"},
		{fields{"hz": -1}, "OptionError", "hz: got -1"},
		{fields{"hz": 1e10}, "OptionError", "hz: got 1e+10"},
		{fields{"slots": 0}, "OptionError", "slots: got 0"},
		{fields{"slots": 1 << 40}, "OptionError", "slots"},
		{fields{"rank": 3, "world": 2}, "OptionError", "rank: got 3 of world 2"},
		{fields{"rank": 3}, "OptionError", "rank: got 3 without world"},
		{fields{"last": "keep"}, "OptionError", `last: got "keep"`},
		{fields{"frame_memory": -2}, "OptionError", "frame_memory: got -2"},
		{fields{"frame_memory": "all"}, "OptionError", `frame_memory: got "all", want a whole number`},
		{fields{"dtype": "f8"}, "OptionError", `dtype: got "f8", want f32`},
		{fields{"windows": fields{"action": []int{1}}}, "OptionError", "windows: got [1], want [from, to] in seconds"},
		{fields{"dtype": "i32"}, "OptionError", `dtype: got "i32"`},
		{fields{"shuffle": "twice"}, "OptionError", `shuffle: got "twice"`},
		{fields{"shuffle": "none", "shard_windows": 4}, "OptionError", "shard_windows"},
		{fields{"windows": fields{"nobody": []float64{0, 1}}}, "OptionError", `windows: got stream "nobody"`},
		{fields{"windows": fields{"action": []float64{0, 1e300}}}, "OptionError", "want seconds"},
		{fields{"windows": fields{"action": []float64{1, 0}}}, "PlanError", "a beginning before the end"},
		{fields{"normalise": "best"}, "PlanError", "normalise"},
		{fields{"normalise": fields{"nobody": "mean-std"}}, "OptionError", `normalise: got stream "nobody"`},
		{fields{"weights": []float64{1, 2}}, "OptionError", "weights: got 2"},
		{fields{"weights": []float64{-1}}, "OptionError", "weights: got -1"},
		{fields{"streams": []fields{{"name": "nobody"}}}, "OptionError", "nobody"},
		{fields{"cameras": []fields{{"name": "front", "height": 4, "width": 4}}}, "OptionError", "front"},
		{fields{"plan": "version: 1\nrate: 50\n"}, "OptionError", "plan: got it with hz"},
		{fields{"plan": "version: 1\nrte: 50\n", "hz": 0, "windows": fields{}, "normalise": nil, "plan_name": "a.yaml"}, "PlanError", "a.yaml"},
		{fields{"paths": []string{filepath.Join(broken, "none")}}, "RecordingError", "none"},
		{fields{"paths": []string{filepath.Join(broken, "a.mcap")}}, "FormatError", "a.mcap"},
		{fields{"streaming": true, "paths": []string{g1, g1}}, "OptionError", "streaming"},
		{fields{"nobody": 1}, "RequestError", "nobody"},
	} {
		conn := connected(t)
		got := conn.bad("loader", asked(c.with))
		assert.Equal(t, c.class, got.Class, "%v: %+v", c.with, got)
		assert.Contains(t, fmt.Sprintf("%+v", got), c.say, "%v", c.with)
		assert.NotContains(t, got.Message, "--", "the message speaks of flags")
		conn.open(asked(nil)) // the failed loader has left nothing
	}
	c := connected(t)
	for _, do := range []string{"next", "resume", "report"} {
		assert.Equal(t, "RequestError", c.bad(do, nil).Class, do)
	}
	c.open(asked(nil))
	assert.Equal(t, "RequestError", c.bad("loader", asked(nil)).Class)
	for _, slot := range []int{-1, 0, 3, 1 << 40} {
		assert.Equal(t, "RequestError", c.bad("next", fields{"release": []int{slot}}).Class)
	}
	state := c.next().State
	other := *state
	other.Seed++
	assert.Equal(t, "LoaderError", c.bad("resume", fields{"state": other}).Class)
	other = *state
	other.Epoch = -1
	assert.Equal(t, "LoaderError", c.bad("resume", fields{"state": other}).Class)
	assert.Equal(t, state.Taken+8, c.next().State.Taken, "a state that is refused leaves the place")
}

// The report comes while batches are drawn, and its lists are never null.
func TestALoaderReportsMeanwhile(t *testing.T) {
	c := connected(t).open(asked(fields{"streaming": true, "shard_windows": 100, "mix_shards": 2}))
	var got struct {
		Report map[string]any
		Waits  map[string]float64
	}
	last := c.next()
	for range 300 {
		last = c.next(last.Slot)
		c.good("report", nil, &got)
	}
	assert.Positive(t, got.Waits["bytes"])
	for _, name := range []string{"notes", "streams", "cameras", "mixture"} {
		assert.IsType(t, []any{}, got.Report[name], name)
	}
}

// A panic while drawing ahead is the batch's error. It is repeated until a resume, which continues.
func TestAPanicInDrawingAheadIsTheBatchsError(t *testing.T) {
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	text, err := json.Marshal(asked(nil))
	require.NoError(t, err)
	var ask loaderRequest
	require.NoError(t, json.Unmarshal(text, &ask))
	l, err := openLoading(t.Context(), &Conn{}, &ask)
	require.NoError(t, err)
	s := &slots{loading: l}
	require.NoError(t, s.open(t.Context(), cpu, 2))
	begin, err := s.loader.State(t.Context())
	require.NoError(t, err)
	whole := s.layout
	s.layout = &layout{arrays: []slotArray{{size: -1}}}
	s.start()
	var said strings.Builder
	c := newConn(nil, "(devel)")
	c.slots, c.stderr, c.greeted = s, &said, true
	for range 2 {
		_, err = c.handle(t.Context(), &Request{JSON: []byte(`{"do":"next"}`)})
		var p *PanicError
		require.ErrorAs(t, err, &p)
		assert.Equal(t, "PanicError", failureOf(err).Class)
	}
	assert.Contains(t, said.String(), "loaderslot.go", "where it was")
	s.pause()
	s.layout = whole
	require.NoError(t, s.resume(t.Context(), begin))
	_, err = s.next(t.Context(), true)
	assert.NoError(t, err)
	assert.NoError(t, s.Close())
}

// A refused state keeps the batches drawn ahead.
func TestAStateThatIsRefusedLeavesWhatWasDrawnAhead(t *testing.T) {
	c := connected(t).open(asked(nil))
	before := c.next(c.next().Slot)
	for _, change := range []func(*loader.State){func(s *loader.State) { s.Windows++ }, func(s *loader.State) { s.Taken = -1 }, func(s *loader.State) { s.Version = 2 }} {
		state := *before.State
		change(&state)
		assert.Equal(t, "LoaderError", c.bad("resume", fields{"state": state}).Class)
	}
	assert.Equal(t, before.State.Taken+8, c.next().State.Taken)
}

// Some episodes are normalised with the statistics of others, in the form that a reply has.
func TestALoaderTakesSomeEpisodesAndTheStatisticsOfOthers(t *testing.T) {
	train := connected(t).open(asked(fields{"episodes": [][]int{{0, 1}}}))
	held := fields{"episodes": [][]int{{2}}}
	own := connected(t).open(asked(held))
	assert.NotEqual(t, train.reply.Normalised, own.reply.Normalised)
	held["statistics"] = train.reply.Normalised
	c := connected(t).open(asked(held))
	assert.Equal(t, train.reply.Normalised, c.reply.Normalised)
	assert.Equal(t, own.reply.Report.Windows, c.reply.Report.Windows)
	n, o := c.next(), own.next()
	assert.Equal(t, raw.Bytes(slices.Repeat([]int64{2}, 8)), c.array(n.Slot, "", "episode"))
	assert.Equal(t, own.array(o.Slot, "", "anchor"), c.array(n.Slot, "", "anchor"))
	assert.False(t, bytes.Equal(own.array(o.Slot, "action", "values"), c.array(n.Slot, "action", "values")))
	f := connected(t).bad("loader", asked(fields{"episodes": [][]int{{0}, {1}}}))
	assert.Equal(t, []string{"OptionError", "episodes", "those of 2 datasets", "of 1"}, []string{f.Class, f.Arg, f.Got, f.Want})
}
