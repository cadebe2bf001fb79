package robomimic_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/rlds"
	"github.com/robocache/robocache/dataset/robomimic"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

const shared = "../../../shared/data"

// recording returns a file of the recordings that lie beside the project.
func recording(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(shared, name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared recordings are not here: ", name)
	}
	return path
}

func floats(t *testing.T, s *dataset.Stream) []float64 {
	t.Helper()
	require.NotNil(t, s)
	list, err := tensor.Floats(s.Values)
	require.NoError(t, err)
	return list
}

// The same 25 episodes in three versions of the container, and as RLDS, from which they were made: the numbers are the same.
func TestBridgeEpisodesAreThoseOfRLDS(t *testing.T) {
	ctx := context.Background()
	from, err := rlds.Open(ctx, recording(t, "bridge_rlds"), dataset.Options{})
	require.NoError(t, err)
	defer from.Close()
	for _, file := range []string{"lowdim_earliest.hdf5", "lowdim_v18.hdf5", "lowdim_latest.hdf5"} {
		d, err := dataset.Open(ctx, recording(t, "robomimic_bridge/"+file), dataset.Options{Rate: 5})
		require.NoError(t, err, file)
		assert.Equal(t, "robomimic", d.Format())
		require.Equal(t, 25, d.Len())
		info := d.Info()
		assert.Equal(t, [2]any{5.0, "caller"}, [2]any{info.Rate, info.RateFrom})
		require.Len(t, info.Splits, 2)
		assert.Equal(t, "train", info.Splits[0].Name)
		assert.Equal(t, []int{0, 5, 10, 15, 20}, info.Splits[1].Episodes)
		assert.Empty(t, info.Notes)
		assert.Equal(t, 250, info.Frames)
		steps := 0
		tasks := map[string]bool{}
		for i := range d.Len() {
			e := settest.Episode(t, d, i)
			want := settest.Episode(t, from, i)
			actions := e.Stream("actions")
			assert.InDeltaSlice(t, floats(t, want.Stream("action")), floats(t, actions), 0, "episode %d: its doubles were made of floats", i)
			assert.Equal(t, want.Attributes.Task, e.Attributes.Task)
			tasks[e.Attributes.Task] = true
			assert.False(t, e.Steps)
			assert.Equal(t, int64(200e6), actions.Nanoseconds()[1])
			assert.True(t, e.Stream("dones").AllInteger())
			assert.Equal(t, []int{10, 3}, e.Stream("obs/eef_pos").Values.Shape())
			assert.Nil(t, e.Notes.Damage())
			steps += actions.Len()
		}
		assert.Equal(t, 250, steps)
		assert.ElementsMatch(t, slices.Collect(maps.Keys(tasks)), info.Tasks)
		require.NoError(t, d.Close())
	}
}

func TestImagesAreFrames(t *testing.T) {
	for _, file := range []string{"image_gzip_earliest.hdf5", "image_gzip_latest.hdf5"} {
		d, err := robomimic.Open(recording(t, "robomimic_bridge/"+file), dataset.Options{})
		require.NoError(t, err)
		e := settest.Episode(t, d, 1)
		assert.True(t, e.Steps, "nobody says how long a step is")
		require.NotEmpty(t, e.Media)
		m := &e.Media[0]
		assert.Equal(t, "rgb8", m.Encoding)
		frame, err := m.Frame(context.Background(), m.Len()-1)
		require.NoError(t, err)
		assert.Len(t, frame, m.Width*m.Height*3)
		require.NoError(t, d.Close())
	}
}

func TestRawRobosuite(t *testing.T) {
	d, err := dataset.Open(context.Background(), "testdata/demo.hdf5", dataset.Options{Rate: 20})
	require.NoError(t, err)
	defer d.Close()
	assert.Equal(t, "robosuite", d.Format())
	require.Equal(t, 1, d.Len())
	e := settest.Episode(t, d, 0)
	assert.Equal(t, "demo_1", e.Name)
	assert.Equal(t, []int{174, 6}, e.Stream("actions").Values.Shape())
	assert.Equal(t, []int{174, 7}, e.Stream("joint_torques").Values.Shape())
	_, err = d.Episode(context.Background(), 1)
	assert.ErrorIs(t, err, dataset.ErrNotFound)
}

func TestOtherFilesAreRefusedByName(t *testing.T) {
	_, err := robomimic.Open("../hdf5/testdata/kinds_latest.hdf5", dataset.Options{})
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "want a group data with groups demo_0")
}

// The file of scripts/gen_robomimic_golden.py: its values follow from formulas.
func TestAFileWithAllThatIsToldApart(t *testing.T) {
	ctx := context.Background()
	d := settest.Open(t, "testdata/kinds.hdf5")
	info := d.Info()
	assert.Equal(t, [2]any{20.0, "file"}, [2]any{info.Rate, info.RateFrom}, "control_freq of env_args")
	assert.Equal(t, []dataset.Split{{Name: "train", Episodes: []int{0, 2}}, {Name: "valid", Episodes: []int{1}}}, info.Splits)
	require.Len(t, info.Notes, 1)
	assert.Equal(t, []any{dataset.CodeSplitNameMissing, "demo_7"}, []any{info.Notes[0].Code, info.Notes[0].Got})
	_, err := dataset.Open(ctx, "testdata/kinds.hdf5", dataset.Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrCorrupt, "a filter names what is not there")

	for i, want := range []struct {
		name  string
		steps int
	}{{"demo_0", 7}, {"demo_2", 5}, {"demo_10", 3}} {
		e := settest.Episode(t, d, i)
		assert.Equal(t, [2]string{want.name, "lift the " + want.name}, [2]string{e.Name, e.Attributes.Task})
		assert.False(t, e.Steps)
		actions, small, large := e.Stream("actions"), e.Stream("obs/small"), e.Stream("obs/large")
		assert.Equal(t, int64(50e6), actions.Nanoseconds()[1])
		assert.Equal(t, []tensor.DType{tensor.F64, tensor.F32, tensor.F64}, []tensor.DType{actions.Values.DType(), small.Values.DType(), large.Values.DType()})
		assert.True(t, small.AllInteger() && large.AllInteger() && !actions.AllInteger())
		assert.Equal(t, want.steps/2, large.Inexact, "each second one above 2^53 is no double")
		for k := range want.steps {
			assert.Equal(t, float64(2*k+1)/8, floats(t, actions)[2*k+1])
			assert.Equal(t, float64(k), floats(t, e.Stream("rewards"))[k])
			assert.Equal(t, float64(250-want.steps+k), floats(t, small)[k])
		}
		require.Len(t, e.Media, 1)
		m := &e.Media[0]
		assert.Equal(t, [4]any{"obs/image", "rgb8", 6, 4}, [4]any{m.Name, m.Encoding, m.Width, m.Height})
		frame, err := m.Frame(ctx, want.steps-1)
		require.NoError(t, err)
		require.Len(t, frame, 72)
		for k, v := range frame {
			require.Equal(t, byte((72*(want.steps-1)+k)%251), v)
		}
		left := map[string]dataset.Code{}
		for _, l := range e.Notes {
			left[l.Subject] = l.Code
		}
		require.Len(t, left, 4)
		assert.Equal(t, "[0][1]", e.Stream("obs/depth").ColumnNames()[1])
		assert.Equal(t, dataset.CodeStepCount, left["obs/short"])
		assert.Equal(t, dataset.CodeNoColumns, left["obs/none"])
		assert.Equal(t, dataset.CodeValueType, left["obs/note"])
		assert.Equal(t, dataset.CodeSingleValue, left["scale"])
	}
}

func TestAFolderHasAllDemonstrationsOfItsFiles(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	for name, from := range map[string]string{"task_2.hdf5": "kinds", "task_10.hdf5": "demo", "task_1.hdf5": "kinds"} {
		data := filetest.Read(t, "testdata/"+from+".hdf5")
		filetest.Write(t, filepath.Join(dir, name), data)
	}
	d, err := dataset.Open(ctx, dir, dataset.Options{Rate: 20})
	require.NoError(t, err)
	defer d.Close()
	assert.Equal(t, "robomimic", d.Format(), "one is raw robosuite, which the same format reads")
	var names []string
	for e, err := range dataset.Episodes(ctx, d) {
		require.NoError(t, err)
		names = append(names, e.Name)
		for _, m := range e.Media {
			_, err := m.Frame(ctx, 0)
			require.NoError(t, err)
		}
	}
	assert.Equal(t, []string{"task_1/demo_0", "task_1/demo_2", "task_1/demo_10", "task_2/demo_0", "task_2/demo_2", "task_2/demo_10", "task_10/demo_1"}, names)
	assert.Equal(t, 15+15+174, d.Info().Frames)
	assert.Equal(t, []dataset.Split{{Name: "train", Episodes: []int{0, 2, 3, 5}}, {Name: "valid", Episodes: []int{1, 4}}}, d.Info().Splits)
}

func TestOpeningEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := dataset.Open(ctx, "testdata/kinds.hdf5", dataset.Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestObjectsOfNoDemonstrationAreToldByName(t *testing.T) {
	d, err := dataset.Open(context.Background(), "testdata/others.hdf5", dataset.Options{Strict: true})
	require.NoError(t, err)
	defer d.Close()
	assert.Equal(t, 1, d.Len())
	assert.Regexp(t, "^note_00, note_01, .*, note_19 and 2 more$", d.Info().Attributes["other objects"])
}
