package isaaclab_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/isaaclab"
	"github.com/robocache/robocache/dataset/robomimic"
	"github.com/robocache/robocache/internal/test/h5test"
	"github.com/robocache/robocache/internal/test/settest"
)

const file = "testdata/demos.hdf5"

func TestDemonstrationsAreWhatH5pyReads(t *testing.T) {
	d := settest.Open(t, file)
	assert.Equal(t, "isaaclab", d.Format(), "and not robomimic, which is registered too")
	info := d.Info()
	assert.Equal(t, [2]any{20.0, "file"}, [2]any{info.Rate, info.RateFrom}, "1/(0.01 s * 5)")
	assert.Equal(t, 11, info.Frames)
	assert.Empty(t, info.Notes)
	yes, no := true, false
	golden := h5test.ReadGolden(t, file)
	for i, want := range []struct {
		name    string
		steps   int
		success *bool
	}{{"demo_0", 6, &yes}, {"demo_1", 4, &no}, {"demo_2", 1, nil}} {
		e := settest.Episode(t, d, i)
		assert.Equal(t, want.name, e.Name)
		assert.Equal(t, want.steps, e.Frames)
		assert.Equal(t, want.success, e.Attributes.Success)
		assert.NotEmpty(t, e.Attributes.Other["seed"])
		assert.Nil(t, e.Notes.Damage())
		golden.Check(t, e, "data/"+want.name+"/")
		joints := e.Stream("states/articulation/robot/joint_position")
		require.NotNil(t, joints)
		assert.Equal(t, int64(want.steps-1)*50e6, joints.Nanoseconds()[want.steps-1])
		assert.Equal(t, dataset.CodeInitialState, h5test.Left(e)["initial_state/articulation/robot/root_pose"].Code)
		require.Len(t, e.Media, 1)
		assert.Equal(t, [3]any{"rgb8", 16, 12}, [3]any{e.Media[0].Encoding, e.Media[0].Width, e.Media[0].Height})
	}
}

func TestARobomimicFileIsNone(t *testing.T) {
	_, err := isaaclab.Open("../robomimic/testdata/kinds.hdf5", dataset.Options{})
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "initial_state")
	d, err := robomimic.Open(file, dataset.Options{})
	require.NoError(t, err, "whoever says it is robomimic's gets that")
	require.NoError(t, d.Close())
}

func TestBrokenFilesCostWhatIsBroken(t *testing.T) { h5test.Hostile(t, file, isaaclab.Open, 4001) }

func TestMutantsDoNoHarm(t *testing.T) { h5test.Mutants(t, isaaclab.Open, 300, file) }

func FuzzOpen(f *testing.F) { h5test.Fuzz(f, isaaclab.Open, file) }
