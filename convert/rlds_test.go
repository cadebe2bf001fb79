package convert

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/png"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/rlds"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// entriesOf returns the entries of the feature maps in a record file, by their keys, for each record.
func entriesOf(t *testing.T, path string) (list []map[string]string) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	body := func(b []byte) ([]byte, int) {
		_, _, n := protowire.ConsumeTag(b)
		require.Positive(t, n)
		v, m := protowire.ConsumeBytes(b[n:])
		require.Positive(t, m)
		return v, n + m
	}
	for len(b) > 0 {
		size := binary.LittleEndian.Uint64(b)
		features, _ := body(b[12 : 12+size])
		entries := map[string]string{}
		for len(features) > 0 {
			entry, n := body(features)
			key, _ := body(entry)
			entries[string(key)], features = string(entry), features[n:]
		}
		list, b = append(list, entries), b[16+size:]
	}
	return list
}

// featuresOf reads features.json, without descriptions.
func featuresOf(t *testing.T, dir string) (f map[string]any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "features.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &f))
	var strip func(v any)
	strip = func(v any) {
		if m, ok := v.(map[string]any); ok {
			delete(m, "description")
			for _, v := range m {
				strip(v)
			}
		}
	}
	strip(f)
	return f
}

// TensorFlow Datasets wrote bridge_rlds. The output has its features and its bytes, and the times.
func TestAnRLDSDatasetStaysAsTensorFlowDatasetsWroteIt(t *testing.T) {
	in := sharedFile(t, "bridge_rlds")
	out, _ := made(t, RLDS(), Options{}, in)
	version := filepath.Join(out, "1.0.0")
	name := filepath.Base(out)
	got, want := featuresOf(t, version), featuresOf(t, in)
	steps := got["featuresDict"].(map[string]any)["features"].(map[string]any)["steps"].(map[string]any)["sequence"].(map[string]any)["feature"].(map[string]any)
	delete(steps["featuresDict"].(map[string]any)["features"].(map[string]any), "time_ns")
	assert.Equal(t, want, got)
	b, err := os.ReadFile(filepath.Join(version, "dataset_info.json"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"name":"`+name+`","version":"1.0.0","fileFormat":"tfrecord","splits":[{"name":"train","shardLengths":["25"],"numBytes":"3476442",
		"filepathTemplate":"{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"}]}`, string(b))
	before, after := entriesOf(t, filepath.Join(in, "bridge_dataset-train.tfrecord-00000-of-00001")), entriesOf(t, filepath.Join(version, name+"-train.tfrecord-00000-of-00001"))
	for _, record := range after {
		assert.Contains(t, record, "steps/time_ns")
		delete(record, "steps/time_ns")
	}
	assert.True(t, slices.EqualFunc(before, after, func(a, b map[string]string) bool { return assert.Len(t, b, len(a)) && assert.Equal(t, a, b) }))
	again := episodes(t, out)
	for i, e := range episodes(t, in) {
		equalStreams(t, e, again[i], e.Name)
		assert.Equal(t, e.Attributes.Task, again[i].Attributes.Task)
		assert.Equal(t, e.Media[0].Times, again[i].Media[0].Times)
	}
	twice, _ := made(t, RLDS(), Options{}, out)
	assert.Equal(t, after, func() []map[string]string {
		list := entriesOf(t, filepath.Join(twice, "1.0.0", filepath.Base(twice)+"-train.tfrecord-00000-of-00001"))
		for _, record := range list {
			delete(record, "steps/time_ns")
		}
		return list
	}())
}

// deep are frames of 2x1 pixels with one number each, as they are raw.
type deep []byte

func (d deep) ReadFrame(context.Context, int) ([]byte, error) { return slices.Clone(d), nil }

// A reader of Python's own library, which checks the checksums, finds what package rlds reads.
func TestAnotherReaderFindsTheSame(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	e := recorded(t, 1, 40, true)
	e.Attributes.Success = new(bool)
	serial := []int64{-5, 1 << 60, 1<<53 + 1, 7}
	for i := range 36 {
		serial = append(serial, int64(i))
	}
	values := tensor.Must(tensor.Of(tensor.Cast[float64](serial), 40, 1))
	s, err := dataset.NewStream("/a b/serial", e.Streams[0].Nanoseconds(), values, []dataset.Column{{Name: "n", Type: "int64", Integer: true}})
	require.NoError(t, err)
	e.Streams = append(e.Streams, s)
	good, done := recorded(t, 3, 12, true), true
	good.Attributes.Success = &done
	in := write(t, e, good)
	plan := &align.Plan{Rate: 15, Defaults: align.Sampling{Tolerance: ops.Within(time.Millisecond)}, Streams: []align.Stream{
		{Name: "state"}, {Name: "actions", From: "action"}, {Name: "imu"}, {Name: "front"},
	}}
	out, r := made(t, RLDS(), Options{Plan: plan, Device: cpu(t)}, in)
	assert.Equal(t, 2, r.Converted)
	text, err := exec.Command(python, "../dataset/rlds/testdata/read_tfrecord.py", filepath.Join(out, "1.0.0")).Output()
	require.NoError(t, err)
	var found []map[string][]any
	require.NoError(t, json.Unmarshal(text, &found))
	list := episodes(t, out)
	require.Len(t, found, len(list))
	for i, e := range list {
		assert.ElementsMatch(t, []string{"action", "action_valid", "observation/state", "observation/state_valid", "observation/imu", "observation/imu_valid",
			"observation/front_valid", "is_first", "is_last", "is_terminal", "reward", "discount"}, e.Names())
		for _, s := range e.Streams {
			want := numbersOf(t, s.Values)
			require.Len(t, found[i]["steps/"+s.Name], len(want))
			for k, v := range found[i]["steps/"+s.Name] {
				assert.InDelta(t, want[k], v, 0, s.Name)
			}
		}
		for k, v := range found[i]["steps/time_ns"] {
			assert.InDelta(t, float64(e.Streams[0].Nanoseconds()[k]), v, 0)
		}
		m := e.MediaStream("observation/front")
		assert.Len(t, found[i]["steps/observation/front"], m.Len())
	}
	assert.Equal(t, []any{0.0}, found[0]["episode_metadata/success"])
	for i, want := range []float64{0, 1} {
		reward := numbersOf(t, list[i].Stream("reward").Values)
		assert.InDelta(t, want, reward[len(reward)-1], 0)
		assert.Equal(t, i == 1, *list[i].Attributes.Success)
	}
}

// Without a plan the numbers, times, tasks and depth images come back to the bit, and changed float64 values are counted.
func TestAnEpisodeComesBackFromRLDS(t *testing.T) {
	e := recorded(t, 1, 40, false)
	times := e.Streams[0].Nanoseconds()
	times[7] += 1001 // jitter
	serial := make([]int64, 40)
	copy(serial, []int64{-5, 1 << 60, 1<<53 + 1, 7})
	s, err := dataset.NewStream("/a b/serial", times, tensor.Must(tensor.Of(tensor.Cast[float64](serial), 40, 1)), []dataset.Column{{Name: "n", Type: "int64", Integer: true}})
	require.NoError(t, err)
	s.Integers, s.Inexact = tensor.Must(tensor.Of(serial, 40, 1)), 1
	e.Streams = append(e.Streams, s)
	pixels := map[string]deep{"16UC1": {1, 2, 255, 254}, "32FC1": binary.LittleEndian.AppendUint32([]byte{0, 0, 128, 63}, math.Float32bits(0.1)), "16SC1": {254, 255, 3, 0}}
	for encoding, frame := range pixels {
		e.Media = append(e.Media, dataset.Media{Name: encoding, Times: times, Encoding: encoding, Width: 2, Height: 1, Source: frame})
	}
	e.Texts = []dataset.TextStream{{Name: "task", Task: true, Times: []int64{times[0], times[9]}, Values: []string{"lift", "drop"}}, {Name: "said", Times: times[:1], Values: []string{"go"}}}
	c, err := columnsOf(t.Context(), &Episode{Episode: e, Times: times, Lost: map[string]dataset.Note{}}, &Piece{Inputs: []dataset.Info{{}}})
	require.NoError(t, err)
	got := readBack(t, c.list)
	assert.Equal(t, castsIn(t, e.Streams[1].Values), c.kept.Notes.Find(dataset.CodeValuesCast).Count)
	assert.True(t, same(e.Streams[0].Values, got.Stream("observation/state").Values))
	for i, v := range numbersOf(t, e.Streams[1].Values) {
		assert.InDelta(t, float64(float32(v)), numbersOf(t, got.Stream("action").Values)[i], 0)
	}
	assert.Equal(t, serial, c.list["steps/observation/a_b_serial"].Ints)
	assert.Equal(t, times, got.Stream("action").Nanoseconds())
	assert.False(t, got.Steps)
	assert.Equal(t, []string{"lift", "drop", "drop"}, []string{got.TaskAt(times[8]), got.TaskAt(times[9]), got.TaskAt(times[39])})
	assert.Equal(t, "go", got.Attributes.Other["steps/observation/said"])
	grey, err := got.MediaStream("observation/16UC1").Frame(t.Context(), 3)
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(grey))
	require.NoError(t, err)
	assert.Equal(t, []byte{2, 1, 254, 255}, img.(*image.Gray16).Pix) // most significant byte first
	for name, want := range map[string][]float32{"32FC1": {1, 0.1}, "16SC1": {-2, 3}} {
		m := got.MediaStream("observation/" + name)
		assert.Equal(t, rlds.EncodingF32, m.Encoding)
		b, err := m.Frame(t.Context(), 0)
		require.NoError(t, err)
		img, err := png.Decode(bytes.NewReader(b))
		require.NoError(t, err)
		for i, v := range want {
			assert.Equal(t, math.Float32bits(v), binary.LittleEndian.Uint32(img.(*image.NRGBA).Pix[4*i:]), name)
		}
	}
}

// A LeRobot dataset with videos comes back with its numbers, times and tasks, and each pixel that its decoder gave.
func TestLeRobotComesBackFromRLDS(t *testing.T) {
	needsFFmpeg(t)
	in := sharedFile(t, "lerobot_v3_g1")
	out, r := made(t, RLDS(), Options{Reading: dataset.Options{Episodes: dataset.Selection{Take: dataset.RangesOf([]int{1})}}}, in)
	want, got := episodes(t, in)[1], episodes(t, out)[0]
	assert.Equal(t, want.Stream("action").Len(), r.Rows)
	assert.Equal(t, want.Attributes.Task, got.Attributes.Task)
	assert.Equal(t, want.Stream("action").Nanoseconds(), got.Stream("action").Nanoseconds())
	for from, to := range map[string]string{"action": "action", "observation.state": "observation/state"} {
		assert.True(t, same(want.Stream(from).Values, got.Stream(to).Values), from)
	}
	for from, to := range map[string]string{"observation.images.front": "observation/images_front", "observation.images.wrist": "observation/images_wrist"} {
		a, b := want.MediaStream(from), got.MediaStream(to)
		require.Equal(t, a.Times, b.Times)
		k := 0
		for pixels, err := range a.DecodeRange(t.Context(), 0, a.Len()) {
			require.NoError(t, err)
			again, err := b.Decode(t.Context(), k)
			require.NoError(t, err)
			require.True(t, same(pixels, again), "%s, frame %d", from, k)
			k++
		}
	}
	back, _ := made(t, leRobot(t, LeRobotOptions{}), Options{Media: []string{""}}, out)
	assert.InDelta(t, 30, opened(t, back, dataset.Options{}).Info().Rate, 0)
	last := episodes(t, back)[0]
	assert.True(t, same(want.Stream("action").Values, last.Stream("action").Values))
	assert.Equal(t, want.Stream("action").Nanoseconds(), last.Stream("action").Nanoseconds())
}

// castsIn counts the values that float32 does not hold.
func castsIn(t *testing.T, v *tensor.Tensor) (n int) {
	for _, v := range numbersOf(t, v) {
		if float64(float32(v)) != v {
			n++
		}
	}
	return n
}

// readBack returns the episode of the columns, as package rlds reads it.
func readBack(t *testing.T, list rlds.Columns) *dataset.Episode {
	t.Helper()
	dir := t.TempDir()
	record, err := rlds.AppendRecord(nil, list)
	require.NoError(t, err)
	features, err := rlds.Features(list)
	require.NoError(t, err)
	info, err := rlds.DatasetInfo("d", rldsVersion, []rlds.SplitFiles{{Name: "train", Lengths: []int{1}, Bytes: int64(len(record) - rlds.Overhead)}})
	require.NoError(t, err)
	for name, b := range map[string][]byte{rlds.ShardName("d", "train", 0, 1): record, "features.json": features, "dataset_info.json": info} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
	return episodes(t, dir)[0]
}

// Each split has files of its own, and a new one begins where the limit is.
func TestSplitsHaveRecordFilesOfTheirOwn(t *testing.T) {
	rldsShardBytes = 6000
	t.Cleanup(func() { rldsShardBytes = 256 << 20 })
	w, err := RLDS().Create(t.Context(), filepath.Join(t.TempDir(), "my data"), Piece{Shards: 1, Inputs: []dataset.Info{{}}})
	require.NoError(t, err)
	defer w.Close()
	for i, splits := range [][]string{{"20_percent", "train"}, {"val"}, nil, {"train"}, {"my-own"}} {
		e := recorded(t, i+1, 40, false)
		kept, err := w.Add(t.Context(), &Episode{Episode: e, Times: e.Streams[0].Nanoseconds(), Splits: splits, Lost: map[string]dataset.Note{}})
		require.NoError(t, err)
		assert.Equal(t, i == 0, kept.Notes.LeftOut("split 20_percent") != nil)
	}
	require.NoError(t, w.Commit(t.Context()))
	dir := w.(*rldsWriter).Name()
	assert.ElementsMatch(t, []string{"1.0.0/dataset_info.json", "1.0.0/features.json", "1.0.0/my_data-my_own.tfrecord-00000-of-00001", "1.0.0/my_data-train.tfrecord-00000-of-00002",
		"1.0.0/my_data-train.tfrecord-00001-of-00002", "1.0.0/my_data-val.tfrecord-00000-of-00001"}, keys(tree(t, dir)))
	d := opened(t, dir, dataset.Options{Strict: true})
	assert.Equal(t, []dataset.Split{{Name: "train", Episodes: []int{0, 1, 2}}, {Name: "val", Episodes: []int{3}}, {Name: "my_own", Episodes: []int{4}}}, d.Info().Splits)
	assert.Empty(t, d.Info().Notes)
}

// The first episode has the features of all. What it lost is no loss of the others.
func TestEpisodesWithOtherFeaturesAreRefusedInRLDS(t *testing.T) {
	narrow, extra, without := recorded(t, 2, 20, false), recorded(t, 3, 20, false), recorded(t, 4, 20, false)
	narrow.Streams[0] = streamOf(t, "state", narrow.Streams[1].Nanoseconds(), make([]float64, 20))
	extra.Streams = append(extra.Streams, streamOf(t, "more", extra.Streams[0].Nanoseconds(), make([]float64, 20)))
	without.Streams = without.Streams[:1]
	_, r := made(t, RLDS(), Options{}, write(t, recorded(t, 1, 20, false), narrow, extra, without))
	assert.Equal(t, []int{2, 2}, []int{r.Converted, r.Skipped})
	assert.Contains(t, text(r.Pieces), "got float32 [1], want float32 [3], as in the first episode")
	assert.Contains(t, text(r.Pieces), "got none, want float32 [2], as in the first episode")
	assert.Contains(t, droppedOf(r, "more"), dataset.CodeNotInFirst)

	for task, want := range map[string]string{"": "lift it", "put it down": "put it down"} {
		e := recorded(t, 1, 20, false)
		e.Attributes.Task = task
		out, r := made(t, RLDS(), Options{Task: "lift it"}, write(t, e))
		back, err := opened(t, out, dataset.Options{}).Episode(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, []string{want, want}, []string{back.TaskAt(0), r.Pieces[0].Episodes[0].Task})
	}

	described, bare := recorded(t, 1, 20, false), recorded(t, 2, 20, false)
	described.Attributes.Other = map[string]string{"model_file": "<mujoco/>"}
	out, r := made(t, RLDS(), Options{}, write(t, described, bare))
	assert.Equal(t, 2, r.Converted)
	d := opened(t, out, dataset.Options{Strict: true})
	for i, want := range []string{"<mujoco/>", ""} {
		e, err := d.Episode(t.Context(), i)
		require.NoError(t, err)
		assert.Equal(t, want, e.Attributes.Other["episode_metadata/model_file"])
	}

	e, whole := recorded(t, 1, 20, false), recorded(t, 2, 20, false)
	lost := map[string]dataset.Note{"action": {Code: dataset.CodeBroken, Subject: "action"}}
	e.Streams = e.Streams[:1]
	w, err := RLDS().Create(t.Context(), filepath.Join(t.TempDir(), "d"), Piece{Shards: 1, Inputs: []dataset.Info{{}}})
	require.NoError(t, err)
	defer w.Close()
	_, err = w.Add(t.Context(), &Episode{Episode: e, Times: e.Streams[0].Nanoseconds(), Lost: lost})
	require.NoError(t, err)
	_, err = w.Add(t.Context(), &Episode{Episode: whole, Number: 1, Times: whole.Streams[0].Nanoseconds(), Lost: map[string]dataset.Note{}})
	var spoiled *SpoiledError
	require.ErrorAs(t, err, &spoiled)
	assert.Contains(t, spoiled.Episodes, 0)
}

// Bytes are those of the records, which the file system may still have in memory.
func BenchmarkRLDS(b *testing.B) {
	const rows = 20_000
	times := make([]int64, rows)
	for i := range times {
		times[i] = int64(i) * 20e6
	}
	state, err := dataset.NewStream("state", times, tensor.Must(tensor.Of(make([]float32, 26*rows), rows, 26)), nil)
	require.NoError(b, err)
	action, err := dataset.NewStream("action", times, tensor.Must(tensor.Of(make([]float64, 7*rows), rows, 7)), nil)
	require.NoError(b, err)
	w, err := RLDS().Create(b.Context(), filepath.Join(b.TempDir(), "d"), Piece{Shards: 1, Inputs: []dataset.Info{{}}})
	require.NoError(b, err)
	defer w.Close()
	n := int64(0)
	for b.Loop() {
		e := &dataset.Episode{Streams: []dataset.Stream{state, action}}
		_, err := w.Add(b.Context(), &Episode{Episode: e, Times: times, Lost: map[string]dataset.Note{}})
		require.NoError(b, err)
		n = w.(*rldsWriter).splits[0].Bytes
	}
	b.SetBytes(n / int64(b.N))
}

// sized are PNG frames with different widths. It counts the frames that are read.
type sized struct {
	widths []int
	read   *atomic.Int64
}

func (s sized) ReadFrame(_ context.Context, i int) ([]byte, error) {
	s.read.Add(1)
	var b bytes.Buffer
	err := png.Encode(&b, image.NewGray(image.Rect(0, 0, s.widths[i], 2)))
	return b.Bytes(), err
}

// camera adds a camera with these frames to an episode.
func (s sized) camera(e *dataset.Episode, name string) {
	e.Media = append(e.Media, dataset.Media{Name: name, Times: e.Streams[0].Nanoseconds(), Encoding: "png", Width: 4, Height: 2, Source: s})
}

// A frame with another size is damage: it shows the frame before it. If more than half of the frames are damaged, the episode is refused.
func TestAFrameOfAnotherSizeIsDamageInRLDS(t *testing.T) {
	for _, c := range []struct{ widths, damaged []int }{
		{[]int{4, 4, 5, 4, 6}, []int{2, 4}}, {[]int{4, 5, 5, 5, 4}, nil},
	} {
		e := recorded(t, 1, 5, false)
		sized{c.widths, &atomic.Int64{}}.camera(e, "top")
		got, err := columnsOf(t.Context(), &Episode{Episode: e, Times: e.Streams[0].Nanoseconds(), Lost: map[string]dataset.Note{}}, &Piece{Inputs: []dataset.Info{{}}})
		var refused *RefusedError
		if c.damaged == nil {
			require.ErrorAs(t, err, &refused)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.damaged, got.kept.Undecoded["top"])
		list := got.list["steps/observation/top"].Bytes
		require.Len(t, list, 5)
		assert.Equal(t, list[1], list[2])
		assert.Equal(t, list[3], list[4])
	}
}

// If two streams have one key, the second is left out with a reason.
func TestAKeyInRLDSIsOfOneStream(t *testing.T) {
	e := recorded(t, 1, 20, false)
	addStream(t, e, "a/b", 1)
	addStream(t, e, "a.b", 2)
	r := converts(t, filepath.Join(t.TempDir(), "out"), RLDS(), Options{}, write(t, e))
	var refused []string
	for _, a := range r.Streams {
		if a.Dropped.Find(dataset.CodeStreamRefused) != nil {
			refused = append(refused, a.Name)
			assert.Zero(t, a.Rows)
		}
	}
	assert.Len(t, refused, 1)
	assert.Contains(t, []string{"a/b", "a.b"}, refused[0])
}

// A check for RLDS reads few frames, writes no records, and finds what the conversion refuses.
func TestACheckForRLDSReadsFewFrames(t *testing.T) {
	const rows = 100
	read := &atomic.Int64{}
	w, err := RLDS().Create(t.Context(), filepath.Join(t.TempDir(), "out"), Piece{Inputs: []dataset.Info{{}}, Dry: true})
	require.NoError(t, err)
	defer w.Close()
	for i := range 3 {
		e := recorded(t, i, rows, false)
		sized{slices.Repeat([]int{4}, rows), read}.camera(e, "top")
		if i == 2 {
			e.Streams = e.Streams[:1]
		}
		_, err := w.Add(t.Context(), &Episode{Episode: e, Number: i, Times: e.Streams[0].Nanoseconds(), Lost: map[string]dataset.Note{}})
		var refused *RefusedError
		if i < 2 {
			require.NoError(t, err)
		} else {
			require.ErrorAs(t, err, &refused)
		}
	}
	assert.LessOrEqual(t, read.Load(), int64(3*atOnce))
	require.NoError(t, filepath.WalkDir(w.(*rldsWriter).Path(), func(path string, d fs.DirEntry, err error) error {
		assert.True(t, d.IsDir(), path)
		return err
	}))
}
