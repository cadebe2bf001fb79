package benchmark

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// tiny makes a job of the forms suite small enough for any device, with its form kept.
func tiny(t *testing.T, j Job) Job {
	r, ok := j.(*ResampleJob)
	require.True(t, ok)
	few := *r
	few.B, few.S, few.T = min(r.B, 2), 19+r.S%7, 12+r.T%5
	if few.T = min(few.T, 15); r.T > r.S {
		few.T = 2 * few.S
	}
	return &few
}

func TestEveryFormIsMeasured(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	every := func(t *testing.T, dev *ops.Device) {
		jobs, err := Jobs("forms")
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(jobs), 20)
		for i, j := range jobs {
			jobs[i] = tiny(t, j)
		}
		jobs = append(jobs,
			&FuseJob{B: 2, T: 9, Streams: []FuseShape{{5, 3}, {17, 4}}, Form: Form{Values: "f16", Times: "i64", Clock: "gapped", MaxGap: 100, Shuffle: true, Valid: true, Age: true}},
			&ResampleJob{B: 2, S: 40, T: 9, D: 4, Kind: "window-mean", Window: 300, Form: Form{Clock: "even"}})
		r := measured(t, dev, quick, jobs...)
		assert.Empty(t, r.Skipped)
		for i, row := range r.Rows {
			assert.Positive(t, row.Ratio, row.Job)
			list, why, err := Explain(dev, jobs[i], ops.LaunchInputsReady)
			require.NoError(t, err)
			if dev.Info().Backend != "cpu" {
				assert.Len(t, list, 1, "%s: %s", row.Job, why)
			}
		}
	}
	t.Run("cpu", func(t *testing.T) { every(t, cpu(t)) })
	onDevices(t, every)
}

func TestTheLeastBytesOfFormsAreCounted(t *testing.T) {
	for _, x := range []struct {
		job           Job
		read, written int64
	}{
		// i64 timestamps are read whole; mask and age are written.
		{&ResampleJob{B: 2, S: 400, T: 10, D: 3, Form: Form{Values: "f16", Times: "i64", Valid: true, Age: true}}, 2*2*10*3*2 + 8*2*410, 2*10*3*2 + 2*10*(1+8)},
		// A mask alone, and targets in any order, which cost no byte more.
		{&ResampleJob{B: 2, S: 400, T: 10, D: 3, Form: Form{Times: "f64", Valid: true, Shuffle: true}}, 2*2*10*3*2 + 8*2*410, 2*10*3*2 + 2*10},
		// One sample a target, and four.
		{&ResampleJob{B: 1, S: 400, T: 10, D: 3, Kind: "previous"}, 10*3*2 + 4*410, 10 * 3 * 2},
		{&ResampleJob{B: 1, S: 400, T: 10, D: 3, Kind: "pchip"}, 4*10*3*2 + 4*410, 10 * 3 * 2},
		// A channel table: each range its own rows.
		{&ResampleJob{B: 1, S: 400, T: 10, D: 5, Channels: []ChannelShape{{"previous", 1}, {"slerp", 4}}}, 10*2 + 2*10*4*2 + 4*410, 10 * 5 * 2},
		// Six even samples a second apart; targets on 0 and 5 need one, those at 1.25, 2.5 and 3.75 two: all but none are shared.
		{&ResampleJob{B: 1, S: 6, T: 5, D: 1, Kind: "window-max", Window: 1000, Form: Form{Clock: "even"}}, 5*2 + 4*11, 5 * 2},
		{&ResampleJob{B: 1, S: 6, T: 5, D: 1, Kind: "window-max", Window: 9000, Form: Form{Clock: "even", Times: "i64"}}, 6*2 + 8*11, 5 * 2},
		{&FuseJob{B: 2, T: 10, Streams: []FuseShape{{400, 3}, {5, 4}}, Form: Form{Values: "f32", Times: "f64", Valid: true, Age: true}},
			(2*2*10*3+2*5*4)*4 + 8*2*(400+5+10), 2*10*7*4 + 2*2*10*(1+8)},
	} {
		read, written, err := Runs(cpu(t), x.job, 2)
		require.NoError(t, err)
		assert.Equal(t, []int64{x.read, x.written}, []int64{read, written}, "%s %s", x.job.Suite(), x.job.Name())
	}
}

// What is counted is what a target depends on: a result changes where a counted sample is changed, and only there.
func TestTheSamplesThatTargetsNeedAreCounted(t *testing.T) {
	dev := cpu(t)
	for _, form := range []Form{{Clock: "gapped", Times: "i64"}, {Clock: "gapped", Times: "f64", Shuffle: true}, {Clock: "gapped"}} {
		for _, kind := range []ops.Interp{ops.InterpLinear, ops.InterpPrevious, ops.InterpNext, ops.InterpNearest, ops.InterpWindowMean, ops.InterpWindowLast} {
			const b, s, n = 2, 23, 11
			rng := rand.New(rand.NewPCG(3, 3))
			times, err := form.timestamps(rng, b, s, "")
			require.NoError(t, err)
			targets, err := form.targets(rng, b, n)
			require.NoError(t, err)
			opt := ops.ResampleOptions{Interp: kind}
			if kind.Windowed() {
				opt.Window = ops.Within(4e8)
			}
			src := make([]float32, b*s)
			run := func() []float32 {
				out, err := dev.Resample(context.Background(), ops.ResampleArgs{Src: tensor.Must(tensor.Of(src, b, s, 1)), SrcTimes: times, Targets: ops.At(targets)}, opt)
				require.NoError(t, err)
				return dataOf[float32](out.Values)
			}
			var used int64
			clean := run()
			for i := range src {
				src[i] = 1
				for k, v := range run() {
					if math.Float32bits(v) != math.Float32bits(clean[k]) {
						used++
						break
					}
				}
				src[i] = 0
			}
			assert.Equal(t, used, needed(ops.Channel{Interp: kind, Window: opt.Window}, times, targets), "%v %+v", kind, form)
		}
	}
}

func TestGappedClocksHaveGaps(t *testing.T) {
	f := Form{Clock: "gapped", Times: "f64"}
	for _, s := range []int{2, 3, 5, 6, 100} {
		c := dataOf[float64](tensorOf(t)(f.timestamps(rand.New(rand.NewPCG(1, 1)), 1, s, "")))
		assert.Zero(t, c[0])
		assert.InDelta(t, span, c[s-1], 1e-9)
		gaps := 0
		for i := 1; i < s; i++ {
			assert.Greater(t, c[i], c[i-1])
			if c[i]-c[i-1] > span/20 {
				gaps++
			}
		}
		if s == 100 {
			assert.Equal(t, 4, gaps)
		}
	}
}

func TestShuffledTargetsAreThoseInOrder(t *testing.T) {
	row := func(f Form) []float64 {
		return dataOf[float64](tensorOf(t)(f.targets(rand.New(rand.NewPCG(1, 1)), 2, 50)))
	}
	even, mixed := row(Form{Times: "f64"}), row(Form{Times: "f64", Shuffle: true})
	assert.NotEqual(t, even, mixed)
	assert.NotEqual(t, mixed[:50], mixed[50:])
	assert.ElementsMatch(t, even[:50], mixed[:50])
	assert.ElementsMatch(t, even[50:], mixed[50:])
}

func TestQuaternionsAreOfUnitLength(t *testing.T) {
	v := dataOf[float32](tensorOf(t)(channelValues(rand.New(rand.NewPCG(1, 1)), tensor.F32, []ops.Channel{{Hi: 3}, {Lo: 3, Hi: 11, Interp: ops.InterpSlerp}}, 2, 20)))
	for i := 0; i < len(v); i += 11 {
		for _, q := range [][]float32{v[i+3 : i+7], v[i+7 : i+11]} {
			assert.InDelta(t, 1, q[0]*q[0]+q[1]*q[1]+q[2]*q[2]+q[3]*q[3], 1e-5)
		}
	}
}

func tensorOf(t *testing.T) func(*tensor.Tensor, error) *tensor.Tensor {
	return func(x *tensor.Tensor, err error) *tensor.Tensor {
		t.Helper()
		require.NoError(t, err)
		return x
	}
}

func TestFormsComeFromAFile(t *testing.T) {
	const text = `{"jobs": [{"suite": "forms", "B": 1, "S": 9, "T": 3, "D": 7, "values": "f16", "times": "i64", "clock": "gapped", "max_gap_ms": 2.5, "shuffle": true, "valid": true,
		"age": true, "channels": [{"kind": "linear", "D": 3}, {"kind": "slerp", "D": 4}]}, {"suite": "forms", "B": 1, "S": 9, "T": 3, "D": 2, "kind": "window-mean", "window_ms": 20},
		{"suite": "fuse", "B": 1, "T": 3, "streams": [{"S": 5, "D": 6}], "values": "f32", "shuffle": true}]}`
	jobs, err := ReadShapes(strings.NewReader(text))
	require.NoError(t, err)
	assert.Equal(t, "forms", jobs[0].Suite())
	assert.Equal(t, "1x9->3x7 f16 i64 linear:3+slerp:4 gapped max-gap:2.5ms shuffled valid age", jobs[0].Name())
	assert.Equal(t, "1x9->3x2 window-mean window:20ms", jobs[1].Name())
	assert.Equal(t, "1x(5x6)->3 f32 shuffled", jobs[2].Name())
	again, err := json.Marshal(jobs[1])
	require.NoError(t, err)
	assert.JSONEq(t, `{"B": 1, "S": 9, "T": 3, "D": 2, "kind": "window-mean", "window_ms": 20}`, string(again), "defaults are left out")
	shape := `{"jobs": [{"suite": "forms", "B": 1, "S": 9, "T": 3, "D": 7, `
	for text, want := range map[string]string{
		`"clock": "broken"`:                        `clock: got "broken", want even, jittered, gapped`,
		`"max_gap_ms": -1`:                         "max_gap_ms: got -1",
		`"shuffle": "yes"`:                         "want the fields of a forms job",
		`"kind": "slerp"`:                          "kind: got 7 features of slerp, want a multiple of 4",
		`"window_ms": 3`:                           "window_ms: got 3, want 0",
		`"kind": "window-last"`:                    "window_ms: got 0, want more",
		`"channels": [{"kind": "linear", "D": 3}]`: `channels: got 3 features, want D of them, 7`,
		`"channels": [{"kind": "linear", "D": 3}, {"kind": "slerp", "D": 3}]`: "channel 1: got 3 features of slerp",
		`"channels": [{"kind": "cubic", "D": 7}]`:                             `channel 0: got "cubic"`,
		`"kind": "linear", "channels": [{"kind": "linear", "D": 7}]`:          "beside channels",
	} {
		_, err := ReadShapes(strings.NewReader(shape + text + "}]}"))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestSweepsDrawForms(t *testing.T) {
	jobs, err := Sweep(300, 3, "forms", "fuse")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, j := range jobs {
		require.NoError(t, j.check(), j.Name())
		for _, k := range j.Keys() {
			seen[j.Suite()+" "+k.Name] = true
		}
	}
	for _, suite := range []string{"forms", "fuse"} {
		for _, key := range []string{"values", "times", "clock", "max_gap", "shuffle", "valid", "age"} {
			assert.True(t, seen[suite+" "+key], "%s %s", suite, key)
		}
	}
	assert.True(t, seen["forms channels"] && seen["forms kind"])
}
