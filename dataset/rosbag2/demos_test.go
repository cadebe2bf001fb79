package rosbag2_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// TestAFolderOfBagsIsADatasetOfThem has what ros2 bag record leaves of each demonstration, of either storage, and of a recorder that was killed.
func TestAFolderOfBagsIsADatasetOfThem(t *testing.T) {
	dir := t.TempDir()
	in := func(bag, name string) string {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, bag), 0o777))
		return filepath.Join(dir, bag, name)
	}
	list := robot(12)
	writeDB(t, in("demo_1", "demo_1_0.db3"), schema{qos: true, distro: "humble"}, list)
	filetest.Write(t, in("demo_1", "metadata.yaml"), metadataOf(len(list), "demo_1_0.db3"))
	writeMCAP(t, in("demo_2", "demo_2_0.mcap"), list, definitions(t, false))
	filetest.Write(t, in("demo_2", "metadata.yaml"), metadataOf(len(list), "demo_2_0.mcap"))
	writeDB(t, in("demo_10", "demo_10_0.db3"), schema{qos: true, distro: "humble"}, list)
	filetest.Write(t, in("demo_3", "metadata.yaml"), metadataOf(1, "gone.db3"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "plots"), 0o777))
	writeDB(t, filepath.Join(dir, "alone.db3"), schema{qos: true, distro: "humble"}, list)

	d, err := dataset.Open(t.Context(), dir, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	assert.Equal(t, "rosbag2", d.Format())
	assert.Equal(t, []string{"log", "publish", "header"}, d.Info().Clocks)
	assert.Equal(t, "plots/", d.Info().Attributes["other files"])
	want, names := whole(t, 12), []string{}
	for e, err := range dataset.Episodes(t.Context(), d) {
		if err != nil {
			names = append(names, "error")
			assert.ErrorIs(t, err, dataset.ErrNotFound)
			continue
		}
		names = append(names, e.Name)
		same(t, want, e, e.Name)
	}
	assert.Equal(t, []string{"alone", "demo_1", "demo_2", "error", "demo_10"}, names)
}

func TestADatabaseBesideOtherRecordingsMakesNoBagOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	writeDB(t, filepath.Join(dir, "run.db3"), schema{}, robot(2))
	d, err := dataset.Open(t.Context(), dir, dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, 1, d.Len())
	require.NoError(t, d.Close())

	writeMCAP(t, filepath.Join(dir, "run.mcap"), robot(2), definitions(t, false))
	_, err = dataset.Open(t.Context(), dir, dataset.Options{})
	assert.ErrorContains(t, err, "a folder with recordings of several: 1 of mcap, 1 of rosbag2")
}
