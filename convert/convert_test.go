package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// Without a plan every number and timestamp is what was recorded, whether streams share a clock or not.
func TestWithoutAPlanRecordingsStayAsTheyAre(t *testing.T) {
	for _, apart := range []bool{false, true} {
		in := write(t, recorded(t, 1, 40, apart), recorded(t, 2, 25, apart), recorded(t, 3, 33, apart))
		want := episodes(t, in)
		for _, to := range []Target{Safetensors(), MCAP(mcap.Protobuf), MCAP(mcap.JSON)} {
			out := filepath.Join(t.TempDir(), "out")
			r := converts(t, out, to, Options{}, in)
			got := episodes(t, out)
			require.Len(t, got, 3)
			for i := range want {
				equalStreams(t, want[i], got[i], to.Name())
			}
			assert.Equal(t, 3, r.Converted)
			for _, s := range r.Streams {
				assert.Equal(t, s.Read, s.Used+s.dropped(), s.Name)
				if s.Kind == streamKind {
					assert.Zero(t, s.dropped(), s.Name)
				}
			}
			if to.Name() == "mcap" && apart {
				assert.Equal(t, want[1].Media[0].Times, got[1].Media[0].Times)
				frame, err := got[1].Media[0].Frame(context.Background(), 7)
				require.NoError(t, err)
				assert.Equal(t, []byte{7, 0}, frame)
			}
			if to.Name() == "safetensors" && apart {
				assert.Equal(t, dataset.Notes{{Code: dataset.CodeNoPlace, Count: 20 + 12 + 16, Detail: dataset.Detail{Got: "frames", Want: "safetensors"}}}, r.Streams[len(r.Streams)-1].Dropped)
			}
		}
	}
}

// By a plan an episode is what align makes of it, cameras have the frame that the plan's kind takes, and every sample is accounted for.
func TestByAPlanEpisodesAreOnItsClock(t *testing.T) {
	ctx, device := context.Background(), cpu(t)
	in := write(t, recorded(t, 1, 40, true), recorded(t, 2, 26, true))
	plan := align.Plan{Rate: 20, Streams: []align.Stream{{Name: "arm", From: "state"}, {Name: "imu", Sampling: align.Sampling{Offset: 30 * time.Millisecond}},
		{Name: "eye", From: "front", Sampling: align.Sampling{Kind: "nearest"}}}}
	out := filepath.Join(t.TempDir(), "out")
	r := converts(t, out, MCAP(mcap.Protobuf), Options{Plan: &plan, Device: device}, in)
	got := episodes(t, out)
	for i, e := range episodes(t, in) {
		moved := *e
		moved.Streams = append([]dataset.Stream{}, *e.Stream("state"), *e.Stream("imu"))
		require.NoError(t, later(&moved.Streams[1], 30*time.Millisecond))
		s, err := numbers(&e.Media[0], tensor.I64)
		require.NoError(t, err)
		moved.Streams = append(moved.Streams, s)
		want, err := align.Resample(ctx, device, &moved, align.Plan{Rate: 20, Streams: []align.Stream{{Name: "arm", From: "state"}, {Name: "imu"}, {Name: "front", Sampling: align.Sampling{Kind: "nearest"}}}})
		require.NoError(t, err)
		for k, name := range []string{"arm", "imu"} {
			s := got[i].Stream(name)
			require.NotNil(t, s)
			assert.True(t, same(want.Streams[k].Values, s.Values), name)
			assert.Equal(t, want.Streams[k].Stream.Nanoseconds(), s.Nanoseconds())
		}
		m := got[i].MediaStream("eye")
		require.NotNil(t, m)
		for row, at := range m.Times {
			best, away := 0, int64(1<<62)
			for n, taken := range e.Media[0].Times {
				if d := max(taken-at, at-taken); d < away {
					best, away = n, d
				}
			}
			frame, err := m.Frame(ctx, row)
			require.NoError(t, err)
			assert.Equal(t, []byte{byte(best), 0}, frame, "row %d", row)
		}
	}
	require.NoError(t, r.check(2))
	byName := map[string]StreamAccount{}
	for _, s := range r.Streams {
		byName[s.Name] = s
	}
	assert.Equal(t, 20+13, byName["eye"].Read)
	assert.Equal(t, r.Rows, byName["eye"].Rows)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotInPlan, Count: 66}}, byName["action"].Dropped)
	assert.NotNil(t, byName["imu"].Dropped.Find(dataset.CodeBetweenTicks))
	plan.Streams[2].Kind = "linear"
	_, err := all(filepath.Join(t.TempDir(), "o"), NPZ(), Options{Plan: &plan, Device: device}, in)
	var option *OptionError
	require.ErrorAs(t, err, &option)
	assert.Equal(t, "Plan", option.Arg)
}

// A camera that is taken later is so where it says why its frames were not used.
func TestFramesAreDroppedByTheTimesThatThePlanGivesThem(t *testing.T) {
	in := write(t, recorded(t, 1, 40, true))
	plan := align.Plan{Rate: 20, Streams: []align.Stream{{Name: "state"}, {Name: "front", Sampling: align.Sampling{Offset: 500 * time.Millisecond}}}}
	r := converts(t, filepath.Join(t.TempDir(), "out"), MCAP(mcap.Protobuf), Options{Plan: &plan, Device: cpu(t)}, in)
	for _, s := range r.Streams {
		if s.Name == "front" {
			assert.Equal(t, dataset.Notes{{Code: dataset.CodeAfterClock, Count: s.Read - s.Used}}, s.Dropped)
			assert.Positive(t, s.Dropped[0].Count)
		}
	}
}

func TestErrorsOfTheOutputAreThoseBelowIt(t *testing.T) {
	p := &piece{work: &work{place: place{at: "a/out"}}}
	for path, want := range map[string]bool{"a/out": true, "a/out/episode-000000.npz": true, "./a/out/x": true, "a/out2/in.mcap": false, "a": false, "/a/out": false} {
		assert.Equal(t, want, p.ofOutput(fmt.Errorf("broken: %w", &fs.PathError{Op: "write", Path: path, Err: fs.ErrInvalid})), path)
	}
	assert.False(t, p.ofOutput(fs.ErrInvalid))
}

// A plan may give a stream the name that another one has, which it does not take.
func TestANameMayBeGivenToAnotherStream(t *testing.T) {
	in := write(t, recorded(t, 1, 40, true))
	plan := &align.Plan{Rate: 30, Streams: []align.Stream{{Name: "state", From: "action"}}}
	r := converts(t, filepath.Join(t.TempDir(), "out"), Safetensors(), Options{Plan: plan, Device: cpu(t), Media: []string{""}}, in)
	names := []string{}
	for _, s := range r.Streams {
		names = append(names, s.Name)
		assert.Equal(t, s.Read, s.Used+s.dropped())
	}
	assert.ElementsMatch(t, []string{"state", "state (as recorded)", "imu", "front"}, names)
}

func TestALogOfSeveralClocksNeedsOneForRows(t *testing.T) {
	in := write(t, recorded(t, 1, 40, true))
	out := filepath.Join(t.TempDir(), "out")
	_, err := all(out, WebDataset(), Options{}, in)
	var clock *ClockError
	require.ErrorAs(t, err, &clock)
	assert.ErrorIs(t, err, dataset.ErrMissing)
	assert.Equal(t, "imu", clock.B)
	r := converts(t, out, WebDataset(), Options{Plan: &align.Plan{Rate: 10}, Device: cpu(t)}, in)
	assert.Equal(t, 1, r.Converted)
}

// Inputs are one dataset, and shards of it are the same files whoever makes them, in whatever order and of however many workers.
func TestInputsMergeAndShardsAreTheSameBytes(t *testing.T) {
	a, b := write(t, recorded(t, 1, 40, false), recorded(t, 2, 9, false)), write(t, recorded(t, 3, 70, false), recorded(t, 4, 20, false), recorded(t, 5, 12, false))
	single := filepath.Join(t.TempDir(), "out")
	r := converts(t, single, Safetensors(), Options{Workers: 1}, a, b)
	require.Equal(t, 5, r.Converted)
	assert.Equal(t, "run4", r.Pieces[3].Episodes[0].Name)
	assert.Equal(t, [2]int{1, 1}, [2]int{r.Pieces[3].Episodes[0].Input, r.Pieces[3].Episodes[0].Index})
	want := tree(t, single)
	sharded := filepath.Join(t.TempDir(), "out")
	for _, i := range []int{2, 0, 1} {
		c, err := New(context.Background(), []string{a, b}, sharded, Safetensors(), Options{Shards: 3, Workers: 3})
		require.NoError(t, err)
		_, err = c.Shard(context.Background(), i)
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	got := tree(t, sharded)
	assert.Len(t, got, 5+3)
	for name, content := range want {
		if strings.HasSuffix(name, ".safetensors") {
			assert.True(t, content == got[name], name)
		}
	}
	tars := filepath.Join(t.TempDir(), "tars")
	list, err := all(tars, WebDataset(), Options{Shards: 9}, a, b) // more than there are episodes
	require.NoError(t, err)
	rows := 0
	for _, r := range list {
		rows += r.Rows
	}
	assert.Equal(t, 40+9+70+20+12, rows)
}

// Programs may make the shards of an output at the same time.
func TestShardsMayBeMadeAtOnce(t *testing.T) {
	var list []*dataset.Episode
	for i := range 12 {
		list = append(list, recorded(t, i+1, 20, false))
	}
	in := write(t, list...)
	one := filepath.Join(t.TempDir(), "out")
	_, err := all(one, NPZ(), Options{Shards: 6}, in)
	require.NoError(t, err)
	for range 5 {
		out := filepath.Join(t.TempDir(), "out")
		failed := make(chan error, 6)
		for i := range 6 {
			go func() {
				c, err := New(context.Background(), []string{in}, out, NPZ(), Options{Shards: 6})
				if err == nil {
					_, err = c.Shard(context.Background(), i)
					err = errors.Join(err, c.Close())
				}
				failed <- err
			}()
		}
		for range 6 {
			require.NoError(t, <-failed)
		}
		assert.Equal(t, tree(t, one), tree(t, out))
	}
}

func TestShardsHaveAboutAsManyFramesAsAnyOther(t *testing.T) {
	weights := make([]float64, 100)
	for i := range weights {
		weights[i] = float64(1 + i*i%37)
	}
	for _, n := range []int{1, 2, 7, 50} {
		begins, total, most := runs(weights, n), 0.0, 0.0
		require.Len(t, begins, n+1)
		assert.Equal(t, [2]int{0, 100}, [2]int{begins[0], begins[n]})
		for _, w := range weights {
			total, most = total+w, max(most, w)
		}
		for s := range n {
			sum := 0.0
			for _, w := range weights[begins[s]:begins[s+1]] {
				sum += w
			}
			assert.InDelta(t, total/float64(n), sum, most, "shard %d of %d", s, n)
		}
	}
	assert.Equal(t, []int{0, 0, 1, 1}, runs([]float64{5}, 3))
	assert.Equal(t, []int{0, 0, 0}, runs(nil, 2))
}

// What is whole stays as it is, the very file; what is gone or damaged is made again, and the output is that of an undisturbed conversion.
func TestWhatIsWholeIsNotMadeAgain(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 9, false), recorded(t, 3, 70, false))
	undisturbed := filepath.Join(t.TempDir(), "out")
	converts(t, undisturbed, NPZ(), Options{}, in)
	want := tree(t, undisturbed)

	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancel(context.Background())
	c, err := New(ctx, []string{in}, out, NPZ(), Options{Workers: 1, Progress: func(p Progress) {
		if p.Done == 2 {
			cancel()
		}
	}})
	require.NoError(t, err)
	_, err = c.Shard(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, c.Close())
	require.Equal(t, 2, len(tree(t, out)))
	stat := func(name string) os.FileInfo {
		st, err := os.Stat(filepath.Join(out, name))
		require.NoError(t, err)
		return st
	}
	first, second := stat("episode-000000.npz"), stat("episode-000001.npz")
	damaged := []byte(want["episode-000001.npz"])
	damaged[len(damaged)/2] ^= 1
	filetest.Write(t, filepath.Join(out, "episode-000001.npz"), damaged)
	held, err := os.Open(filepath.Join(out, "episode-000001.npz")) // so that what is made anew is not given the same number on the disk
	require.NoError(t, err)
	defer held.Close()
	var told []Progress
	r := converts(t, out, NPZ(), Options{Progress: func(p Progress) { told = append(told, p) }}, in)
	assert.Equal(t, 1, r.Before)
	assert.Equal(t, Progress{Done: 3, Of: 3, Samples: 2 * (40 + 9 + 70), Before: 1}, told[len(told)-1])
	assert.True(t, os.SameFile(first, stat("episode-000000.npz")))
	assert.False(t, os.SameFile(second, stat("episode-000001.npz")))
	assert.Equal(t, want, tree(t, out))

	again := converts(t, out, NPZ(), Options{}, in)
	assert.Equal(t, 3, again.Before)
	assert.True(t, os.SameFile(first, stat("episode-000000.npz")))
	assert.Equal(t, r.Streams, again.Streams)
	require.NoError(t, os.Remove(filepath.Join(out, "episode-000002.npz"))) // of one that was finished
	converts(t, out, NPZ(), Options{}, in)
	assert.Equal(t, want, tree(t, out))
	assert.Len(t, tree(t, filepath.Dir(out)), len(want), "no journal stays")
}

func TestAnOutputOfOtherThingsIsRefused(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	in, other := write(t, recorded(t, 1, 40, false)), write(t, recorded(t, 1, 41, false))
	out, two := filepath.Join(t.TempDir(), "out"), write(t, recorded(t, 1, 40, false), recorded(t, 2, 40, false))
	converts(t, out, NPZ(), Options{}, in)
	before, first := tree(t, filepath.Dir(out)), dataset.Options{Episodes: dataset.Selection{Take: dataset.Ranges{{0, 0}}}}
	for what, do := range map[string]func() error{
		"target": func() error { _, err := all(out, Safetensors(), Options{}, in); return err },
		"plan": func() error {
			_, err := all(out, NPZ(), Options{Plan: &align.Plan{Rate: 5}, Device: cpu(t)}, in)
			return err
		},
		"media all, where none": func() error { _, err := all(out, NPZ(), Options{Media: []string{""}}, in); return err },
		"episodes all, where 0": func() error { _, err := all(out, NPZ(), Options{Reading: first}, two); return err },
		"shards 1":              func() error { _, err := all(out, NPZ(), Options{Shards: 2}, in); return err },
		"input files":           func() error { _, err := all(out, NPZ(), Options{}, other); return err },
		"which is a file":       func() error { _, err := all(filepath.Join(out, "convert.json"), NPZ(), Options{}, in); return err },
		"no conversion's":       func() error { _, err := all(in, NPZ(), Options{}, in); return err },
	} {
		var option *OptionError
		require.ErrorAs(t, do(), &option, what)
		assert.Contains(t, option.Got, what)
		assert.Equal(t, "output", option.Arg)
		assert.NotRegexp(t, `[{"]|\[\]|null`, option.Got, "%s: settings are words and numbers, not JSON", what)
	}
	assert.Equal(t, before, tree(t, filepath.Dir(out)))
	_, err := all(filepath.Join(t.TempDir(), "x.npz"), NPZ(), Options{}, in, other)
	assert.ErrorContains(t, err, "one file, for 2 episodes")
	single := filepath.Join(t.TempDir(), "x.npz")
	converts(t, single, NPZ(), Options{}, in)
	converts(t, single, NPZ(), Options{}, in)
	assert.Equal(t, []string{"x.npz"}, keys(tree(t, filepath.Dir(single))))
}

func keys(m map[string]string) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	return list
}

// broken writes recordings of which one is cut in its middle, where no message is whole.
func broken(t *testing.T) string {
	in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 25, false), recorded(t, 3, 33, false))
	filetest.Write(t, filepath.Join(in, "run2.mcap"), mcap.Magic+"rubbish")
	return in
}

func TestOneBrokenEpisodeCostsItself(t *testing.T) {
	in := broken(t)
	for _, to := range []Target{NPZ(), WebDataset()} {
		out := filepath.Join(t.TempDir(), "out")
		r := converts(t, out, to, Options{}, in)
		assert.Equal(t, [3]int{3, 2, 1}, [3]int{r.Read, r.Converted, r.Skipped})
		assert.Equal(t, 73, r.Rows)
		again := converts(t, out, to, Options{}, in)
		assert.Equal(t, len(again.Pieces), again.Before)
		strict := filepath.Join(t.TempDir(), "strict")
		_, err := all(strict, to, Options{Reading: dataset.Options{Strict: true}}, in)
		var format *dataset.FormatError
		require.ErrorAs(t, err, &format)
	}
	for _, name := range []string{"run1.mcap", "run3.mcap"} {
		filetest.Write(t, filepath.Join(in, name), mcap.Magic+"rubbish")
	}
	out := filepath.Join(t.TempDir(), "out")
	_, err := all(out, NPZ(), Options{}, in)
	var nothing *NothingError
	require.ErrorAs(t, err, &nothing)
	assert.Equal(t, 3, nothing.Episodes)
	assert.Empty(t, tree(t, filepath.Dir(out)))
}

// An input that is gone while it is read is an error and no episode that was skipped. When it is back the conversion goes on.
func TestAnInputThatIsGoneIsAnError(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 25, false), recorded(t, 3, 33, false))
	undisturbed := filepath.Join(t.TempDir(), "out")
	converts(t, undisturbed, Safetensors(), Options{}, in)
	out, last := filepath.Join(t.TempDir(), "out"), filepath.Join(in, "run3.mcap")
	_, err := all(out, Safetensors(), Options{Workers: 1, Progress: func(p Progress) {
		if p.Done == 1 {
			require.NoError(t, os.Rename(last, last+".gone"))
		}
	}}, in)
	var episode *EpisodeError
	require.ErrorAs(t, err, &episode)
	assert.Equal(t, 2, episode.Number)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.Rename(last+".gone", last))
	r := converts(t, out, Safetensors(), Options{}, in)
	assert.Equal(t, 2, r.Before)
	assert.Equal(t, tree(t, undisturbed), tree(t, out))
}

func TestAnInputThatChangesWhileItIsReadIsAnError(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 25, false))
	_, err := all(filepath.Join(t.TempDir(), "out"), Safetensors(), Options{Workers: 1, Progress: func(Progress) {
		filetest.Write(t, filepath.Join(in, "new"), "")
	}}, in)
	var input *InputError
	require.ErrorAs(t, err, &input)
	assert.Equal(t, in, input.Path)
}

// lying is a target that says that it has written less than it was given.
type lying struct {
	arrays
	kept func(k *Kept)
}

func (l lying) Create(ctx context.Context, path string, p Piece) (Writer, error) {
	w, err := l.arrays.Create(ctx, path, p)
	return lyingWriter{w, l.kept}, err
}

type lyingWriter struct {
	Writer
	kept func(k *Kept)
}

func (w lyingWriter) Add(ctx context.Context, e *Episode) (Kept, error) {
	k, err := w.Writer.Add(ctx, e)
	w.kept(&k)
	return k, err
}

// Nothing is given its name, and nothing is said to be done, unless what was written is what was read less what was dropped and why.
func TestAnAccountThatIsNotBalancedIsAnError(t *testing.T) {
	in := write(t, recorded(t, 1, 40, true))
	for what, lie := range map[string]func(k *Kept){
		"a row less":        func(k *Kept) { k.Samples["state"]-- },
		"no reason":         func(k *Kept) { k.Notes = nil },
		"not said":          func(k *Kept) { delete(k.Samples, "imu") },
		"what there is not": func(k *Kept) { k.Samples["none"] = 1 },
	} {
		out := filepath.Join(t.TempDir(), "out")
		_, err := all(out, lying{arrays{"npz"}, lie}, Options{}, in)
		var balance *BalanceError
		require.ErrorAs(t, err, &balance, what)
		left, err := os.ReadDir(filepath.Dir(out))
		require.NoError(t, err)
		assert.Empty(t, left, "%s: neither the folder nor a journal", what)
	}
	a := StreamAccount{Read: 5, Used: 3, Dropped: dataset.Notes{{Code: "x", Count: 1}}}
	assert.Error(t, a.check("e"))
	a.drop("y", 1)
	assert.NoError(t, a.check("e"))
	a.Rows = 1
	assert.Error(t, a.check("e"))
}

// A journal is read as far as its lines are whole, wherever it was cut.
func TestAJournalThatWasCutGivesItsWholeLines(t *testing.T) {
	text := `{"head":{"version":1},"inputs":[]}` + "\n"
	for i := range 3 {
		text += fmt.Sprintf(`{"piece":%d,"report":{"path":"p","bytes":1,"sha256":"x","episodes":[]},"streams":[]}`, i) + "\n"
	}
	for n := range len(text) + 1 {
		d, err := journalOf(strings.NewReader(text[:n]))
		require.NoError(t, err)
		assert.Len(t, d.entries, max(strings.Count(text[:n], "\n")-1, 0), "cut at %d", n)
	}
	_, err := journalOf(failing{})
	assert.Error(t, err)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken disk") }

// The plan's filter leaves out what it does not want, and says so.
func TestAFilterIsNoSkippedEpisode(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 25, false), recorded(t, 3, 33, false))
	plan := &align.Plan{Rate: 30, Filter: dataset.Filter{Task: "task 1"}}
	r := converts(t, filepath.Join(t.TempDir(), "out"), NPZ(), Options{Plan: plan, Device: cpu(t)}, in)
	assert.Equal(t, [4]int{3, 2, 0, 1}, [4]int{r.Read, r.Converted, r.Skipped, r.Filtered})
	plan.Filter.Task = "none"
	_, err := all(filepath.Join(t.TempDir(), "out"), NPZ(), Options{Plan: plan, Device: cpu(t)}, in)
	assert.ErrorContains(t, err, "the plan's filter leaves out all 3 episodes")
}

func TestRatesOfRowsAreWholeWhereTheyMayBe(t *testing.T) {
	clock := func(n int, rate float64) []int64 {
		times, err := dataset.StepTimes(n, rate)
		require.NoError(t, err)
		return times
	}
	assert.Equal(t, 30.0, rateOf(clock(5000, 30), 0))
	assert.Equal(t, 12.5, rateOf(clock(50, 30), 12.5))
	assert.InDelta(t, 29.97, rateOf(clock(5000, 29.97), 0), 1e-5)
	assert.Zero(t, rateOf([]int64{5}, 0))
}

// What is observed after the last action has no row of a format with one clock, and is dropped and counted; the episode is converted all the same.
func TestStatesAfterTheLastActionAreDropped(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	r := converts(t, out, WebDataset(), Options{Reading: dataset.Options{Rate: 20}}, "../dataset/hdf5/plain/testdata/several.hdf5")
	assert.Equal(t, []int{3, 30}, []int{r.Converted, r.Rows})
	for _, s := range r.Streams {
		assert.Equal(t, []int{30, s.Read - 30}, []int{s.Used, s.dropped()}, s.Name)
		if s.Name == "obs/agent/qpos" {
			assert.Equal(t, dataset.Notes{{Code: dataset.CodeAfterClock, Count: 3}}, s.Dropped)
		}
	}
}
