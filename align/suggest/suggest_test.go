package suggest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/align/suggest"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/test/streamtest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

var ctx = context.Background()

func episode(list ...dataset.Stream) *dataset.Episode { return &dataset.Episode{Streams: list} }

// recordings are a dataset in memory. A nil episode cannot be read.
type recordings struct {
	info     dataset.Info
	episodes []*dataset.Episode
	read     []int
}

func (r *recordings) Name() string       { return "made" }
func (r *recordings) Format() string     { return "test" }
func (r *recordings) Info() dataset.Info { return r.info }
func (r *recordings) Len() int           { return len(r.episodes) }
func (r *recordings) Close() error       { return nil }

func (r *recordings) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	r.read = append(r.read, i)
	if r.episodes[i] == nil {
		return nil, errors.New("a broken file")
	}
	return r.episodes[i], nil
}

func suggestion(t *testing.T, info dataset.Info, episodes ...*dataset.Episode) *suggest.Suggestion {
	t.Helper()
	got, err := suggest.Plan(ctx, &recordings{info: info, episodes: episodes}, suggest.Options{})
	require.NoError(t, err)
	return got
}

// Streams that share no moment are told, in the plan too; one that speaks when something happens is not, unless it is far away.
func TestSuggestTellsStreamsThatShareNoMoment(t *testing.T) {
	later := func(s dataset.Stream, by time.Duration) dataset.Stream {
		list := s.Nanoseconds()
		for i := range list {
			list[i] += int64(by)
		}
		return s
	}
	uneven := func(s dataset.Stream) dataset.Stream {
		for i, list := 1, s.Nanoseconds(); i < len(list); i++ {
			list[i] += int64(i%7) * int64(100*time.Millisecond)
		}
		return s
	}
	for _, c := range []struct {
		name string
		last dataset.Stream
		away string
	}{
		{"together", streamtest.Sampled(t, "arm", 50, 500, "a b", streamtest.Wave), ""},
		{"an hour", later(streamtest.Sampled(t, "arm", 50, 500, "a b", streamtest.Wave), time.Hour), "59m50.01s"},
		{"an hour before", later(streamtest.Sampled(t, "arm", 50, 500, "a b", streamtest.Wave), -time.Hour), "59m50.02s"},
		{"events", later(uneven(streamtest.Sampled(t, "arm", 1, 9, "a b", streamtest.Wave)), 11*time.Second), ""},
		{"events of another hour", later(uneven(streamtest.Sampled(t, "arm", 1, 9, "a b", streamtest.Wave)), time.Hour), "59m50.01s"},
	} {
		e := &dataset.Episode{Streams: []dataset.Stream{streamtest.Sampled(t, "base", 100, 1000, "x y", streamtest.Wave), streamtest.Sampled(t, "head", 100, 1000, "x y", streamtest.Wave), c.last}}
		got := suggestion(t, dataset.Info{}, e)
		if c.away == "" {
			assert.Empty(t, got.Notes, c.name)
			continue
		}
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeClocksApart, Subject: "arm", Count: 1, Detail: dataset.Detail{Of: 1, Got: c.away, Names: []string{"base"}}}}, got.Notes, c.name)
		assert.Contains(t, string(got.Text), "share no moment")
	}
}

// taken checks that a plan is taken as it is, with nothing in it that has no effect.
func taken(t *testing.T, got *suggest.Suggestion, e *dataset.Episode) {
	t.Helper()
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	apart, err := align.Resample(ctx, cpu, e, got.Plan)
	require.NoError(t, err, "%s", got.Text)
	for _, n := range apart.Report.Notes {
		assert.NotContains(t, n.Code, "-unused", "%s", got.Text)
	}
	if len(got.Plan.Streams) <= ops.MaxStreams {
		_, err = align.Fuse(ctx, cpu, e, got.Plan)
		require.NoError(t, err, "%s", got.Text)
	}
}

func TestAPlanOfALogSaysWhatItsColumnsAre(t *testing.T) {
	turn := func(row, column int) float64 { // a heading that goes around, a switch, a quaternion, a measurement
		a := float64(row) / 20
		switch column {
		case 0:
			return math.Remainder(a, 2*math.Pi)
		case 1:
			return float64(row / 50 % 2)
		case 2, 3, 4:
			return []float64{math.Cos(a / 2), 0, math.Sin(a / 2)}[column-2] * 0.8
		case 5:
			return 0.6
		}
		return streamtest.Wave(row, column)
	}
	e := episode(
		streamtest.Sampled(t, "base", 50, 500, "heading suction quat.w quat.x quat.y quat.z height", turn),
		streamtest.Sampled(t, "/imu", 400, 4000, "stamp# acc[0] acc[1] acc[2] device_id#", func(row, column int) float64 {
			return []float64{float64(row), streamtest.Wave(row, 1), streamtest.Wave(row, 2), streamtest.Wave(row, 3), 77}[column]
		}),
		streamtest.Sampled(t, "/cmd_vel", 10, 100, "linear angular", streamtest.Wave),
		streamtest.Sampled(t, "mode", .5, 5, "mode#", func(row, _ int) float64 { return float64(row % 2) }),
		streamtest.Sampled(t, "still", 50, 500, "a", func(int, int) float64 { return 3 }),
	)
	got := suggestion(t, dataset.Info{}, e)
	assert.False(t, got.Policy)
	assert.Equal(t, 50., got.Plan.Rate)
	by := map[string]align.Stream{}
	for _, s := range got.Plan.Streams {
		by[s.Name] = s
	}
	require.Len(t, by, 5)
	assert.Equal(t, []align.ColumnKind{{Columns: "heading", Kind: "angle"}, {Columns: "suction", Kind: "previous"}, {Columns: "quat", Kind: "slerp"}}, by["base"].Kinds)
	assert.Equal(t, "wxyz", by["base"].Quat)
	assert.Equal(t, ops.Within(60*time.Millisecond), by["base"].MaxGap)
	assert.Equal(t, []any{[]string{"acc"}, "window-mean", ops.Within(20 * time.Millisecond)}, []any{by["/imu"].Columns, by["/imu"].Kind, by["/imu"].Window})
	assert.Equal(t, "previous", by["/cmd_vel"].Kind)
	assert.Equal(t, []string{"previous", "hold"}, []string{by["mode"].Kind, by["mode"].Edge})
	taken(t, got, e)

	why := map[string]string{}
	for _, r := range got.Reasons {
		why[r.Key] += r.Why
		assert.Contains(t, strings.ToLower(string(got.Text)), strings.ToLower(strings.Fields(r.Why)[0]), "each reason is in the file")
	}
	assert.Contains(t, why["streams[0].method.heading"], "goes around 4 times")
	assert.Contains(t, why["streams[0].method.quat"], "quaternion wxyz, by its name")
	assert.Contains(t, why["rate"], "10 to 400 Hz")
	for _, line := range strings.Split(string(got.Text), "\n") {
		assert.LessOrEqual(t, len(line), 120)
	}
}

// A plan of states and an action is one that a policy is trained by: it looks at nothing later than a target, and its windows fit the episodes.
func TestAPlanOfStatesAndActionsIsForAPolicy(t *testing.T) {
	yes, no := true, false
	var list []*dataset.Episode
	for i := range 4 {
		e := episode(
			streamtest.Sampled(t, "observation.state", 30, 300, "j0 j1 gripper", streamtest.Wave), streamtest.Sampled(t, "next.reward", 30, 300, "0", streamtest.Wave),
			streamtest.Sampled(t, "action", 30, 300, "j0 j1 gripper", streamtest.Wave), streamtest.Sampled(t, "wrench", 300, 3000, "fx fy", streamtest.Wave))
		e.Attributes.Success = &yes
		if i == 2 {
			e.Attributes.Success = &no
		}
		list = append(list, e)
	}
	got := suggestion(t, dataset.Info{Rate: 30, RateFrom: "file", Splits: []dataset.Split{{Name: "train", Episodes: []int{0, 1, 2}}, {Name: "val", Episodes: []int{3}}}}, list...)
	assert.True(t, got.Policy)
	p := got.Plan
	assert.Equal(t, []string{"observation.state", "wrench", "action"}, []string{p.Streams[0].Name, p.Streams[1].Name, p.Streams[2].Name})
	assert.Equal(t, []any{"previous", ops.Within(100 * time.Millisecond), "mean-std"}, []any{p.Defaults.Kind, p.Defaults.Tolerance, p.Defaults.Normalise})
	assert.Equal(t, "window-mean", p.Streams[1].Kind)
	assert.Len(t, p.Windows["observation.state"].Ticks(30), 6)
	assert.Len(t, p.Windows["action"].Ticks(30), 30)
	assert.Equal(t, dataset.Filter{Split: "train", Success: &yes}, p.Filter)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotState, Subject: "next.reward", Detail: dataset.Detail{Got: "of the tick to come"}}}, got.Notes)
	taken(t, got, list[0])

	short := suggestion(t, dataset.Info{Rate: 30, RateFrom: "file"}, episode(streamtest.Sampled(t, "state", 30, 12, "a", streamtest.Wave), streamtest.Sampled(t, "/robot/action", 30, 12, "a", streamtest.Wave)))
	assert.Equal(t, []string{"action", "/robot/action"}, []string{short.Plan.Streams[1].Name, short.Plan.Streams[1].From})
	assert.Equal(t, []int{3, 6}, []int{len(short.Plan.Windows["state"].Ticks(30)), len(short.Plan.Windows["action"].Ticks(30))})
}

// Of a log the action is the stream that is asked for, which may be silent at times.
func TestAnyStreamCanBeTheAction(t *testing.T) {
	cmd := streamtest.Sampled(t, "/cmd_vel", 10, 100, "linear angular", streamtest.Wave)
	times, err := tensor.Data[int64](cmd.Times)
	require.NoError(t, err)
	for i := 30; i < 100; i++ {
		times[i] += int64(i/30) * 2e9
	}
	e := episode(
		streamtest.Sampled(t, "/odom", 50, 800, "x heading", streamtest.Wave), cmd, streamtest.Sampled(t, "/other_cmd", 20, 300, "a", streamtest.Wave), streamtest.Sampled(t, "/next_goal", 20, 300, "a", streamtest.Wave),
		streamtest.Sampled(t, "/arm", 100, 1600, "q[0] q[1] force.x force.y mode#", streamtest.Wave),
	)
	d := &recordings{episodes: []*dataset.Episode{e}}
	got, err := suggest.Plan(ctx, d, suggest.Options{Action: "/cmd_vel"})
	require.NoError(t, err)
	assert.True(t, got.Policy)
	assert.Equal(t, 10., got.Plan.Rate)
	last := got.Plan.Streams[len(got.Plan.Streams)-1]
	assert.Equal(t, []any{"action", "/cmd_vel", ops.Limit{}}, []any{last.Name, last.From, last.Tolerance})
	for _, s := range got.Plan.Streams {
		assert.NotContains(t, []string{"linear", "angle", "slerp"}, s.Kind)
		if s.Name == "/arm" {
			assert.Equal(t, []align.ColumnKind{{Columns: "force", Kind: "window-mean"}}, s.Kinds)
		}
	}
	taken(t, got, e)
	assert.False(t, suggestion(t, dataset.Info{}, e).Policy, "unless its name says so")

	var missing *clocks.MissingError
	_, err = suggest.Plan(ctx, d, suggest.Options{Action: "cmd_vel"})
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, "/cmd_vel", missing.Near)
	var alone *align.StreamError
	_, err = suggest.Plan(ctx, &recordings{episodes: []*dataset.Episode{episode(cmd)}}, suggest.Options{Action: "/cmd_vel"})
	assert.ErrorAs(t, err, &alone)
}

func TestWindowsHaveAsManyTicksAsTheirCommentsSay(t *testing.T) {
	for _, rate := range []float64{1, 3, 5, 7.5, 10, 15, 20, 29.97, 30, 50, 60, 62.5, 100, 120, 240, 1000} {
		for _, n := range []int{2, 5, 9, 40, 1000} {
			got := suggestion(t, dataset.Info{Rate: rate, RateFrom: "file"}, episode(streamtest.Sampled(t, "state", rate, n, "a", streamtest.Wave), streamtest.Sampled(t, "action", rate, n, "a", streamtest.Wave)))
			for name, w := range got.Plan.Windows {
				ticks := w.Ticks(rate)
				assert.Regexp(t, fmt.Sprintf(`%s: \[.*\] +# %d ticks?\n`, name, len(ticks)), string(got.Text))
				assert.Contains(t, ticks, int64(0))
			}
			assert.LessOrEqual(t, len(got.Plan.Windows["state"].Ticks(rate))+len(got.Plan.Windows["action"].Ticks(rate)), max(n, 2))
		}
	}
}

func TestTheClockHasARateThatPeopleChoose(t *testing.T) {
	camera := func(hz float64) []dataset.Media {
		times := make([]int64, 90)
		for i := range times {
			times[i] = int64(float64(i) * 1e9 / hz)
		}
		return []dataset.Media{{Name: "front", Times: times, Encoding: "jpeg"}}
	}
	for _, c := range []struct {
		rates  []float64
		camera float64
		want   float64
	}{
		{[]float64{100.2}, 0, 100}, {[]float64{62.5}, 0, 62.5}, {[]float64{93.4, 10, 1000}, 0, 100}, {[]float64{1000, 500}, 30, 30}, {[]float64{50}, 29.97, 30}, {[]float64{50}, 1000 / 33., 30}, {[]float64{50}, 28.5, 28.5},
		{[]float64{.3}, 0, .3}, {[]float64{20000}, 0, 20000}, {[]float64{50}, 1, 50},
	} {
		e := episode()
		for i, hz := range c.rates {
			e.Streams = append(e.Streams, streamtest.Sampled(t, fmt.Sprint("s", i), hz, 200, "a", streamtest.Wave))
		}
		if c.camera > 0 {
			e.Media = camera(c.camera)
		}
		assert.Equal(t, c.want, suggestion(t, dataset.Info{}, e).Plan.Rate, "%v %v", c.rates, c.camera)
	}
}

func TestRoundedTimestampsGiveTheClockASampleARow(t *testing.T) {
	for _, name := range []string{"state", "action"} {
		s := streamtest.Sampled(t, name, 30, 200, "a", streamtest.Wave)
		for i, ns := range s.Nanoseconds() {
			s.Nanoseconds()[i] = ns / 1e6 * 1e6
		}
		got := suggestion(t, dataset.Info{}, episode(s))
		assert.Equal(t, 30., got.Plan.Rate)
		assert.Contains(t, string(got.Text), "# 30.3 Hz, 1 column", "the rate that inspect prints: a median step of 33 ms")
	}
}

// What is said of all is said of cameras too, so a limit that a camera would not keep is said of each stream.
func TestALimitThatACameraWouldNotKeepIsNoDefault(t *testing.T) {
	for hz, shared := range map[float64]bool{30: true, 5: false} {
		e := episode(streamtest.Sampled(t, "a", 30, 90, "x", streamtest.Wave), streamtest.Sampled(t, "b", 30, 90, "x", streamtest.Wave))
		e.Media = []dataset.Media{{Name: "front", Encoding: "jpeg"}}
		for i := range 15 {
			e.Media[0].Times = append(e.Media[0].Times, int64(float64(i)*1e9/hz))
		}
		p := suggestion(t, dataset.Info{Rate: 30, RateFrom: "file"}, e).Plan
		_, own := p.Streams[1].MaxGap.Get()
		assert.Equal(t, []bool{shared, !shared}, []bool{p.Defaults.MaxGap != align.AutoGap, own}, "a camera of another rate has a limit of its own")
	}
}

func TestALogOfManyStreamsIsPlannedForOneFuse(t *testing.T) {
	e := episode(streamtest.Sampled(t, "slow", 10, 100, "a", streamtest.Wave), streamtest.Sampled(t, "still", 100, 1000, "a", func(int, int) float64 { return 1 }), streamtest.Sampled(t, "estimator_status", 100, 1000, "a", streamtest.Wave))
	for i := range 15 {
		e.Streams = append(e.Streams, streamtest.Sampled(t, fmt.Sprint("s", i), 50, 500, "a", streamtest.Wave))
	}
	got := suggestion(t, dataset.Info{}, e)
	require.Len(t, got.Plan.Streams, ops.MaxStreams)
	assert.Equal(t, "slow", got.Plan.Streams[0].Name)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeConstant, Subject: "still"}, {Code: dataset.CodeOfPrograms, Subject: "estimator_status"}}, got.Notes)
	taken(t, got, e)
}

func TestSuggestLooksAtSomeEpisodesAndSaysWhatItCannotRead(t *testing.T) {
	one := episode(streamtest.Sampled(t, "a", 10, 100, "x", streamtest.Wave))
	d := &recordings{}
	for range 100 {
		d.episodes = append(d.episodes, one)
	}
	d.episodes[0] = nil
	told := 0
	got, err := suggest.Plan(ctx, d, suggest.Options{Episodes: 4, Progress: func(done, of int) { told += done; assert.Equal(t, 4, of) }})
	require.NoError(t, err)
	assert.Equal(t, []int{0, 33, 66, 99}, d.read)
	assert.Equal(t, []any{100, 3, 10}, []any{got.Episodes, got.Looked, told})
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeSuggestedWithout, Row: dataset.At(0), Detail: dataset.Detail{Cause: errors.New("a broken file")}}}, got.Notes)
	assert.Contains(t, string(got.Text), "looking at 3 of its 100 episodes")

	_, err = suggest.Plan(ctx, &recordings{episodes: []*dataset.Episode{nil}}, suggest.Options{})
	assert.ErrorContains(t, err, "a broken file")
	var steps *clocks.StepsError
	_, err = suggest.Plan(ctx, &recordings{episodes: []*dataset.Episode{{Steps: true}}}, suggest.Options{})
	assert.ErrorAs(t, err, &steps)
	var none *clocks.NoStreamsError
	_, err = suggest.Plan(ctx, &recordings{episodes: []*dataset.Episode{{}}}, suggest.Options{})
	assert.ErrorAs(t, err, &none)
	_, err = suggest.Plan(ctx, &recordings{}, suggest.Options{})
	assert.ErrorAs(t, err, &none)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = suggest.Plan(ended, d, suggest.Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestStreamsOutOfOrderAreSortedByTheirPlan(t *testing.T) {
	s := streamtest.Sampled(t, "a", 10, 100, "x", streamtest.Wave)
	times, err := tensor.Data[int64](s.Times)
	require.NoError(t, err)
	times[50], times[51] = times[51], times[50]
	e := episode(s)
	got := suggestion(t, dataset.Info{}, e)
	assert.Equal(t, "sort", got.Plan.Unordered)
	taken(t, got, e)
}

func TestWhatIsOddIsSaidInThePlan(t *testing.T) {
	micro := streamtest.Sampled(t, "fast", 200e3, 100, "a", streamtest.Wave) // microseconds of 200 Hz, taken as nanoseconds
	deg := streamtest.Sampled(t, "gps", 20, 300, "cog speed", func(row, k int) float64 {
		if k == 0 {
			return math.Mod(float64(row)*5, 360)
		}
		return streamtest.Wave(row, 1)
	})
	one, two := episode(micro, deg), episode(deg)
	got := suggestion(t, dataset.Info{}, one, two)
	text := strings.ReplaceAll(string(got.Text), "\n  # ", " ")
	assert.Equal(t, "fast", got.Notes.Find(dataset.CodeTimeUnit).Subject)
	assert.Contains(t, text, "as microseconds they would be 200")
	assert.Contains(t, text, "In 1 of 2 episodes")
	assert.Contains(t, text, "method: {cog: angle}         # an angle, which goes around 8 times")
	assert.Equal(t, 360., got.Plan.Streams[1].Period)

	broken := streamtest.Sampled(t, "broken", 20, 300, "a b c d e", func(row, k int) float64 {
		switch {
		case k == 1 || k == 3:
			return math.Inf(1)
		case k == 2 && row < 7:
			return math.NaN()
		}
		return streamtest.Wave(row, k)
	})
	cut := suggestion(t, dataset.Info{}, episode(broken))
	assert.Equal(t, []string{"a", "c", "e"}, cut.Plan.Streams[0].Columns)
	assert.Contains(t, string(cut.Text), "Without b, d, never finite. Not always finite: c (7 samples)")
	_, err := suggest.Plan(ctx, &recordings{episodes: []*dataset.Episode{episode(streamtest.Sampled(t, "s", 10, 30, "a", func(int, int) float64 { return math.NaN() }))}}, suggest.Options{})
	assert.ErrorContains(t, err, "s ("+dataset.CodeNeverFinite.String())

	three := suggestion(t, dataset.Info{}, one, two, two)
	require.Len(t, three.Plan.Streams, 1)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFewEpisodes, Subject: "fast", Count: 1, Detail: dataset.Detail{Of: 3}}}, three.Notes.Of(dataset.ClassLeftOut))
	apart := suggestion(t, dataset.Info{}, episode(streamtest.Sampled(t, "a", 10, 30, "a", streamtest.Wave)), episode(streamtest.Sampled(t, "b", 10, 30, "a", streamtest.Wave)), episode(streamtest.Sampled(t, "c", 10, 30, "a", streamtest.Wave)))
	assert.Len(t, apart.Plan.Streams, 3)
	assert.Equal(t, dataset.Note{Code: dataset.CodeStreamsDiffer, Count: 3}, apart.Notes[0])

	differ := suggestion(t, dataset.Info{}, episode(streamtest.Sampled(t, "a", 10, 30, "x y", streamtest.Wave)), episode(streamtest.Sampled(t, "a", 10, 30, "x", streamtest.Wave)))
	assert.NotNil(t, differ.Notes.Find(dataset.CodeColumnsDiffer))

	turning := streamtest.Sampled(t, "state", 30, 300, "heading qx qy qz qw", func(row, k int) float64 {
		if k == 0 {
			return math.Remainder(float64(row)*.1, 2*math.Pi)
		}
		return streamtest.Rotating(row)[k-1]
	})
	policy := suggestion(t, dataset.Info{Rate: 30}, episode(turning, streamtest.Sampled(t, "action", 30, 300, "a", streamtest.Wave)))
	assert.Contains(t, string(policy.Text), "Goes around 5 times, with a jump of its value: heading. A quaternion xyzw, by its name: qx,")
	assert.Empty(t, policy.Plan.Streams[0].Kinds, "which would look ahead")

	gap := streamtest.Sampled(t, "s", 100, 300, "a b", streamtest.Wave)
	times, err := tensor.Data[int64](gap.Times)
	require.NoError(t, err)
	for i := 100; i < 300; i++ {
		times[i] += 1e9
	}
	assert.Contains(t, string(suggestion(t, dataset.Info{}, episode(gap)).Text), "# 100 Hz, 2 columns. 1 gap longer than 30ms, the longest 1.01 s")
}

// Whatever names and values recordings have, the plan that is made for them is one, and is taken as it is.
func TestEveryPlanThatIsSuggestedIsTaken(t *testing.T) {
	names := []string{"a", "0", "1:3", "0:4", "a b", "it's", `q"q`, "ä#b", "x: y", "- z", "true", "null", "~", "1e3", "[0]", "[1]", "q[0]", "q[1]", "q[2]", "q[3]", "pose.x", "pose.y", "qx", "qy", "qz", "qw",
		"yaw", "heading_deg", "timestamp", "stamp.sec", "device_id", "cmd", "gripper", "acc[0]", "acc[1]", "{", "a,b", "*p", "&p", "!t", "%d", "@", "`", "\u00a0", "\u2028x", "bad\x01", "action", "next.done", "imu"}
	kinds := []func(r *rand.Rand, row int) float64{
		func(r *rand.Rand, _ int) float64 { return r.NormFloat64() }, func(*rand.Rand, int) float64 { return 2 }, func(_ *rand.Rand, row int) float64 { return float64(row) },
		func(r *rand.Rand, _ int) float64 { return float64(r.IntN(2)) }, func(_ *rand.Rand, row int) float64 { return math.Remainder(float64(row)/3, 2*math.Pi) },
		func(_ *rand.Rand, row int) float64 { return math.Mod(float64(row)*7, 360) }, func(*rand.Rand, int) float64 { return .5 }, func(*rand.Rand, int) float64 { return math.NaN() },
	}
	rounds := 60
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		e := &dataset.Episode{Rotation: dataset.Rotation(r.IntN(3))}
		for i := range 1 + r.IntN(20) {
			var cols []string
			of := make([]func(*rand.Rand, int) float64, 1+r.IntN(9))
			for k := range of {
				name := strings.ReplaceAll(names[r.IntN(len(names))], " ", "_")
				if r.IntN(4) == 0 {
					name += "#"
				}
				cols, of[k] = append(cols, name), kinds[r.IntN(len(kinds))]
			}
			s := streamtest.Sampled(t, fmt.Sprint(names[r.IntN(len(names))], i), []float64{.2, 5, 33, 200}[r.IntN(4)], []int{1, 2, 40}[r.IntN(3)], strings.Join(cols, " "), func(row, k int) float64 { return of[min(k, len(of)-1)](r, row) })
			for k := 0; k+4 <= len(s.Columns) && r.IntN(2) == 0; k += 4 {
				for j := k; j < k+4; j++ {
					s.Columns[j].Rotation = dataset.RotationXYZW
				}
			}
			e.Streams = append(e.Streams, s)
		}
		got, err := suggest.Plan(ctx, &recordings{episodes: []*dataset.Episode{e}}, suggest.Options{})
		var none *clocks.NoStreamsError
		if errors.As(err, &none) {
			continue
		}
		require.NoError(t, err, seed)
		again, err := planfile.Parse("", got.Text)
		require.NoError(t, err)
		assert.EqualExportedValues(t, got.Plan, again)
		taken(t, got, e)
	}
}

// A clock that was not set at first is no gap of half a century, and does not make the episode that long.
func TestTimestampsOfAClockThatWasNotSetAreNoGap(t *testing.T) {
	s := streamtest.Sampled(t, "joints", 100, 500, "a b", streamtest.Wave)
	times, err := tensor.Data[int64](s.Times)
	require.NoError(t, err)
	for i := range times {
		if times[i] += 1_700_000_000_000_000_000; i < 3 {
			times[i] = 0
		}
	}
	e := episode(s, streamtest.Sampled(t, "still", 1, 2, "a", streamtest.Wave))
	e.Streams = e.Streams[:1]
	got := suggestion(t, dataset.Info{}, e)
	assert.NotContains(t, string(got.Text), "gap longer")
	require.Len(t, got.Notes, 1)
	assert.Equal(t, []any{dataset.CodeStrayUnset, "joints", "0.000"}, []any{got.Notes[0].Code, got.Notes[0].Subject, got.Notes[0].Got})
	assert.Contains(t, got.Notes[0].Want, "1700000000.03")
	assert.Equal(t, 100., got.Plan.Rate)
}

// A comment is there where there is something to say: of ranges whose columns have names that say no more, there is not.
func TestNoCommentIsEmpty(t *testing.T) {
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprintf("[%d]", i)
	}
	s := streamtest.Sampled(t, "/scan.ranges", 20, 200, strings.Join(names, " "), func(row, column int) float64 {
		if column == 4 || column == 6 { // nothing there
			return math.NaN()
		}
		return streamtest.Wave(row, column)
	})
	got := suggestion(t, dataset.Info{}, episode(s))
	require.Contains(t, string(got.Text), "columns: [")
	for line := range strings.SplitSeq(string(got.Text), "\n") {
		if _, comment, is := strings.Cut(line, "#"); is {
			assert.NotEmpty(t, strings.Trim(comment, " ;#"), line)
		}
	}
}
