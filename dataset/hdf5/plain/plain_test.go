package plain_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5/plain"
	"github.com/robocache/robocache/internal/test/h5test"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

func TestSeriesOfOneLengthAreStreams(t *testing.T) {
	ctx := context.Background()
	d, err := dataset.Open(ctx, "testdata/one.hdf5", dataset.Options{Rate: 10})
	require.NoError(t, err)
	defer d.Close()
	assert.Equal(t, "hdf5", d.Format())
	require.Equal(t, 1, d.Len())
	e := settest.Episode(t, d, 0)
	assert.Equal(t, []string{"force", "inertia", "joints/mode", "joints/position", "joints/valid", "records"}, e.Names())
	records := e.Stream("records")
	assert.Equal(t, []string{"a", "b", "c", "e[0]", "e[1]"}, records.ColumnNames(), "of the fields that are numbers")
	assert.Equal(t, []bool{false, true, true}, []bool{records.Columns[0].Integer, records.Columns[1].Integer, records.Columns[2].Integer})
	list, err := tensor.Floats(records.Values)
	require.NoError(t, err)
	assert.Equal(t, []float64{1<<30 + 5, 5, 0, 0}, list[26:])
	assert.Equal(t, []string{"base", "shoulder", "elbow", "wrist"}, e.Stream("joints/position").ColumnNames(), "an attribute says so")
	assert.Equal(t, []string{"[0][0]", "[0][1]", "[0][2]", "[1][0]"}, e.Stream("inertia").ColumnNames()[:4])
	assert.True(t, e.Stream("joints/valid").AllInteger())
	assert.Equal(t, 6, e.Frames)
	assert.Equal(t, map[string]string{"robot": "arm", "gains": "1.5, 2, 3", "joints/position/joint_names": "base, shoulder, elbow, wrist"}, e.Attributes.Other)
	h5test.ReadGolden(t, "testdata/one.hdf5").Check(t, e, "")
	require.Len(t, e.Media, 3)
	for name, encoding := range map[string]string{"view/strings": "jpeg", "view/sequences": "png", "view/pixels": "rgb8"} {
		m := e.MediaStream(name)
		assert.Equal(t, [3]any{encoding, 10, 8}, [3]any{m.Encoding, m.Width, m.Height}, name)
	}
	left := h5test.Left(e)
	for name, why := range map[string]string{
		"calibration": dataset.CodeStepCount.String() + ": 3 of 6", "serial": dataset.CodeSingleValue.String(), "notes": dataset.CodeValueType.String() + ": 6, got string of 1",
		"records.d": "got string of 3", "elsewhere": "an external link",
		"a": dataset.CodeAlias.String(), "joints/same": dataset.CodeAlias.String(),
	} {
		assert.Contains(t, left[name].Reason(), why)
	}
	assert.Len(t, left, 7)
}

func TestNumberedGroupsAreEpisodes(t *testing.T) {
	d := settest.Open(t, "testdata/several.hdf5")
	require.Equal(t, 3, d.Len())
	golden := h5test.ReadGolden(t, "testdata/several.hdf5")
	for i, name := range []string{"traj_0", "traj_2", "traj_10"} {
		e := settest.Episode(t, d, i)
		assert.Equal(t, name, e.Name)
		assert.True(t, e.Steps)
		golden.Check(t, e, name+"/")
		assert.Equal(t, e.Frames+1, e.Stream("obs/agent/qpos").Len(), "it goes on until after the last action")
	}
}

// Every file of the recordings opens, whatever it holds, and what is no stream is left out by name.
func TestAnyFileOpens(t *testing.T) {
	ctx := context.Background()
	files, err := filepath.Glob("../../../../shared/data/hdf5_jhdf/*.hdf5*")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the shared recordings are not here: ", "hdf5_jhdf")
	}
	require.Len(t, files, 64)
	refused := map[string]string{
		"bitshuffle_datasets.hdf5": "filter bitshuffle (32008)", "test_missing_filter.hdf5bad": "filter szip (4)",
	}
	for _, file := range files {
		d, err := dataset.Open(ctx, file, dataset.Options{})
		if !assert.NoError(t, err, file) {
			continue
		}
		for i := range d.Len() {
			e, err := d.Episode(ctx, i)
			if assert.NoError(t, err, file) {
				if why := refused[filepath.Base(file)]; why != "" {
					assert.Contains(t, fmt.Sprint(h5test.Left(e)), why, file)
				}
				if links := filepath.Base(file); links == "test_file.hdf5" || links == "test_file2.hdf5" {
					assert.Contains(t, fmt.Sprint(e.Notes.Damage()), "missing_dataset: no such name", "a link that leads nowhere")
				} else {
					assert.Nil(t, e.Notes.Damage(), file)
				}
				assert.Equal(t, strings.Contains(file, "userblock"), len(e.Streams)+len(e.Media)+len(e.Notes)+len(e.Attributes.Other) == 0, file)
			}
		}
		require.NoError(t, d.Close())
	}
}

func TestBrokenFilesCostWhatIsBroken(t *testing.T) {
	h5test.Hostile(t, "testdata/several.hdf5", plain.Open, 31)
	h5test.Hostile(t, "testdata/one.hdf5", plain.Open, 31)
}

func TestMutantsDoNoHarm(t *testing.T) {
	h5test.Mutants(t, plain.Open, 1000, "testdata/one.hdf5", "testdata/several.hdf5")
}

func FuzzOpen(f *testing.F) {
	h5test.Fuzz(f, plain.Open, "testdata/one.hdf5", "testdata/several.hdf5")
}
