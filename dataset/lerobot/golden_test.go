package lerobot_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// recording returns a folder of the recordings that lie beside the project.
func recording(t testing.TB, name string) string {
	path := filepath.Join("../../../shared/data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared recordings are not here: ", name)
	}
	return path
}

func open(t testing.TB, path string, opt lerobot.Options) *lerobot.Set {
	t.Helper()
	s, err := lerobot.Open(context.Background(), path, opt)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func episode(t testing.TB, s *lerobot.Set, i int) *dataset.Episode {
	t.Helper()
	e := settest.Episode(t, s, i)
	for _, st := range e.Streams {
		require.NoError(t, st.Check())
	}
	return e
}

// golden is an episode as scripts/gen_lerobot_golden.py found it.
type golden struct {
	Frames  int
	Columns map[string]struct {
		Count            int
		First, Last, Sum float64
		SHA256           string
	}
}

func floats(t testing.TB, s *dataset.Stream) []float64 {
	t.Helper()
	require.NotNil(t, s)
	list, err := tensor.Floats(s.Values)
	require.NoError(t, err)
	return list
}

func hash(list []float64) string {
	h := sha256.New()
	for _, v := range list {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

var recordings = []string{
	"lerobot_v3_g1", "lerobot_v21_g1", "lerobot_v2_gr1_sim", "lerobot_studio/lerobotv2", "lerobot_studio/lerobotv2-image", "lerobot_studio/lerobotv3",
}

func TestRecordingsAreAsAnotherReaderHasThem(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			var want []golden
			text := filetest.Read(t, "testdata/"+strings.ReplaceAll(name, "/", "_")+".json")
			require.NoError(t, json.Unmarshal(text, &want))
			s := open(t, recording(t, name), lerobot.Options{})
			stamped := open(t, recording(t, name), lerobot.Options{Clock: "timestamp"})
			require.Equal(t, len(want), s.Len())
			frames := 0
			for i, w := range want {
				e := episode(t, s, i)
				assert.Equal(t, w.Frames, e.Frames)
				frames += e.Frames
				streams := 0
				for column, c := range w.Columns {
					st := e.Stream(column)
					switch column {
					case "timestamp", "frame_index", "episode_index", "index", "task_index":
						if column == "timestamp" {
							times := e.Streams[0].Nanoseconds() // steps of frame_index/fps from the first on, if LeRobot takes the timestamps as such
							assert.InDelta(t, c.First*1e9, times[0], 1e3)
							assert.InDelta(t, c.Last*1e9, times[len(times)-1], 1e5)
							times = episode(t, stamped, i).Streams[0].Nanoseconds()
							assert.InDelta(t, c.Last*1e9, times[len(times)-1], 1e3)
						}
						continue
					}
					streams++
					list := floats(t, st)
					require.Len(t, list, c.Count, column)
					assert.Equal(t, c.First, list[0])
					assert.Equal(t, c.Last, list[len(list)-1])
					assert.Equal(t, c.SHA256, hash(list), column)
				}
				assert.Len(t, e.Streams, streams)
			}
			assert.Equal(t, frames, s.Info().Frames)
		})
	}
}

func TestTheSameValuesInTwoVersionsAreTheSame(t *testing.T) {
	a, b := open(t, recording(t, "lerobot_v3_g1"), lerobot.Options{}), open(t, recording(t, "lerobot_v21_g1"), lerobot.Options{})
	require.Equal(t, a.Len(), b.Len())
	for i := range a.Len() {
		x, y := episode(t, a, i), episode(t, b, i)
		require.Equal(t, x.Names(), y.Names())
		for k := range x.Streams {
			assert.Equal(t, x.Streams[k].Nanoseconds(), y.Streams[k].Nanoseconds())
			assert.Equal(t, floats(t, &x.Streams[k]), floats(t, &y.Streams[k]))
			assert.Equal(t, x.Streams[k].Columns, y.Streams[k].Columns)
		}
	}
}

// The statistics that the dataset carries were computed by another program.
func TestValuesHaveTheStatisticsOfTheDataset(t *testing.T) {
	for _, name := range []string{"lerobot_v3_g1", "lerobot_v2_gr1_sim"} {
		dir := recording(t, name)
		text := filetest.Read(t, filepath.Join(dir, "meta/stats.json"))
		var all map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &all))
		s := open(t, dir, lerobot.Options{})
		for _, stream := range []string{"observation.state", "action"} {
			var stats struct{ Min, Max, Mean []float64 }
			require.NoError(t, json.Unmarshal(all[stream], &stats))
			width := len(stats.Min)
			low, high, sum, n := make([]float64, width), make([]float64, width), make([]float64, width), 0
			for i := range s.Len() {
				list := floats(t, episode(t, s, i).Stream(stream))
				for k, v := range list {
					if c := k % width; n+k < width {
						low[c], high[c], sum[c] = v, v, v
					} else {
						low[c], high[c], sum[c] = min(low[c], v), max(high[c], v), sum[c]+v
					}
				}
				n += len(list)
			}
			for c := range width {
				assert.InDelta(t, stats.Min[c], low[c], 1e-6)
				assert.InDelta(t, stats.Max[c], high[c], 1e-6)
				assert.InDelta(t, stats.Mean[c], sum[c]/float64(n/width), 1e-5)
			}
		}
	}
}

func TestFramesOfAVideoAreThoseOfTheirRows(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: videos are not decoded")
	}
	s := open(t, recording(t, "lerobot_v3_g1"), lerobot.Options{Strict: true})
	index := 0
	for i := range s.Len() {
		e := episode(t, s, i)
		require.Len(t, e.Media, 2)
		if i%thorough.Of(3, 1) != 0 { // tests in mp4 decode every frame
			index += e.Frames
			continue
		}
		for k := range e.Media {
			m := &e.Media[k]
			assert.Equal(t, e.Streams[0].Nanoseconds(), m.Times)
			assert.Equal(t, map[string]string{"observation.images.front": "h264", "observation.images.wrist": "av1"}[m.Name], m.Encoding)
			row := 0
			for picture, err := range m.DecodeRange(context.Background(), 0, m.Len()) {
				require.NoError(t, err)
				require.Equal(t, index+row, painted(t, picture), "row %d of %s", row, m.Name)
				row++
			}
			assert.Equal(t, e.Frames, row)
		}
		assert.Empty(t, e.Notes)
		index += e.Frames
	}
	assert.Equal(t, 3313, index)
}

// painted returns the number that a picture of the recordings spells: the top 32 rows are 16 cells of 8 x 16 pixels, a bit each.
func painted(t *testing.T, picture *tensor.Tensor) (n int) {
	list, err := tensor.Data[uint8](picture)
	require.NoError(t, err)
	for b := range 16 {
		y, x := b/8*16+8, b%8*8+4
		if list[(y*64+x)*3] > 128 {
			n |= 1 << b
		}
	}
	return n
}

func TestRecordingsSayWhatTheyAre(t *testing.T) {
	d := settest.Open(t, recording(t, "lerobot_v3_g1"))
	info := d.Info()
	assert.Equal(t, "lerobot", d.Format())
	assert.Equal(t, "lerobot_v3_g1", d.Name())
	assert.Equal(t, "v3.0", info.Version)
	assert.Equal(t, 30.0, info.Rate)
	assert.Equal(t, "file", info.RateFrom)
	assert.Equal(t, []string{"frame_index", "timestamp"}, info.Clocks)
	assert.Equal(t, 3313, info.Frames)
	assert.Equal(t, []dataset.Split{{Name: "train", Episodes: []int{0, 1, 2, 3, 4, 5, 6, 7}}}, info.Splits)
	assert.Equal(t, "Unitree_G1_Inspire", info.Attributes["robot_type"])
	assert.Equal(t, []string{"Pick up the yellow bottle on the table.", "Put the bottle down."}, info.Tasks)
	assert.Empty(t, info.Notes)
	require.Len(t, info.Features, 9)
	assert.Equal(t, "kLeftShoulderPitch", info.Features[0].Names[0])

	path := settest.Open(t, filepath.Join(recording(t, "lerobot_v21_g1"), "meta", "info.json"))
	assert.Equal(t, "v2.1", path.Info().Version)
	absent := path.Info().Notes.Find(dataset.CodeEpisodesAbsent)
	require.NotNil(t, absent)
	assert.Equal(t, []any{"meta/episodes.jsonl", 92, 100, "8-99"}, []any{absent.Subject, absent.Count, absent.Of, absent.Got})

	groot := open(t, recording(t, "lerobot_v2_gr1_sim"), lerobot.Options{})
	assert.Equal(t, "observation.state[35:41]", groot.Info().Attributes["modality.state.right_leg"])
	e := episode(t, groot, 0)
	assert.Equal(t, "pick the pear from the counter and place it in the plate", e.Attributes.Task)
	assert.Equal(t, "pick the pear from the counter and place it in the plate; valid", e.Attributes.Other["tasks"])
	assert.Equal(t, "true", e.Attributes.Other["training"])
	remarks := e.Notes.Of(dataset.ClassRemark)
	require.Len(t, remarks, 1)
	n := remarks[0]
	assert.Equal(t, []any{dataset.CodeFrameTimeSteps, 416, dataset.At(0)}, []any{n.Code, n.Count, n.Row})
	assert.Contains(t, n.Got, "0.04999995")
}

func TestASloppyWriterIsReadAndTold(t *testing.T) {
	s := open(t, recording(t, "lerobot_studio/lerobotv3"), lerobot.Options{})
	e := episode(t, s, 1)
	assert.Equal(t, []int64{0, 1e8, 2e8}, e.Streams[0].Nanoseconds())
	assert.Equal(t, "pick cube", e.Attributes.Task)
	require.Len(t, e.Media, 1)
	hasProblem(t, s, dataset.Note{Code: dataset.CodeColumnType, Subject: "feature action", Count: 1, Detail: dataset.Detail{Got: "float64", Want: "float32"}})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeColumnMissing, Subject: "meta/episodes/chunk-000/file-000.parquet", Count: 1, Detail: dataset.Detail{Names: []string{"tasks"}}})
	_, err := lerobot.Open(context.Background(), recording(t, "lerobot_studio/lerobotv3"), lerobot.Options{Strict: true})
	var bad *dataset.FormatError
	assert.ErrorAs(t, err, &bad)

	images := episode(t, open(t, recording(t, "lerobot_studio/lerobotv2-image"), lerobot.Options{}), 0)
	require.Len(t, images.Media, 1)
	picture, err := images.Media[0].Decode(context.Background(), 2)
	require.NoError(t, err)
	assert.Equal(t, []int{64, 64, 3}, picture.Shape())
}
