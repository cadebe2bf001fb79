package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// caseOf returns a copy of a shared case.
func caseOf(t *testing.T, name string) string {
	path := filepath.Join("../../shared/cases", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	return copied(t, path)
}

// errorsOf returns the kinds and subjects of the findings of a dataset that are errors or count frames.
func errorsOf(t *testing.T, path string) (list []string) {
	d, err := dataset.Open(t.Context(), path, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	r, err := Examine(t.Context(), d, Options{Path: path})
	require.NoError(t, err)
	for _, f := range r.Findings {
		if f.Severity == Error || f.Kind == VideoCount {
			list = append(list, string(f.Kind)+" "+f.Subject())
		}
	}
	return list
}

func TestDoctorPassesNanStats(t *testing.T) {
	state := "stale-stats observation.state"
	for name, want := range map[string][]string{"nan": {"stale-stats action", state}, "null": {"stale-stats action", state}, "v21": {"stale-stats action"}} {
		assert.Equal(t, want, errorsOf(t, caseOf(t, "doctor-passes-nan-stats/"+name)), name)
	}
}

func TestDoctorMissesFilesNotAtDataPath(t *testing.T) {
	for _, name := range []string{"chunks_size", "template"} {
		assert.Equal(t, []string{"missing-file meta/info.json"}, errorsOf(t, caseOf(t, "doctor-misses-files-not-at-data-path/"+name)), name)
	}
}

func TestSmallOnes(t *testing.T) {
	for name, want := range map[string]string{
		"nan_file_index": "index-gap meta/episodes/chunk-000/file-000.parquet", "null_image_no_statistics": "video-count observation.images.top",
		"empty_image": "video-count observation.images.top",
	} {
		assert.Equal(t, []string{want}, errorsOf(t, caseOf(t, "small-ones/"+name)), name)
	}
}

func TestStatisticsThatAreNotFiniteOrCannotBeReadAreFindings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(text string) string
		want   string
	}{
		"minus infinity": {func(text string) string {
			return strings.Replace(text, "{", `{"action": {"std": [[0.5], [-Infinity]]},`, 1)
		}, "stale-stats action"},
		"text": {func(text string) string { return "<html>not found</html>" }, "unreadable meta/stats.json"},
		"cut":  {func(text string) string { return text[:len(text)/2] }, "unreadable meta/stats.json"},
	} {
		path := copied(t, g1)
		before := errorsOf(t, path)
		changed(t, filepath.Join(path, "meta/stats.json"), c.change)
		after := errorsOf(t, path)
		assert.Len(t, after, len(before)+1, name)
		assert.Contains(t, after, c.want, name)
	}
}

func TestClockSetBackInterleaves(t *testing.T) {
	dir := caseOf(t, "clock-set-back-interleaves")
	for _, name := range []string{"ntp.mcap", "ntp.bag", "reset.mcap", "reset.bag"} {
		path := filepath.Join(dir, name)
		assert.Equal(t, []string{"non-monotonic /arm"}, errorsOf(t, path), name)
		d, err := dataset.Open(t.Context(), path, dataset.Options{})
		require.NoError(t, err)
		r, err := Examine(t.Context(), d, Options{Path: path})
		require.NoError(t, err)
		require.NoError(t, d.Close())
		f := r.Findings[0]
		assert.Equal(t, []any{1, 1, 2}, []any{f.Count, len(f.At), r.Checked.Episodes}, "both stretches are examined")
		assert.Zero(t, r.Checked.Unread)
	}
}

func TestLogTimeZeroMisnamed(t *testing.T) {
	path := filepath.Join(caseOf(t, "log-time-zero-misnamed"), "log_zero.mcap")
	assert.Equal(t, []string{"still-clock /a"}, errorsOf(t, path))
	// A clock of another format that stands still has no reader that says so.
	table := filepath.Join(t.TempDir(), "a.csv")
	require.NoError(t, os.WriteFile(table, []byte("time,x\n"+strings.Repeat("5.3,1\n", 12)), 0o600))
	assert.Equal(t, []string{"still-clock data"}, errorsOf(t, table))
}
