package convert

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/test/filetest"
)

// rows is a dataset of 30 rows a second that has a frame of a camera for each, but for the last of some episodes.
type rows struct {
	dataset.Dataset
	short int // the episode of which a frame is missing
}

func (d rows) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	e, err := d.Dataset.Episode(ctx, i)
	if err != nil {
		return nil, err
	}
	times := e.Streams[0].Nanoseconds()
	if i == d.short {
		times = times[:len(times)-1]
	}
	e.Media = []dataset.Media{{Name: "front", Times: times, Encoding: "mono8", Width: 2, Height: 2, Source: grey{}}}
	return e, nil
}

type grey struct{}

func (grey) ReadFrame(context.Context, int) ([]byte, error) { return []byte{1, 2, 3, 4}, nil }

// A video that ends before its table costs that episode, and the account has why.
func TestAnEpisodeWithFewerFramesThanRowsIsSkipped(t *testing.T) {
	ctx := context.Background()
	in := write(t, recorded(t, 1, 20, false), recorded(t, 2, 20, false), recorded(t, 3, 20, false))
	for _, target := range []Target{leRobot(t, LeRobotOptions{Cameras: "image"}), WebDataset(), RLDS()} {
		c, err := New(ctx, []string{in}, filepath.Join(t.TempDir(), "out"), target, Options{})
		require.NoError(t, err)
		defer c.Close()
		c.inputs[0].from, c.inputs[0].info.Rate = rows{c.inputs[0].from, 1}, 30
		r, err := c.Shard(ctx, 0)
		require.NoError(t, err)
		assert.Equal(t, []int{2, 1}, []int{r.Converted, r.Skipped})
		assert.Contains(t, text(r.Pieces), "front has frames for 19 of 20 rows")

		c.inputs[0].info.Rate = 0 // a log, whose clocks are apart in every episode
		c.out = filepath.Join(t.TempDir(), "out")
		c.own = false
		_, err = c.Shard(ctx, 0)
		var clock *ClockError
		assert.ErrorAs(t, err, &clock)
	}
}

// What only later episodes have is lost only where that is asked for, and counted.
func TestStreamsThatTheFirstEpisodeHasNotAreNotLost(t *testing.T) {
	less := recorded(t, 1, 20, false)
	less.Streams = less.Streams[:1]
	in := write(t, less, recorded(t, 2, 20, false), recorded(t, 3, 20, false))
	out := filepath.Join(t.TempDir(), "out")
	_, err := all(out, leRobot(t, LeRobotOptions{}), Options{}, in)
	var extra *ExtraStreamError
	require.ErrorAs(t, err, &extra)
	assert.Equal(t, ExtraStreamError{Streams: []string{"action"}, Episode: "run2", Number: 1, First: "run1"}, *extra)
	assert.ErrorIs(t, err, dataset.ErrMissing)
	assert.NoDirExists(t, out)

	for extra, want := range map[string][]int{"drop": {3, 0}, "skip": {1, 2}} {
		out, r := made(t, leRobot(t, LeRobotOptions{Extra: extra}), Options{}, in)
		assert.Equal(t, want, []int{r.Converted, r.Skipped}, extra)
		assert.Equal(t, want[0], opened(t, out, dataset.Options{Strict: true}).Len())
		if extra == "drop" {
			require.Len(t, r.Streams, 2)
			assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotInFirst, Count: 40}}, r.Streams[1].Dropped)
		}
	}
	_, err = LeRobot(LeRobotOptions{Extra: "keep"})
	assert.ErrorIs(t, err, dataset.ErrOption)
}

// A camera that no episode has is refused, with those that there are; one that only some have is taken where it is.
func TestMediaThatNoEpisodeHasAreRefused(t *testing.T) {
	in := write(t, recorded(t, 1, 20, false), recorded(t, 2, 20, true))
	out := filepath.Join(t.TempDir(), "out")
	_, err := all(out, MCAP(mcap.Protobuf), Options{Media: []string{"front", "fornt"}}, in)
	var option *OptionError
	require.ErrorAs(t, err, &option)
	assert.Equal(t, OptionError{Arg: "media", Got: `"fornt"`, Want: "front"}, *option)
	_, err = all(out, MCAP(mcap.Protobuf), Options{Media: []string{"front"}}, write(t, recorded(t, 1, 20, false)))
	assert.ErrorContains(t, err, "want none: no episode has a camera")
	assert.NoDirExists(t, out)
	r := converts(t, out, MCAP(mcap.Protobuf), Options{Media: []string{"front"}}, in)
	assert.Equal(t, 2, r.Converted)
	assert.Equal(t, dataset.EpisodeNote{Note: dataset.Note{Code: dataset.CodeMediaMissing, Subject: "front"}, Episode: "run1", Number: 0, Episodes: 1}, r.Notes.List[0])
}

// noteOf returns the first note of a code that a report has, or nil.
func noteOf(r *Report, code dataset.Code) *dataset.Note {
	for i := range r.Notes.List {
		if n := &r.Notes.List[i].Note; n.Code == code {
			return n
		}
	}
	return nil
}

// The plan that a report has is one that can be read.
func TestThePlanOfAReportIsAPlan(t *testing.T) {
	plan, err := planfile.Parse("p.yaml", []byte("version: 1\nrate: 20\nstreams: [{name: s, from: state, method: {\"0\": previous}, max_gap: 1s, fill: .nan}]\nfilter: {task: task 1}\nshuffle: none\n"))
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "out")
	converts(t, out, NPZ(), Options{Plan: &plan, Device: cpu(t)}, write(t, recorded(t, 1, 40, false)))
	b := filetest.Read(t, filepath.Join(out, "convert.json"))
	var r Report
	require.NoError(t, json.Unmarshal(b, &r))
	read, err := planfile.Parse("convert.json", r.Plan)
	require.NoError(t, err)
	assert.Equal(t, string(planText(&plan)), string(planText(&read)))
	again := converts(t, out, NPZ(), Options{Plan: &read, Device: cpu(t)}, r.Inputs[0].Path)
	assert.Equal(t, 1, again.Before)
}

// A camera that a plan gives a name is where LeRobot's policies look for cameras; one that an option names is called so.
func TestCamerasThatAPlanNamesAreImages(t *testing.T) {
	ctx := context.Background()
	e := recorded(t, 1, 20, true)
	e.Media[0].Height = 2
	e.Media[0].Source = grey{}
	in := write(t, e)
	for _, c := range []struct{ plan, option, want string }{
		{"wrist", "", "observation.images.wrist"}, {"observation.image", "", "observation.image"}, {"front", "", "front"}, {"wrist", "cam", "cam"},
	} {
		plan := &align.Plan{Rate: 10, Streams: []align.Stream{{Name: "state"}, {Name: c.plan, From: "front"}}}
		opt := LeRobotOptions{Cameras: "image"}
		if c.option != "" {
			opt.Names = map[string]string{c.plan: c.option}
		}
		out, _ := made(t, leRobot(t, opt), Options{Plan: plan}, in)
		got, err := opened(t, out, dataset.Options{Strict: true}).Episode(ctx, 0)
		require.NoError(t, err)
		require.Len(t, got.Media, 1)
		assert.Equal(t, c.want, got.Media[0].Name)
	}
}

// looking is a target that looks at episodes when they are written.
type looking struct {
	Target
	at func(*Episode)
}

func (l looking) Create(ctx context.Context, path string, p Piece) (Writer, error) {
	w, err := l.Target.Create(ctx, path, p)
	return lookingWriter{w, l.at}, err
}

type lookingWriter struct {
	Writer
	at func(*Episode)
}

func (w lookingWriter) Add(ctx context.Context, e *Episode) (Kept, error) {
	kept, err := w.Writer.Add(ctx, e)
	w.at(e)
	return kept, err
}

// While a LeRobot dataset is written, nothing holds what was recorded, nor the parts that a state is made of.
func TestNumbersThatAreNotWrittenAreLetGo(t *testing.T) {
	for _, plan := range []*align.Plan{nil, {Rate: 30}} {
		seen := 0
		to := looking{leRobot(t, LeRobotOptions{State: []string{"state"}}), func(e *Episode) {
			seen++
			assert.Nil(t, e.Recorded)
			assert.Empty(t, e.Streams)
			assert.Equal(t, plan != nil, e.Aligned != nil)
			if e.Aligned != nil {
				assert.Empty(t, e.Aligned.Streams)
			}
		}}
		made(t, to, Options{Plan: plan}, write(t, recorded(t, 1, 20, false)))
		assert.Equal(t, 1, seen)
	}
}
