package calvin_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/calvin"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

// golden is what numpy reads of a split; see scripts/gen_calvin_golden.py.
type golden struct {
	Episodes []struct {
		First, Last int
		Arrays      map[string]struct {
			DType       string
			Shape       []int
			Sum         float64
			First, Last []float64
		}
	}
	Language []struct {
		Text, Task  string
		First, Last int
	}
}

func readGolden(t *testing.T, name string, into any) {
	t.Helper()
	text := filetest.Read(t, filepath.Join("testdata", name))
	require.NoError(t, json.Unmarshal(text, into))
}

func open(t testing.TB, path string, opt dataset.Options) dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(context.Background(), path, opt)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

func episode(t testing.TB, d dataset.Dataset, i int) *dataset.Episode {
	t.Helper()
	return settest.Episode(t, d, i)
}

// images returns all numbers of a media stream.
func images(t *testing.T, m *dataset.Media) (list []float64) {
	t.Helper()
	for i := range m.Len() {
		b, err := m.Frame(context.Background(), i)
		require.NoError(t, err)
		for len(b) > 0 {
			if !strings.HasPrefix(m.Encoding, "32FC") {
				list, b = append(list, float64(b[0])), b[1:]
				continue
			}
			list, b = append(list, float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))), b[4:]
		}
	}
	return list
}

// checkSplit compares the play and language of a split with what numpy reads.
func checkSplit(t *testing.T, d, spans dataset.Dataset, want golden, play []int) {
	t.Helper()
	require.Len(t, play, len(want.Episodes))
	for i, w := range want.Episodes {
		e := episode(t, d, play[i])
		frames := w.Last - w.First + 1
		assert.Equal(t, frames, e.Frames)
		assert.Nil(t, e.Notes.Damage())
		assert.Equal(t, len(w.Arrays), len(e.Streams)+len(e.Media))
		for name, array := range w.Arrays {
			var got []float64
			if m := e.MediaStream(name); m != nil {
				assert.Equal(t, array.Shape[:3], []int{m.Len(), m.Height, m.Width}, name)
				got = images(t, m)
			} else {
				s := e.Stream(name)
				require.NotNil(t, s, name)
				assert.Equal(t, array.DType, s.Columns[0].Type, name)
				list, err := tensor.Floats(s.Values)
				require.NoError(t, err)
				got = list
				times, err := dataset.StepTimes(frames, 30)
				require.NoError(t, err)
				assert.Equal(t, times, s.Nanoseconds())
			}
			sum := 0.0
			for _, v := range got {
				sum += v
			}
			assert.InDelta(t, array.Sum, sum, 1e-9*math.Max(1, math.Abs(array.Sum)), "%s: the order of additions differs", name)
			assert.Equal(t, array.First, got[:len(array.First)], name)
			assert.Equal(t, array.Last, got[len(got)-len(array.Last):], name)
		}
	}
	require.Equal(t, spans.Len(), len(want.Language))
	for i, w := range want.Language {
		e := episode(t, spans, i)
		assert.Equal(t, w.Text, e.Attributes.Task)
		assert.Equal(t, w.Task, e.Attributes.Other["task"])
		assert.Equal(t, w.Last-w.First+1, e.Frames)
		for k, p := range want.Episodes { // the same frames as those of the play
			if w.First >= p.First && w.Last <= p.Last {
				of, err := tensor.Floats(episode(t, d, play[k]).Stream("robot_obs").Values)
				require.NoError(t, err)
				got, err := tensor.Floats(e.Stream("robot_obs").Values)
				require.NoError(t, err)
				assert.Equal(t, of[15*(w.First-p.First):15*(w.Last-p.First+1)], got)
			}
		}
	}
}

func TestFramesAreAsNumpyReadsThem(t *testing.T) {
	var want map[string]golden
	readGolden(t, "small.json", &want)
	d := open(t, "testdata/small", dataset.Options{Strict: true})
	assert.Equal(t, [2]string{"small", "calvin"}, [2]string{d.Name(), d.Format()})
	info := d.Info()
	assert.Equal(t, [2]any{30.0, "known datasets"}, [2]any{info.Rate, info.RateFrom})
	assert.Equal(t, 13, info.Frames)
	assert.Equal(t, []string{"push the block left", "open the drawer", "lift the blöck"}, info.Tasks)
	assert.Equal(t, []dataset.Split{
		{Name: "training", Episodes: []int{0, 1}}, {Name: "validation", Episodes: []int{2}},
	}, info.Splits)
	assert.Empty(t, info.Notes)
	require.Equal(t, 3, d.Len())
	for _, s := range info.Splits {
		spans := open(t, "testdata/small/"+s.Name+"/lang_annotations", dataset.Options{Strict: true})
		assert.Equal(t, "lang_annotations", spans.Name())
		checkSplit(t, d, spans, want[s.Name], s.Episodes)
	}
}

func TestSharedRecording(t *testing.T) {
	path := "../../../shared/data/calvin_layout"
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared recordings are not here: ", path)
	}
	var want golden
	readGolden(t, "layout.json", &want)
	d := open(t, path, dataset.Options{Strict: true})
	info := d.Info()
	assert.Equal(t, []string{"push the block left", "open the drawer"}, info.Tasks)
	require.Len(t, info.Splits, 1, "there is no validation, and nobody says that there is")
	assert.Equal(t, 18, info.Frames)
	require.Equal(t, 2, d.Len())
	checkSplit(t, d, open(t, path+"/training/lang_annotations", dataset.Options{Strict: true}), want, info.Splits[0].Episodes)
	e := episode(t, d, 1)
	assert.Equal(t, []int{9, 24}, e.Stream("scene_obs").Values.Shape())
	assert.Equal(t, "training_1", e.Name)
	assert.JSONEq(t, `[{"task":"open_drawer","text":"open the drawer","first":1,"last":7}]`, e.Attributes.Other["language"])
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeEmbeddings, Subject: "language/emb", Count: 1, Detail: dataset.Detail{Got: "<f4 [1,384]"}}}, e.Notes)
}

func TestStreamsHaveTheirNamesAndTypes(t *testing.T) {
	d := open(t, "testdata/small/training", dataset.Options{Rate: 15})
	assert.Equal(t, "training", d.Name(), "a split alone is a dataset")
	assert.Equal(t, "caller", d.Info().RateFrom)
	e := episode(t, d, 1)
	assert.Equal(t, []string{"actions", "rel_actions", "robot_obs", "scene_obs", "matrix", "contact", "large", "half"}, e.Names())
	assert.Equal(t, []int64{0, 66666667, 133333333, 200000000}, e.Stream("actions").Nanoseconds())
	assert.Equal(t, "tcp_pos.x tcp_pos.y tcp_pos.z tcp_euler.x tcp_euler.y tcp_euler.z gripper_action", strings.Join(e.Stream("actions").ColumnNames(), " "))
	robot, scene := e.Stream("robot_obs"), e.Stream("scene_obs")
	assert.Equal(t, [4]int{6, 7, 13, 14}, [4]int{robot.Column("gripper_opening_width"), robot.Column("arm_joint.0"), robot.Column("arm_joint.6"), robot.Column("gripper_action")})
	assert.Equal(t, [4]int{0, 5, 6, 23}, [4]int{scene.Column("sliding_door"), scene.Column("green_light"), scene.Column("red_block_pos.x"), scene.Column("pink_block_euler.z")})
	assert.Equal(t, []tensor.DType{tensor.F64, tensor.F32}, []tensor.DType{robot.Values.DType(), scene.Values.DType()}, "as the files have it")
	matrix, contact, large := e.Stream("matrix"), e.Stream("contact"), e.Stream("large")
	assert.Equal(t, []int{4, 6}, matrix.Values.Shape())
	assert.Equal(t, dataset.Column{Name: "5", Type: "int16", Integer: true}, matrix.Columns[5])
	assert.Equal(t, [2]string{"bool", "int64"}, [2]string{contact.Columns[0].Type, large.Columns[0].Type})
	assert.Equal(t, 2, large.Inexact, "2^53 + 51 and + 53 are no doubles")
	assert.Equal(t, tensor.F32, e.Stream("half").Values.DType())
	for name, encoding := range map[string]string{"rgb_static": "rgb8", "rgb_tactile": "8UC6", "depth_static": "32FC1"} {
		require.NotNil(t, e.MediaStream(name), name)
		assert.Equal(t, encoding, e.MediaStream(name).Encoding)
		assert.Equal(t, e.Stream("actions").Nanoseconds(), e.MediaStream(name).Times)
	}
	require.Len(t, e.Notes, 2)
	assert.Equal(t, "note", e.Notes[0].Subject)
	assert.Equal(t, dataset.CodeValueType, e.Notes[0].Code)
	assert.Equal(t, map[string]string{
		"split": "training", "first_frame": "50", "last_frame": "53", "scene": "calvin_scene_C",
		"language": `[{"task":"push_block_left","text":"push the block left","first":0,"last":3},{"task":"lift_block","text":"lift the blöck","first":2,"last":3}]`,
	}, e.Attributes.Other)
	assert.Equal(t, "push the block left; lift the blöck", e.Attributes.Task)
}

// Annotations of all protocols, as lists, arrays, objects and scalars of numpy's, are the same.
func TestAnnotationsOfAllForms(t *testing.T) {
	files, err := filepath.Glob("testdata/annotations/*.npy")
	require.NoError(t, err)
	require.Len(t, files, 16)
	var want map[string]golden
	readGolden(t, "small.json", &want)
	for _, file := range files {
		dir := copied(t, "testdata/small/training")
		data := filetest.Read(t, file)
		filetest.Write(t, filepath.Join(dir, "lang_annotations", "auto_lang_ann.npy"), data)
		d, err := calvin.Open(context.Background(), filepath.Join(dir, "lang_annotations"), dataset.Options{Strict: true})
		require.NoError(t, err, file)
		require.Equal(t, 4, d.Len(), file)
		for i, w := range want["training"].Language {
			e := episode(t, d, i)
			assert.Equal(t, [2]string{w.Text, w.Task}, [2]string{e.Attributes.Task, e.Attributes.Other["task"]}, file)
			assert.Equal(t, w.Last-w.First+1, e.Frames, file)
			assert.Contains(t, e.Notes[len(e.Notes)-1].Reason(), "<f4 [1,5]", file)
		}
	}
}

// copied returns a copy of a folder of test data that may be changed.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

func TestOtherFilesAreNamed(t *testing.T) {
	dir := copied(t, "testdata/small")
	require.NoError(t, os.Rename(filepath.Join(dir, "training", "lang_annotations"), filepath.Join(dir, "training", "lang_BERT")))
	filetest.Write(t, filepath.Join(dir, "training", "statistics.yaml"), "robot_obs:\n")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "training", "episode_0000038.npz.d"), 0o700))
	d := open(t, dir, dataset.Options{Strict: true})
	assert.Equal(t, map[string]string{"training/other files": "episode_0000038.npz.d, lang_BERT, statistics.yaml"}, d.Info().Attributes)
	assert.Len(t, d.Info().Tasks, 3, "annotations of another folder are as good")
	assert.Equal(t, 4, open(t, filepath.Join(dir, "training", "lang_BERT"), dataset.Options{Strict: true}).Len())
}
