package convert

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// caseOf returns the path of a shared case.
func caseOf(t *testing.T, name string) string {
	path := filepath.Join("../../shared/cases", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	return path
}

// sameFiles requires that two folders have the same bytes, but for the report.
func sameFiles(t *testing.T, want, got string) {
	n := 0
	require.NoError(t, filepath.WalkDir(want, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "convert.json" {
			return err
		}
		rel, err := filepath.Rel(want, path)
		n++
		assert.Equal(t, filetest.Read(t, path), filetest.Read(t, filepath.Join(got, rel)), rel)
		return err
	}))
	assert.Positive(t, n)
}

func TestFolderOfLerobotReencodesVideo(t *testing.T) {
	parts := caseOf(t, "folder-of-lerobot-reencodes-video/parts")
	dir, to := t.TempDir(), leRobot(t, LeRobotOptions{})
	list, err := filepath.Glob(filepath.Join(parts, "*"))
	require.NoError(t, err)
	converts(t, filepath.Join(dir, "list"), to, Options{}, list...)
	converts(t, filepath.Join(dir, "folder"), to, Options{}, parts)
	sameFiles(t, filepath.Join(dir, "list"), filepath.Join(dir, "folder"))
	converts(t, filepath.Join(dir, "again"), to, Options{Shards: 2}, parts)
	converts(t, filepath.Join(dir, "joined"), to, Options{}, filepath.Join(dir, "again"))
	sameFiles(t, filepath.Join(dir, "list"), filepath.Join(dir, "joined"))
}

func TestDoctorErrorOnOwnShard(t *testing.T) {
	out := filepath.Join(t.TempDir(), "parts")
	converts(t, out, leRobot(t, LeRobotOptions{}), Options{Shards: 3}, caseOf(t, "doctor-error-on-own-shard/ds"))
	shards, err := filepath.Glob(filepath.Join(out, "shard-*"))
	require.NoError(t, err)
	require.Len(t, shards, 3)
	for _, path := range shards {
		d, err := dataset.Open(t.Context(), path, dataset.Options{})
		require.NoError(t, err)
		e, err := d.Episode(t.Context(), 0)
		require.NoError(t, err)
		assert.Empty(t, e.Notes.Damage(), path)
		require.NoError(t, d.Close())
	}
}

func TestStateFlagWithComma(t *testing.T) {
	in := caseOf(t, "state-flag-with-comma/arm_and_gripper.mcap")
	d, err := dataset.Open(t.Context(), in, dataset.Options{})
	require.NoError(t, err)
	e, err := d.Episode(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	arm, gripper := "/joint_states.position (j1, j2)", "/joint_states.position (gripper)"
	split := []string{"/joint_states.position (j1", " j2)", gripper} // as a flag's list has it
	assert.Equal(t, []string{arm, gripper}, joined(split, &Episode{Episode: e}))
	assert.Equal(t, []string{"a", "b"}, joined([]string{"a", "b"}, &Episode{Episode: e}), "names that are wrong stay as they are")
	s, err := beside(&Episode{Episode: e}, "observation.state", []string{arm})
	require.NoError(t, err)
	assert.Equal(t, []string{"j1", "j2"}, s.ColumnNames())
	assert.Equal(t, []string{"", ""}, prefixes([]*dataset.Stream{e.Stream(arm), e.Stream(gripper)}))
	assert.Equal(t, []string{"/joint_states.position.", "/joint_states.position."}, prefixes([]*dataset.Stream{e.Stream(arm), e.Stream(arm)}), "j1 would be there twice")
}
