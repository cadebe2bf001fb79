package write

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	_ "github.com/robocache/robocache/dataset/rlds"
	_ "github.com/robocache/robocache/dataset/robomimic"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// TestOtherFormatsBecomeLeRobot has recordings of other formats, with images as JPEG and as pixels.
func TestOtherFormatsBecomeLeRobot(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	for name, path := range map[string]string{"rlds": "bridge_rlds", "robomimic": "robomimic_bridge"} {
		root := sharedSet(t, path)
		if name == "robomimic" {
			list, err := filepath.Glob(filepath.Join(root, "*image*.hdf5"))
			require.NoError(t, err)
			require.NotEmpty(t, list)
			root = list[0]
		}
		d, err := dataset.Open(ctx, root, dataset.Options{Rate: 5})
		require.NoError(t, err)
		defer d.Close()
		w, out := created(t, Options{FPS: 5, RobotType: "widowx"})
		episodes, media := 0, 0
		for e, err := range dataset.Episodes(ctx, d) {
			require.NoError(t, err)
			require.NoError(t, w.Add(ctx, e))
			episodes++
			media += len(e.Media)
		}
		require.NoError(t, w.Commit(ctx))
		assert.Greater(t, media, 0, name)
		t.Logf("%s: %+v", name, w.Report())
		got, err := lerobot.Open(ctx, out, lerobot.Options{Strict: true})
		require.NoError(t, err)
		defer got.Close()
		assert.Empty(t, got.Info().Notes, name)
		require.Equal(t, episodes, got.Len())
		for i := range episodes {
			a := settest.Episode(t, d, i)
			b := settest.Episode(t, got, i)
			require.Empty(t, b.Notes.Damage())
			require.Len(t, b.Streams, len(a.Streams))
			assert.Equal(t, a.Attributes.Task, b.Attributes.Task)
			for k := range a.Streams {
				assert.Equal(t, numbersOf(t, a.Streams[k].Values), numbersOf(t, b.Streams[k].Values), a.Streams[k].Name)
			}
			for k := range a.Media {
				x, err := a.Media[k].Decode(ctx, a.Media[k].Len()-1)
				require.NoError(t, err)
				y, err := b.Media[k].Decode(ctx, a.Media[k].Len()-1)
				require.NoError(t, err)
				assert.Equal(t, x, y, a.Media[k].Name)
			}
		}
	}
}
