package rosbag2_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/rosbag2/sqlite"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

const shared = "../../../shared/data"

func sharedData(t *testing.T) string {
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the shared recordings are not here: ", shared)
	}
	return shared
}

func episode(t *testing.T, path string, opt dataset.Options) *dataset.Episode {
	d, err := dataset.Open(context.Background(), path, opt)
	require.NoError(t, err, path)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.Equal(t, 1, d.Len(), path)
	e, err := d.Episode(context.Background(), 0)
	require.NoError(t, err, path)
	for i := range e.Streams {
		require.NoError(t, e.Streams[i].Check(), path)
	}
	return e
}

func floats(t *testing.T, s *dataset.Stream) []float64 {
	list, err := tensor.Floats(s.Values)
	require.NoError(t, err)
	return list
}

// TestRecordingsAreAsAnotherReaderFindsThem compares with what scripts/gen_rosbag2_golden.py found.
func TestRecordingsAreAsAnotherReaderFindsThem(t *testing.T) {
	var want map[string]struct {
		Messages    int
		First, Last int64
		Topics      map[string]struct {
			Type        string
			Messages    int
			First, Last int64
			Bytes       int64
			Sums        []float64
		}
	}
	text := filetest.Read(t, "testdata/golden.json")
	require.NoError(t, json.Unmarshal(text, &want))
	require.Len(t, want, 13)
	for name, w := range want {
		e := episode(t, filepath.Join(sharedData(t), filepath.FromSlash(name)), dataset.Options{})
		assert.Empty(t, e.Notes.Damage(), name)
		left := map[string]int{}
		for _, l := range e.Notes {
			left[l.Subject] = l.Count
		}
		total := 0
		for topic, of := range w.Topics {
			total += of.Messages
			s := e.Stream(topic)
			if len(of.Sums) == 0 {
				assert.Nil(t, s, "%s %s", name, topic)
				assert.Equal(t, of.Messages, left[topic], "%s %s", name, topic)
				continue
			}
			require.NotNil(t, s, "%s %s", name, topic)
			st := s.Stats()
			assert.Equal(t, []int64{int64(of.Messages), of.First, of.Last}, []int64{int64(s.Len()), st.First, st.Last}, "%s %s", name, topic)
			sums := make([]float64, len(s.Columns))
			for i, v := range floats(t, s) {
				sums[i%len(sums)] += v
			}
			assert.InDeltaSlice(t, of.Sums, sums, 1e-3, "%s %s", name, topic)
		}
		assert.Equal(t, w.Messages, total, name)
	}
}

// TestOneRecordingGivesTheSameStreamsHoweverItIsStored compares the recordings that there are as .db3, compressed and as MCAP.
func TestOneRecordingGivesTheSameStreamsHoweverItIsStored(t *testing.T) {
	for _, names := range [][]string{
		{"rosbag2_sqlite/talker", "rosbag2_sqlite/talker_zstd_file", "rosbag2_sqlite/talker_zstd_message", "rosbag2_mcap/talker",
			"rosbag2_sqlite/talker/talker.db3", "rosbag2_sqlite/talker_zstd_file/talker.db3.zstd", "rosbag2_sqlite/talker_zstd_message/talker.db3",
			"rosbag2_mcap/talker/talker.mcap"},
		{"rosbag2_sqlite/cdr_test", "rosbag2_mcap/cdr_test", "rosbag2_sqlite/cdr_test/cdr_test_0.db3"},
	} {
		want := episode(t, filepath.Join(sharedData(t), names[0]), dataset.Options{})
		require.NotEmpty(t, want.Streams)
		for _, name := range names[1:] {
			e := episode(t, filepath.Join(sharedData(t), name), dataset.Options{})
			same(t, want, e, name)
			for i, l := range e.Notes { // the columns of a topic without messages are as its definition has them, which differs
				assert.Equal(t, []any{want.Notes[i].Subject, want.Notes[i].Count, want.Notes[i].Reason()}, []any{l.Subject, l.Count, l.Reason()}, name)
			}
		}
	}
}

// same compares all streams, with their columns, clocks and values.
func same(t *testing.T, want, got *dataset.Episode, name string) {
	require.Equal(t, want.Names(), got.Names(), name)
	for i := range want.Streams {
		a, b := &want.Streams[i], &got.Streams[i]
		assert.Equal(t, a.Columns, b.Columns, "%s %s", name, a.Name)
		assert.Equal(t, a.Nanoseconds(), b.Nanoseconds(), "%s %s", name, a.Name)
		assert.Equal(t, a.Values.DType(), b.Values.DType(), "%s %s", name, a.Name)
		assert.Equal(t, floats(t, a), floats(t, b), "%s %s", name, a.Name)
	}
}
