package doctor

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// memory is a dataset of episodes in memory.
type memory struct {
	info     dataset.Info
	episodes []*dataset.Episode
	stated   []dataset.Stated
}

func (m *memory) Name() string       { return "memory" }
func (m *memory) Format() string     { return "memory" }
func (m *memory) Info() dataset.Info { return m.info }
func (m *memory) Len() int           { return len(m.episodes) }
func (m *memory) Close() error       { return nil }

func (m *memory) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	if m.episodes[i] == nil {
		return nil, &dataset.FormatError{Format: "memory", Offset: -1, Kind: dataset.ErrCorrupt, Msg: "episode"}
	}
	return m.episodes[i], nil
}

func (m *memory) Stated(context.Context) ([]dataset.Stated, dataset.Notes, error) {
	return m.stated, nil, nil
}

// tape is a stream that is being made.
type tape struct {
	name    string
	times   []int64
	rows    [][]float64
	columns []dataset.Column
}

func (t *tape) stream(tt *testing.T) dataset.Stream {
	flat := make([]float64, 0, len(t.rows)*len(t.columns))
	for _, r := range t.rows {
		flat = append(flat, r...)
	}
	s, err := dataset.NewStream(t.name, t.times, tensor.Must(tensor.Of(flat, len(t.rows), len(t.columns))), t.columns)
	require.NoError(tt, err)
	return s
}

// cut leaves samples out.
func (t *tape) cut(from, to int) {
	t.times = append(append([]int64{}, t.times[:from]...), t.times[to:]...)
	t.rows = append(append([][]float64{}, t.rows[:from]...), t.rows[to:]...)
}

const epoch = int64(1_700_000_000_000_000_000)

// recording is what a healthy robot records in twenty seconds: an inertial sensor, joints, a tracked pose, a gripper that is told where to be, and commands.
func recording(seed uint64) map[string]*tape {
	r := rand.New(rand.NewPCG(seed, 1))
	motion := func(sec float64, k int) float64 { // no two columns move alike, and none repeats itself
		f := float64(k)
		return 0.8*math.Sin(0.7*sec*(1+0.13*f)+f) + 0.3*math.Sin(2.3*sec*(1+0.07*f)+2*f) + 0.1*math.Sin(5.1*sec*(1+0.05*f)+3*f)
	}
	columns := func(names ...string) (list []dataset.Column) {
		for _, n := range names {
			list = append(list, dataset.Column{Name: n, Type: "double"})
		}
		return list
	}
	make := func(name string, rate, jitter float64, cols []dataset.Column, row func(sec float64) []float64) *tape {
		t := &tape{name: name, columns: cols}
		for i := range int(20 * rate) {
			sec := (float64(i) + jitter*(r.Float64()-0.5)) / rate
			t.times = append(t.times, epoch+int64(sec*1e9))
			t.rows = append(t.rows, row(sec))
		}
		return t
	}
	list := []*tape{
		make("imu", 200, 0.1, columns("gx", "gy", "gz", "ax", "ay", "az"), func(sec float64) (row []float64) {
			for k := range 6 {
				row = append(row, motion(sec, 20+k)+0.05*r.NormFloat64())
			}
			return row
		}),
		make("joints", 100, 0.05, columns("shoulder", "elbow", "wrist"), func(sec float64) []float64 {
			return []float64{motion(sec, 0), motion(sec, 1), motion(sec, 2)}
		}),
		make("tracker", 120, 0.05, columns("x", "y", "z", "qx", "qy", "qz", "qw"), func(sec float64) []float64 {
			a, b := 0.6*motion(sec, 7), 0.5*motion(sec, 8)
			return []float64{motion(sec, 4), motion(sec, 5), motion(sec, 6), math.Sin(a) * math.Cos(b), math.Sin(a) * math.Sin(b), 0, math.Cos(a)}
		}),
		make("gripper", 30, 0.05, columns("width"), func(sec float64) []float64 { return []float64{min(max(3*math.Sin(sec/2), 0.01), 0.08)} }),
		make("heading", 20, 0.05, columns("yaw"), func(sec float64) []float64 { return []float64{0.9 * motion(sec, 30)} }),
		make("action", 50, 0, columns("shoulder", "elbow", "wrist"), func(sec float64) []float64 {
			return []float64{motion(sec+0.1, 0), motion(sec+0.1, 1), motion(sec+0.1, 2)}
		}),
	}
	out := map[string]*tape{}
	for _, t := range list {
		out[t.name] = t
	}
	return out
}

func episodeOf(t *testing.T, tapes map[string]*tape) *dataset.Episode {
	e := &dataset.Episode{Name: "0"}
	for _, name := range []string{"imu", "joints", "tracker", "gripper", "heading", "action"} {
		if tapes[name] != nil {
			e.Streams = append(e.Streams, tapes[name].stream(t))
		}
	}
	return e
}

func examined(t *testing.T, m *memory, opt Options) *Report {
	r, err := Examine(context.Background(), m, opt)
	require.NoError(t, err)
	return r
}

func TestAHealthyRecordingHasNoFindings(t *testing.T) {
	for seed := range uint64(20) {
		m := &memory{episodes: []*dataset.Episode{episodeOf(t, recording(seed))}}
		assert.Empty(t, examined(t, m, Options{}).Findings, "seed %d", seed)
	}
}

// Each planted fault is found, where it is and as often as it is there, and nothing else is.
func TestEachPlantedFaultIsFoundAndNothingElse(t *testing.T) {
	const at = 1000 // of the inertial sensor, and half of it of the joints
	for _, c := range []struct {
		name   string
		kind   Kind
		stream string
		count  int
		plant  func(map[string]*tape)
	}{
		{"samples lost", Gap, "joints", 1, func(r map[string]*tape) { r["joints"].cut(500, 520) }},
		{"samples lost twice", Gap, "imu", 2, func(r map[string]*tape) { r["imu"].cut(2000, 2020); r["imu"].cut(at, at+10) }},
		{"samples of a camera's clock lost", Gap, "heading", 1, func(r map[string]*tape) { r["heading"].cut(100, 104) }},
		{"a timestamp twice", Duplicate, "joints", 1, func(r map[string]*tape) { r["joints"].times[500] = r["joints"].times[499] }},
		{"a sample twice", Duplicate, "imu", 3, func(r map[string]*tape) {
			for _, i := range []int{100, 900, 1500} {
				r["imu"].times[i], r["imu"].rows[i] = r["imu"].times[i-1], r["imu"].rows[i-1]
			}
		}},
		{"a step back", BackStep, "joints", 1, func(r map[string]*tape) { r["joints"].times[500] -= 15_000_000 }},
		{"samples swapped", BackStep, "imu", 1, func(r map[string]*tape) {
			r["imu"].times[at], r["imu"].times[at+1] = r["imu"].times[at+1], r["imu"].times[at]
		}},
		{"a clock set back", BackStep, "imu", 1, func(r map[string]*tape) {
			for i := at; i < len(r["imu"].times); i++ {
				r["imu"].times[i] -= 3_000_000_000
			}
		}},
		{"a clock not set at first", StrayTime, "joints", 2, func(r map[string]*tape) { r["joints"].times[0], r["joints"].times[1] = 0, 0 }},
		{"microseconds", TimeUnit, "joints", 2000, func(r map[string]*tape) {
			for i := range r["joints"].times {
				r["joints"].times[i] /= 1000
			}
		}},
		{"seconds through float32", Float32Clock, "joints", 2000, func(r map[string]*tape) {
			for i, ns := range r["joints"].times {
				r["joints"].times[i] = int64(float64(float32(float64(ns-epoch)/1e9+20_000)) * 1e9)
			}
			for name, other := range r {
				if name == "joints" {
					continue
				}
				for i := range other.times {
					other.times[i] -= epoch - 20_000_000_000_000
				}
			}
		}},
		{"milliseconds", CoarseClock, "tracker", 2400, func(r map[string]*tape) {
			for i, ns := range r["tracker"].times {
				r["tracker"].times[i] = (ns + 500_000) / 1_000_000 * 1_000_000
			}
		}},
		{"jitter", Jitter, "joints", 2000, func(r map[string]*tape) {
			for i := range r["joints"].times {
				r["joints"].times[i] += int64(i*7919%10) * 700_000
			}
		}},
		{"so much jitter that no step is as the other", Jitter, "joints", 2000, func(r map[string]*tape) {
			noise := rand.New(rand.NewPCG(5, 5))
			for i := range r["joints"].times {
				r["joints"].times[i] += int64(math.Abs(noise.NormFloat64()) * 10_000_000)
			}
			slices.Sort(r["joints"].times)
		}},
		{"bursts", Jitter, "joints", 2000, func(r map[string]*tape) {
			for i := range r["joints"].times { // five at a time
				r["joints"].times[i] = r["joints"].times[i/5*5+4] + int64(i%5)*100_000
			}
		}},
		{"NaN", NaN, "joints", 1, func(r map[string]*tape) { r["joints"].rows[500][1] = math.NaN() }},
		{"infinite", NaN, "imu", 2, func(r map[string]*tape) { r["imu"].rows[7][0], r["imu"].rows[at][3] = math.Inf(1), math.Inf(-1) }},
		{"a column of NaN", NaN, "imu", 4000, func(r map[string]*tape) {
			for _, row := range r["imu"].rows {
				row[2] = math.NaN()
			}
		}},
		{"a column that is infinite", NaN, "joints", 2000, func(r map[string]*tape) {
			for _, row := range r["joints"].rows {
				row[2] = math.Inf(1)
			}
		}},
		{"noise that stops", Stuck, "imu", 1, func(r map[string]*tape) { hold(r["imu"], at, at+200) }},
		{"a motion that stops", Stuck, "joints", 1, func(r map[string]*tape) { hold(r["joints"], 500, 600) }},
		{"a motion that stops for good", Stuck, "joints", 1, func(r map[string]*tape) { hold(r["joints"], 1500, 2000) }},
		{"written twice as fast as measured", Repeated, "joints", 1000, func(r map[string]*tape) {
			for i := 1; i < 2000; i += 2 {
				hold(r["joints"], i-1, i+1)
			}
		}},
		{"cut off", Saturation, "imu", 0, func(r map[string]*tape) {
			for _, row := range r["imu"].rows {
				row[3] = min(row[3], 0.6)
			}
		}},
		{"a motion cut off on both sides", Saturation, "joints", 0, func(r map[string]*tape) {
			for _, row := range r["joints"].rows {
				row[1] = max(min(row[1], 0.5), -0.5)
			}
		}},
		{"values that jump and come back", Spike, "joints", 3, func(r map[string]*tape) {
			r["joints"].rows[500][1] += 50
			r["joints"].rows[900][1], r["joints"].rows[901][1] = 1e30, 1e30
			r["joints"].rows[1200][2] = 0
			r["joints"].rows[1200][2] -= 4
		}},
		{"zeros of a sensor that did not answer", Spike, "joints", 0, func(r map[string]*tape) {
			for _, i := range []int{300, 800, 1250} {
				scale(r["joints"].rows[i], 0)
			}
		}},
		{"degrees for a while", UnitJump, "joints", 2, func(r map[string]*tape) {
			for i := 500; i < 600; i++ {
				scale(r["joints"].rows[i], 180/math.Pi)
			}
		}},
		{"millimetres from then on", UnitJump, "joints", 1, func(r map[string]*tape) {
			for i := 900; i < 2000; i++ {
				scale(r["joints"].rows[i], 1000)
			}
		}},
		{"quaternions too long", QuaternionNorm, "tracker", 5, func(r map[string]*tape) {
			for i := 700; i < 705; i++ {
				scale(r["tracker"].rows[i][3:], 1.1)
			}
		}},
		{"a tracker that lost its target", QuaternionNorm, "tracker", 30, func(r map[string]*tape) {
			for i := 700; i < 730; i++ {
				scale(r["tracker"].rows[i][3:], 0)
			}
		}},
		{"a quaternion's sign", QuaternionFlip, "tracker", 2, func(r map[string]*tape) {
			for i := 700; i < 900; i++ {
				scale(r["tracker"].rows[i][3:], -1)
			}
		}},
		{"an angle that wraps", AngleWrap, "heading", 0, func(r map[string]*tape) {
			for i, row := range r["heading"].rows {
				row[0] = math.Remainder(row[0]+float64(i)/20, 2*math.Pi)
			}
		}},
		{"degrees that wrap", AngleWrap, "heading", 0, func(r map[string]*tape) {
			for i, row := range r["heading"].rows {
				row[0] = math.Mod(360+math.Mod(row[0]*57+float64(i)*3, 360), 360)
			}
		}},
		{"an hour apart", NoOverlap, "joints", 1, func(r map[string]*tape) {
			for i := range r["joints"].times {
				r["joints"].times[i] += 3_600_000_000_000
			}
		}},
		{"a stream that starts late", ShortCover, "action", 1, func(r map[string]*tape) { r["action"].cut(0, 600) }},
		{"an offset", ClockOffset, "tracker", 1, func(r map[string]*tape) {
			for i := range r["tracker"].rows { // the same hand, seen by a camera that stamps what arrives
				sec := float64(r["tracker"].times[i]-epoch) / 1e9
				j := min(int(sec*100), 1999)
				copy(r["tracker"].rows[i][:3], r["joints"].rows[j])
			}
			for i := range r["tracker"].times {
				r["tracker"].times[i] += 80_000_000
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tapes := recording(3)
			c.plant(tapes)
			report := examined(t, &memory{episodes: []*dataset.Episode{episodeOf(t, tapes)}}, Options{Path: "here"})
			require.NotEmpty(t, report.Findings)
			for _, f := range report.Findings {
				assert.Equal(t, []any{c.kind, c.stream}, []any{f.Kind, f.Subject()}, "%s: %s", f.Kind, f.Why)
			}
			require.Len(t, report.Findings, 1)
			f := report.Findings[0]
			if c.count > 0 {
				assert.Equal(t, c.count, f.Count)
			}
			assert.NotEmpty(t, f.At)
			assert.NotEmpty(t, f.WhatToDo)
			assert.Equal(t, "here", f.Path)
			if strings.HasPrefix(c.name, "a column") {
				assert.Equal(t, Information, f.Severity, "of a log, whose messages have fields that nobody fills")
			}
		})
	}
}

// A stream that is still in one episode and moves in the others is stuck there; one that is still in most of them is meant so.
func TestAStreamThatIsStillInOneEpisodeOnlyIsStuck(t *testing.T) {
	m := &memory{}
	for i := range uint64(6) {
		tapes := recording(i)
		hold(tapes["heading"], 0, len(tapes["heading"].rows))
		if i == 2 {
			hold(tapes["joints"], 0, len(tapes["joints"].rows))
		}
		m.episodes = append(m.episodes, episodeOf(t, tapes))
	}
	found := examined(t, m, Options{}).Findings
	require.Len(t, found, 1)
	assert.Equal(t, []any{Stuck, "joints", 2}, []any{found[0].Kind, found[0].Subject(), found[0].Episode})
}

// hold repeats a row.
func hold(t *tape, from, to int) {
	for i := from + 1; i < to; i++ {
		t.rows[i] = append([]float64{}, t.rows[from]...)
	}
}

func scale(row []float64, by float64) {
	for i := range row {
		row[i] *= by
	}
}

// endless is a dataset whose episodes are made when they are asked for, each with a fault.
type endless struct {
	memory
	n, rows int
}

func (d *endless) Len() int { return d.n }

func (d *endless) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	times, values := make([]int64, d.rows), make([]float32, 8*d.rows)
	for k := range times {
		times[k] = int64(k) * 10_000_000
		if k > d.rows/2 {
			times[k] += 1_000_000_000
		}
		for c := range 8 {
			values[8*k+c] = float32(math.Sin(float64(k*(c+1)+i) / 50))
		}
	}
	s, err := dataset.NewStream("state", times, tensor.Must(tensor.Of(values, d.rows, 8)), nil)
	return &dataset.Episode{Streams: []dataset.Stream{s}}, err
}

// Examining a hundred times as much takes no more memory, though every episode has a finding: 1000 are listed, and the others counted.
func TestMemoryDoesNotGrowWithTheDataset(t *testing.T) {
	kept := func(n int) (int, *Report) {
		r, err := Examine(context.Background(), &endless{n: n, rows: 500}, Options{})
		require.NoError(t, err)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc), r
	}
	few, _ := kept(100)
	many, r := kept(3000)
	assert.Less(t, many-few, 4<<20)
	assert.Len(t, r.Findings, MostOfKind)
	assert.Equal(t, 2000, r.Checked.Unlisted)
	assert.Equal(t, 3000, r.Checked.Episodes)
	drawn := 0
	for _, f := range r.Findings {
		assert.Nil(t, f.draw, "it holds the episode")
		if f.Plot != nil {
			drawn++
		}
	}
	assert.Equal(t, mostDrawn, drawn)
	runtime.KeepAlive(r)
}

func TestTheEndOfTheContextEndsExamining(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	r, err := Examine(ctx, &endless{n: 1000, rows: 50}, Options{Next: func() {
		if n++; n == 5 {
			cancel()
		}
	}})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Nil(t, r)
	assert.Less(t, n, 50)
}

// ill is a recording with several faults, whose names would break a page that does not escape them.
func ill(t *testing.T) *Report {
	tapes := recording(3)
	tapes["joints"].cut(500, 520)
	tapes["joints"].name = `<script>alert("joints")</script>`
	hold(tapes["imu"], 1000, 1200)
	for i := 700; i < 900; i++ {
		scale(tapes["tracker"].rows[i][3:], -1)
	}
	tapes["imu"].times[3000] = tapes["imu"].times[2999]
	m := &memory{episodes: []*dataset.Episode{episodeOf(t, tapes), nil}}
	m.info.Notes = dataset.Notes{{Code: dataset.CodeFilesMissing, Subject: "videos", Count: 2, Detail: dataset.Detail{Of: 3, Names: []string{"a.mp4"}}}}
	return examined(t, m, Options{Path: "here"})
}

func TestFindingsAreInOrderAndTheSameEachTime(t *testing.T) {
	a, err := json.Marshal(ill(t))
	require.NoError(t, err)
	b, err := json.Marshal(ill(t))
	require.NoError(t, err)
	assert.Equal(t, string(a), string(b))
	last := Whole
	for _, f := range ill(t).Findings {
		assert.GreaterOrEqual(t, f.Episode, last)
		last = f.Episode
	}
	assert.Contains(t, string(a), `"episode":null,"at_ns":[]`)
}

func TestEveryKindHasAdviceAndItsOwnName(t *testing.T) {
	text := filetest.Read(t, "../docs/doctor.md")
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		assert.False(t, seen[k], k)
		seen[k] = true
		assert.NotEmpty(t, advice[k].severity, k)
		assert.Contains(t, string(text), "| `"+string(k)+"` | "+string(advice[k].severity), k)
	}
	assert.Len(t, advice, len(seen))
}
