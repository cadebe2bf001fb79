package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// A conversion that cannot be is the command line's fault, or the input's, and nothing is written.
func TestAConversionThatCannotBeWritesNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 50\nstreams:\n- {name: airspeed, kind: lineer}\n"), 0o600))
	out := filepath.Join(dir, "new", "out")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-o", out, "--to=npz"}, exitUsage, "convert takes one or more recordings, got none"},
		{[]string{flight, "--to=npz"}, exitUsage, "no output given, want -o OUT"},
		{[]string{flight, "-o", out}, exitUsage, "no format given, want --to lerobot, lerobot-2.1, mcap, npz, rlds, safetensors, webdataset, zarr"},
		{[]string{flight, "-o", out, "--to=csv"}, exitUsage, `--to: got "csv", want lerobot, lerobot-2.1, mcap`},
		{[]string{flight, "-o", out, "--to=npz", "--hz=5", "--plan", plan}, exitUsage, "--hz with --plan"},
		{[]string{flight, "-o", out, "--to=npz", "--plan", plan}, exitInput, "line 4, column 26"},
		{[]string{flight, "-o", out, "--to=npz", "--plan", plan + "x"}, exitInput, "no such file"},
		{[]string{flight, "-o", out, "--to=npz", "--encoding=json"}, exitUsage, "--encoding is for messages"},
		{[]string{flight, "-o", out, "--to=npz", "--shard=2/2"}, exitUsage, "want a shard of so many"},
		{[]string{flight, "-o", out, "--to=npz", "--shard=1/2", "--shards=3"}, exitUsage, "want these equal"},
		{[]string{flight, "-o", out, "--to=npz", "--shards=0"}, exitUsage, "--shards: got 0, want 1 to 99999"},
		{[]string{flight, "-o", out, "--to=npz", "--unordered=sort"}, exitUsage, "--unordered: got no --plan and no --hz"},
		{[]string{flight, "-o", out, "--to=npz", "--hz=5", "--unordered=maybe"}, exitUsage, `--unordered: got "maybe", want drop, sort, error`},
		{[]string{flight, "-o", out, "--to=npz", "--media=none", "--media=x"}, exitUsage, "--media: got none and others"},
		{[]string{flight, "-o", out, "--to=npz", "--media=x"}, exitUsage, `--media: got "x", want none: no episode has a camera`},
		{[]string{flight, "-o", out + ".mcap", "--to=npz"}, exitUsage, ".mcap\", with the ending for mcap, with --to npz"},
		{[]string{flight, "-o", out + ".NPZ", "--to=lerobot", "--hz=5"}, exitUsage, "with the ending for npz, with --to lerobot"},
		{[]string{flight, "-o", out + ".bag", "--to=webdataset", "--hz=5"}, exitUsage, "with the ending for rosbag, with --to webdataset"},
		{[]string{flight, "-o", out, "--to=npz", "--clock=log"}, exitUsage, "--clock"},
		{[]string{flight, "-o", out, "--to=webdataset"}, exitUsage, "want --hz F or --plan FILE"},
		{[]string{flight, "-o", "s3://bucket/x", "--to=npz"}, exitUsage, "is read and not written"},
		{[]string{kindsRLDS, "-o", kindsRLDS + "/out", "--to=npz", "--rate=10"}, exitUsage, "or in it"},
		{[]string{kindsRLDS, "-o", out, "--to=npz", "--hz=10"}, exitInput, "could be converted"},
		{[]string{dir + "/none", "-o", out, "--to=npz"}, exitInput, "none: cannot be read: no such file"},
		{[]string{flight, "-o", out, "--to=npz", "--hz=5", "--backend=tpu"}, exitUsage, "tpu"},
	} {
		code, _, stderr := execute(append([]string{"convert"}, c.args...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, stderr)
		assert.Contains(t, stderr, c.want, "%v", c.args)
	}
	assert.NoDirExists(t, out)
	if _, err := os.Stat(filepath.Dir(out)); err == nil {
		assert.Empty(t, names(t, filepath.Dir(out)), "no journal either")
	}
}

// The JSON of convert has all keys, and agrees with the report in the output.
func TestConvertSaysWhatItsReportDoes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	stdout, _ := good(t, "convert", kindsRLDS, "-o", out, "--to=safetensors", "--rate=10", "--json")
	checkKeys(t, stdout, reflect.TypeFor[converted]())
	var said struct{ Shards []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(stdout), &said))
	require.Len(t, said.Shards, 1)
	written, err := os.ReadFile(filepath.Join(out, "convert.json"))
	require.NoError(t, err)
	var keys, printed map[string]any
	require.NoError(t, json.Unmarshal(written, &keys))
	require.NoError(t, json.Unmarshal(said.Shards[0], &printed))
	remarks := printed["notes"].([]any) // with sentences, and as notes in the report
	assert.Len(t, keys["notes"], len(remarks))
	for _, r := range remarks {
		assert.Contains(t, []any{"episode_metadata/id", "tfds_id"}, r.(map[string]any)["subject"])
	}
	printed["notes"] = keys["notes"]
	assert.Equal(t, keys, printed)
	for _, key := range []string{"streams", "losses", "notes", "pieces", "inputs"} {
		assert.NotNil(t, keys[key], key)
	}
	var r convert.Report
	require.NoError(t, json.Unmarshal(written, &r))
	assert.Equal(t, r.Read, r.Converted)
	text, _ := good(t, "convert", kindsRLDS, "-o", out, "--to=safetensors", "--rate=10")
	assert.Contains(t, text, "were there already")
	before, err := os.Stat(filepath.Join(out, r.Pieces[0].Path))
	require.NoError(t, err)
	good(t, "convert", kindsRLDS, "-o", out, "--to=safetensors", "--rate=10")
	after, err := os.Stat(filepath.Join(out, r.Pieces[0].Path))
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
}

// A task of an array makes its shard.
func TestATaskOfAnArrayMakesItsShard(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("SLURM_ARRAY_TASK_ID", "1")
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "2")
	_, stderr := good(t, "convert", kindsRLDS, "-o", out, "--to=npz", "--rate=10", "--shards=2")
	assert.Contains(t, stderr, "shard 1 of 2, by SLURM_ARRAY_TASK_ID")
	assert.FileExists(t, filepath.Join(out, "convert-00001-of-00002.json"))
	assert.NoFileExists(t, filepath.Join(out, "convert-00000-of-00002.json"))
}

// oneStream writes a recording with one stream that has the given width and times.
func oneStream(t *testing.T, path string, width int, times ...int64) {
	values := tensor.Must(tensor.New(tensor.F32, len(times), width))
	s, err := dataset.NewStream("state", times, values, nil)
	require.NoError(t, err)
	require.NoError(t, mcap.WriteFile(path, mcap.WriterOptions{}, func(w *mcap.Writer) error {
		return w.Episode(t.Context(), &dataset.Episode{Streams: []dataset.Stream{s}}, mcap.Protobuf)
	}))
}

// If nothing in an input could be converted, the command converts the others, names that input and exits with 3.
func TestAnInputThatIsSkippedWholeIsTold(t *testing.T) {
	dir := t.TempDir()
	good1, other, out := filepath.Join(dir, "good.mcap"), filepath.Join(dir, "other.mcap"), filepath.Join(dir, "out")
	oneStream(t, good1, 2, 0, 1e8, 2e8, 3e8)
	oneStream(t, other, 3, 0, 1e8, 2e8)
	code, stdout, stderr := execute("convert", good1, other, "-o", out, "--to=lerobot")
	assert.Equal(t, exitInput, code, stderr)
	assert.Contains(t, stdout, "converted 1 of 2 episodes (1 skipped), 1 stream, 4 rows")
	assert.Contains(t, stdout, "skipped 1 of 1 episode of "+other+": lerobot: state: ")
	assert.Contains(t, stderr, other+": nothing in it was converted: its one episode was skipped")
	assert.DirExists(t, out)
	again, _ := good(t, "convert", good1, other, "-o", out, "--to=lerobot", "--allow-skipped", "--json")
	var said converted
	require.NoError(t, json.Unmarshal([]byte(again), &said))
	require.Len(t, said.Skipped, 1)
	assert.Equal(t, []any{other, 1, 1, true}, []any{said.Skipped[0].Input, said.Skipped[0].Episodes, said.Skipped[0].Skipped, said.Skipped[0].Whole})
}

// A conversion that was done before gives the same reasons for a skipped episode: sentences, not codes.
func TestAResumedConversionExplainsSkippedEpisodes(t *testing.T) {
	dir := t.TempDir()
	bag, err := os.ReadFile("../../examples/data/turtles.bag")
	require.NoError(t, err)
	cut, whole := filepath.Join(dir, "cut.bag"), filepath.Join(dir, "whole.npz")
	require.NoError(t, os.WriteFile(cut, bag[:4300], 0o600))
	writeStreams(t, whole, []int64{0, 1e8}, []int64{0, 1e8})
	lines := func() (list []string) {
		stdout, stderr := good(t, "convert", cut, whole, "-o", filepath.Join(dir, "out"), "--to=npz", "--allow-skipped")
		for line := range strings.Lines(stdout + stderr) {
			if strings.Contains(line, "no samples;") {
				list = append(list, line)
			}
		}
		return list
	}
	first := lines()
	require.NotEmpty(t, first)
	assert.Contains(t, first[0], "no samples; lost: indexes that do not fit the file, so it was scanned: 1")
	assert.Equal(t, first, lines())
}

// A stream that steps back is left out, by --state with the reason, and --unordered sort takes it.
func TestConvertTakesUnordered(t *testing.T) {
	dir := t.TempDir()
	in, plan := filepath.Join(dir, "in.npz"), filepath.Join(dir, "plan.yaml")
	writeStreams(t, in, []int64{0, 1e8, 3e8, 2e8, 4e8}, []int64{0, 1e8, 2e8, 3e8, 4e8})
	code, _, stderr := execute("convert", in, "-o", filepath.Join(dir, "a"), "--to=lerobot", "--hz=10", "--state=back")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "observation.state: its stream back was left out: time goes backwards at sample 3")
	stdout, _ := good(t, "convert", in, "-o", filepath.Join(dir, "b"), "--to=lerobot", "--hz=10", "--state=back", "--unordered=sort")
	assert.Contains(t, stdout, "converted 1 episode, 2 streams, 5 rows")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\n"), 0o600))
	stdout, _ = good(t, "convert", in, "-o", filepath.Join(dir, "c"), "--to=lerobot", "--plan", plan, "--unordered=sort")
	assert.Contains(t, stdout, "converted 1 episode, 2 streams, 5 rows")
}

func writeStreams(t *testing.T, path string, back, on []int64) {
	arrays := map[string]*tensor.Tensor{}
	for name, times := range map[string][]int64{"back": back, "on": on} {
		arrays[name+".times"] = tensor.Must(tensor.Of(times, len(times)))
		arrays[name+".values"] = tensor.Must(tensor.New(tensor.F32, len(times), 1))
	}
	require.NoError(t, os.Rename(writeNPZ(t, arrays), path))
}
