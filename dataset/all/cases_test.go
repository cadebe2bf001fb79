package all_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// A topic that has names next to an array without numbers is left out, and costs no other topic.
func TestDynamicJointStateCrash(t *testing.T) {
	const folder = "../../../shared/cases/dynamic-joint-state-crash/"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	for file, want := range map[string]struct {
		streams []string
		left    string
	}{
		"dynamic.mcap": {[]string{"/temperature"}, "/dynamic_joint_states"},
		"dynamic.bag":  {[]string{}, "/x"},
	} {
		d, err := dataset.Open(t.Context(), folder+file, dataset.Options{Strict: true})
		require.NoError(t, err)
		e, err := d.Episode(t.Context(), 0)
		require.NoError(t, err, file)
		assert.Equal(t, want.streams, e.Names(), file)
		left := e.Notes.LeftOut(want.left)
		require.NotNil(t, left, file)
		assert.Equal(t, dataset.CodeArraysWithoutNumbers, left.Code, file)
		require.NoError(t, d.Close())
	}
}

// caseOf returns the path of a shared case.
func caseOf(t *testing.T, name string) string {
	path := "../../../shared/cases/" + name
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	return path
}

// notesOf returns the notes of a recording's only episode.
func notesOf(t *testing.T, path string, opt dataset.Options) (*dataset.Episode, error) {
	d, err := dataset.Open(t.Context(), path, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d.Episode(t.Context(), 0)
}

func TestClockSetBackInterleaves(t *testing.T) {
	for file, want := range map[string]struct {
		samples [2]int
		back    int64
	}{
		"ntp.mcap": {[2]int{3000, 3000}, 1_993_000_000}, "ntp.bag": {[2]int{3000, 3000}, 1_993_000_000},
		"reset.mcap": {[2]int{200, 200}, 9_927_000_000}, "reset.bag": {[2]int{200, 200}, 9_927_000_000},
	} {
		path := caseOf(t, "clock-set-back-interleaves/"+file)
		_, err := notesOf(t, path, dataset.Options{})
		var back *dataset.SetBackError
		require.ErrorAs(t, err, &back, file)
		assert.Equal(t, []int64{2, want.back}, []int64{int64(back.Stretches), back.From - back.To}, file)
		for i, n := range want.samples {
			e, err := notesOf(t, path, dataset.Options{Stretch: i + 1})
			require.NoError(t, err)
			assert.IsIncreasing(t, e.Stream("/arm").Nanoseconds(), file)
			assert.Equal(t, n, e.Stream("/arm").Len(), file)
		}
	}
	table := filepath.Join(t.TempDir(), "a.csv")
	require.NoError(t, os.WriteFile(table, []byte("time,x\n0,1\n1,2\n"), 0o600))
	_, err := dataset.Open(t.Context(), table, dataset.Options{Stretch: 1})
	assert.ErrorIs(t, err, dataset.ErrOption)
}

func TestLogTimeZeroMisnamed(t *testing.T) {
	e, err := notesOf(t, caseOf(t, "log-time-zero-misnamed/log_zero.mcap"), dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, &dataset.Note{Code: dataset.CodeClockStill, Subject: "/a", Count: 30, Detail: dataset.Detail{Got: "log", Want: "publish", Unit: "0"}},
		e.Notes.Find(dataset.CodeClockStill))
	e, err = notesOf(t, caseOf(t, "log-time-zero-misnamed/publish_zero.mcap"), dataset.Options{Clock: "publish"})
	require.NoError(t, err)
	assert.NotNil(t, e.Notes.Find(dataset.CodePublishTimeNone))
	assert.Equal(t, 10.0, dataset.StatsOf(e.Stream("/a").Nanoseconds()).Rate)
}

func TestHeaderLatencyUnseen(t *testing.T) {
	for file, want := range map[string]dataset.Note{
		"late.mcap":   {Code: dataset.CodeHeaderLatency, Subject: "/lidar", Count: 400, Detail: dataset.Detail{Got: "250ms", Want: "0s", Names: []string{"/joint"}}},
		"drift.mcap":  {Code: dataset.CodeHeaderDrift, Subject: "/lidar", Count: 400, Detail: dataset.Detail{Got: "30ms", Want: "14.95s", Unit: "0.2"}},
		"uptime.mcap": {Code: dataset.CodeHeaderEpoch, Subject: "/lidar", Count: 400, Detail: dataset.Detail{Got: "5000000000000", Want: "1700000000000000000"}},
	} {
		e, err := notesOf(t, caseOf(t, "header-latency-unseen/"+file), dataset.Options{})
		require.NoError(t, err)
		var found dataset.Notes
		for _, n := range e.Notes {
			if n.Code == dataset.CodeHeaderLatency || n.Code == dataset.CodeHeaderDrift || n.Code == dataset.CodeHeaderEpoch {
				found = append(found, n)
			}
		}
		assert.Equal(t, dataset.Notes{want}, found, file)
	}
}

func TestJointTrajectoryLeftOut(t *testing.T) {
	e, err := notesOf(t, caseOf(t, "joint-trajectory-left-out/trajectory.mcap"), dataset.Options{})
	require.NoError(t, err)
	for _, name := range []string{"/leader/joint_trajectory.points.positions", "/controller_state.reference.positions", "/controller_state.feedback.positions"} {
		s := e.Stream(name)
		require.NotNil(t, s, name)
		assert.Equal(t, []string{"a", "b", "c"}, s.ColumnNames(), name)
		values, err := tensor.Floats(s.Values)
		require.NoError(t, err)
		for i := range 20 { // whose second messages have the joints in another order
			assert.InDelta(t, i, values[3*i], 0, name)
		}
	}
}

func TestRos1SplitBags(t *testing.T) {
	folder := caseOf(t, "ros1-split-bags")
	for kind, from := range map[string]string{"bag": folder + "/bags", "mcap": folder + "/mcaps"} {
		copied := func(names ...string) string {
			dir := t.TempDir()
			for i, name := range names {
				data, err := os.ReadFile(filepath.Join(from, fmt.Sprintf("run_%d.%s", i, kind)))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, name+"."+kind), data, 0o600))
			}
			return dir
		}
		dated := []string{"run_2024-01-01-10-00-05_0", "run_2024-01-01-10-00-10_1", "run_2024-01-01-10-00-15_2"}
		for _, path := range []string{from, copied(dated...)} {
			d, err := dataset.Open(t.Context(), path, dataset.Options{})
			require.NoError(t, err)
			require.Equal(t, 1, d.Len(), path)
			e, err := d.Episode(t.Context(), 0)
			require.NoError(t, err)
			require.NoError(t, d.Close())
			assert.Equal(t, 150, e.Stream("/a").Len())
			assert.NotNil(t, e.Notes.Find(dataset.CodePiecesAssumed))
		}
		broken := copied(dated...)
		require.NoError(t, os.WriteFile(filepath.Join(broken, dated[1]+"."+kind), []byte("none"), 0o600))
		e, err := notesOf(t, broken, dataset.Options{})
		require.NoError(t, err)
		assert.Equal(t, 100, e.Stream("/a").Len(), "a piece that is broken costs itself")
		assert.NotNil(t, e.Notes.Find(dataset.CodeFileLost))
		for _, names := range [][]string{{"a", "b", "c"}, {"run_2024-01-01-10-00-05_0", "run_2024-01-01-10-00-10_1", "run_2024-01-01-10-00-15_0"}, {"run_0", "other_1", "run_2"}} {
			d, err := dataset.Open(t.Context(), copied(names...), dataset.Options{})
			require.NoError(t, err)
			assert.Equal(t, 3, d.Len(), names)
			require.NoError(t, d.Close())
		}
	}
}

// Notes of a dataset of LeRobot as a whole; what doctor makes of them is in its own tests.
func TestPathsAndNumbersThatADatasetDeclares(t *testing.T) {
	for name, want := range map[string]dataset.Note{
		"doctor-misses-files-not-at-data-path/chunks_size": {Code: dataset.CodeFileElsewhere, Subject: "meta/info.json", Count: 1},
		"doctor-misses-files-not-at-data-path/template":    {Code: dataset.CodeFileElsewhere, Subject: "meta/info.json", Count: 3},
		"small-ones/nan_file_index":                        {Code: dataset.CodeNumberInvalid, Subject: "meta/episodes/chunk-000/file-000.parquet", Count: 1},
	} {
		d, err := dataset.Open(t.Context(), caseOf(t, name), dataset.Options{})
		require.NoError(t, err)
		notes := d.Info().Notes
		n := notes.Find(want.Code)
		require.NotNil(t, n, name)
		assert.Equal(t, []any{want.Subject, want.Count}, []any{n.Subject, n.Count}, name)
		require.NoError(t, d.Close())
	}
}

func TestRos1TrailingBytes(t *testing.T) {
	e, err := notesOf(t, caseOf(t, "ros1-trailing-bytes/rosserial.bag"), dataset.Options{Strict: true})
	require.NoError(t, err)
	values, err := tensor.Floats(e.Stream("/left_wheel_angle_vel").Values)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2, 3}, values[:3])
	assert.Len(t, values, 50)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeMessageSurplus, Subject: "/left_wheel_angle_vel", Count: 50, Detail: dataset.Detail{Of: 50, Bytes: 50}}}, e.Notes)
}

func TestProtobufDuplicateFile(t *testing.T) {
	once, err := notesOf(t, caseOf(t, "protobuf-duplicate-file/once.mcap"), dataset.Options{})
	require.NoError(t, err)
	twice, err := notesOf(t, caseOf(t, "protobuf-duplicate-file/twice.mcap"), dataset.Options{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, []any{once.Names(), once.Streams[0].Columns, 20}, []any{twice.Names(), twice.Streams[0].Columns, twice.Streams[0].Len()})
	a, _ := tensor.Floats(once.Streams[0].Values)
	b, _ := tensor.Floats(twice.Streams[0].Values)
	assert.Equal(t, a, b)
}

func TestDuckdbParquetCalledCorrupt(t *testing.T) {
	e, err := notesOf(t, caseOf(t, "duckdb-parquet-called-corrupt/ds"), dataset.Options{})
	require.NoError(t, err)
	assert.Empty(t, e.Notes)
	for name, mean := range map[string]float64{"action": 0.48, "observation.state": 0.555} { // of the first column, by DuckDB
		s := e.Stream(name)
		require.NotNil(t, s, name)
		values, err := tensor.Floats(s.Values)
		require.NoError(t, err)
		sum := 0.0
		for i := range s.Len() {
			sum += values[i*len(s.Columns)]
		}
		assert.InDelta(t, mean, sum/100, 1e-6, name)
	}
}

func TestDeclaredDtypeNotUsed(t *testing.T) {
	d, err := dataset.Open(t.Context(), caseOf(t, "declared-dtype-not-used/ds"), dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	require.Equal(t, 3, d.Len())
	for i := range 3 {
		e, err := d.Episode(t.Context(), i)
		require.NoError(t, err)
		for _, name := range []string{"action", "observation.state"} {
			s := e.Stream(name)
			assert.Equal(t, []any{tensor.F32, "float32", false}, []any{s.Values.DType(), s.Columns[0].Type, s.Columns[0].Integer}, i)
		}
		assert.Empty(t, e.Notes, "values that float32 holds")
	}
}

func TestOneBadJpegLosesEpisode(t *testing.T) {
	for file, want := range map[string]struct {
		frames, first, bad int
		note               *dataset.Note
	}{
		"nodht.mcap": {frames: 60}, "noeoi.mcap": {frames: 60}, "cut.mcap": {frames: 60, bad: 1},
		"empty.mcap": {58, 2, 0, &dataset.Note{Code: dataset.CodeEmptyImages, Subject: "/cam/compressed", Count: 2, Detail: dataset.Detail{Of: 60}}},
		"size.mcap": {59, 0, 0, &dataset.Note{Code: dataset.CodeFramesDiffer, Subject: "/cam/compressed", Count: 1, Row: dataset.At(40),
			Detail: dataset.Detail{Of: 60, Got: "128x64 jpeg", Want: "128x128 jpeg"}}},
	} {
		e, err := notesOf(t, caseOf(t, "one-bad-jpeg-loses-episode/"+file), dataset.Options{})
		require.NoError(t, err)
		m := e.MediaStream("/cam/compressed")
		require.Equal(t, want.frames, m.Len(), file)
		bad := 0
		for pixels, err := range m.DecodeRange(t.Context(), 0, m.Len()) {
			if err != nil {
				bad++
				continue
			}
			assert.Equal(t, []int{128, 128, 1}, pixels.Shape(), file)
		}
		assert.Equal(t, want.bad, bad, file)
		assert.Equal(t, int64(1_700_000_000_000_000_000+want.first*33_333_333), m.Times[0], file)
		if want.note != nil {
			assert.Contains(t, e.Notes, *want.note, file)
		}
	}
}
