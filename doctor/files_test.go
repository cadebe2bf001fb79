package doctor

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
)

const (
	g1      = "../examples/data/g1"
	shared  = "../../shared/data"
	rowFile = "data/chunk-000/file-000.parquet"
)

// copied returns a copy of a dataset that a test may break.
func copied(t *testing.T, from string) string {
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

// edited replaces text in a file, which must be there.
func edited(t *testing.T, path, from, to string) {
	changed(t, path, func(text string) string {
		require.Contains(t, text, from)
		return strings.Replace(text, from, to, 1)
	})
}

func changed(t *testing.T, path string, change func(text string) string) {
	text := filetest.Read(t, path)
	filetest.Write(t, path, change(string(text)))
}

// retold writes a file of rows anew, each after change has seen it: its number in the file, and its values by column, of which those of a list follow
// each other.
func retold(t *testing.T, path string, change func(row int, column string, v parquet.Value) parquet.Value) {
	data := filetest.Read(t, path)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var out bytes.Buffer
	w := parquet.NewWriter(&out, f.Schema())
	for _, kv := range f.Metadata().KeyValueMetadata {
		w.SetKeyValueMetadata(kv.Key, kv.Value)
	}
	columns := f.Schema().Columns()
	n := 0
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buffer := make([]parquet.Row, 64)
		for {
			k, err := rows.ReadRows(buffer)
			for _, row := range buffer[:k] {
				for i, v := range row {
					row[i] = change(n, columns[v.Column()][0], v)
				}
				n++
			}
			_, werr := w.WriteRows(buffer[:k])
			require.NoError(t, werr)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		require.NoError(t, rows.Close())
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	filetest.Write(t, path, out.Bytes())
}

// stamped changes the timestamps of a dataset's rows.
func stamped(t *testing.T, root string, change func(row int, sec float32) float32) {
	retold(t, filepath.Join(root, rowFile), func(row int, column string, v parquet.Value) parquet.Value {
		if column != "timestamp" {
			return v
		}
		return parquet.FloatValue(change(row, v.Float())).Level(v.RepetitionLevel(), v.DefinitionLevel(), v.Column())
	})
}

// reading examines a dataset with the timestamps that it has.
func reading(t *testing.T, path string) *Report { return foundBy(t, path, "timestamp") }

// found examines a recording.
func found(t *testing.T, path string) *Report { return foundBy(t, path, "") }

func foundBy(t *testing.T, path, clock string) *Report {
	d, err := dataset.Open(context.Background(), path, dataset.Options{Clock: clock})
	require.NoError(t, err)
	defer d.Close()
	r, err := Examine(context.Background(), d, Options{})
	require.NoError(t, err)
	return r
}

// Each fault of a dataset's files is found, and nothing else.
func TestEachFaultOfFilesIsFoundAndNothingElse(t *testing.T) {
	require.Empty(t, reading(t, g1).Findings)
	for _, c := range []struct {
		name  string
		kind  Kind
		least Severity
		plant func(t *testing.T, root string)
	}{
		{"no statistics", MissingFile, Warning, func(t *testing.T, root string) { require.NoError(t, os.Remove(filepath.Join(root, "meta/stats.json"))) }},
		{"statistics of other data", StaleStats, Error, func(t *testing.T, root string) {
			retold(t, filepath.Join(root, rowFile), func(_ int, column string, v parquet.Value) parquet.Value {
				if column == "action" {
					return parquet.FloatValue(v.Float()*1.5).Level(v.RepetitionLevel(), v.DefinitionLevel(), v.Column())
				}
				return v
			})
		}},
		{"another rate declared", FPSMismatch, Error, func(t *testing.T, root string) {
			edited(t, filepath.Join(root, "meta/info.json"), `"fps": 30`, `"fps": 60`)
		}},
		{"timestamps in milliseconds", TimeUnit, Error, func(t *testing.T, root string) {
			stamped(t, root, func(_ int, sec float32) float32 { return sec * 1000 })
		}},
		{"timestamps of an epoch", Float32Clock, Error, func(t *testing.T, root string) {
			stamped(t, root, func(_ int, sec float32) float32 { return sec + 1.7e9 })
		}},
		{"a timestamp twice", Duplicate, Warning, func(t *testing.T, root string) {
			stamped(t, root, func(row int, sec float32) float32 {
				if row == 100 {
					return sec - 1./30
				}
				return sec
			})
		}},
		{"a step back", BackStep, Error, func(t *testing.T, root string) {
			stamped(t, root, func(row int, sec float32) float32 {
				if row == 100 {
					return sec - 0.05
				}
				return sec
			})
		}},
		{"a gap", Gap, Warning, func(t *testing.T, root string) {
			over := false // the first episode
			stamped(t, root, func(row int, sec float32) float32 {
				if over = over || row > 0 && sec == 0; row >= 100 && !over {
					return sec + 1
				}
				return sec
			})
		}},
		{"timestamps that begin a frame late", FrameTime, Warning, func(t *testing.T, root string) {
			stamped(t, root, func(_ int, sec float32) float32 { return sec + 1./30 })
		}},
		{"rows out of number", IndexGap, Error, func(t *testing.T, root string) {
			retold(t, filepath.Join(root, rowFile), func(row int, column string, v parquet.Value) parquet.Value {
				if column == "index" && row >= 600 {
					return parquet.Int64Value(v.Int64()+7).Level(0, v.DefinitionLevel(), v.Column())
				}
				return v
			})
		}},
		{"a feature that the statistics lack", StaleStats, Error, func(t *testing.T, root string) {
			edited(t, filepath.Join(root, "meta/stats.json"), `"action"`, `"actions"`)
		}},
		{"statistics of nothing", StaleStats, Error, func(t *testing.T, root string) {
			filetest.Write(t, filepath.Join(root, "meta/stats.json"), "{}")
		}},
		{"NaN", NaN, Error, func(t *testing.T, root string) {
			retold(t, filepath.Join(root, rowFile), func(row int, column string, v parquet.Value) parquet.Value {
				if column == "observation.state" && row == 5 {
					return parquet.FloatValue(float32(math.NaN())).Level(v.RepetitionLevel(), v.DefinitionLevel(), v.Column())
				}
				return v
			})
		}},
		{"a column that is not declared", Schema, Error, func(t *testing.T, root string) {
			edited(t, filepath.Join(root, "meta/info.json"), `"action"`, `"actions"`)
		}},
		{"no rate declared", Declaration, Error, func(t *testing.T, root string) {
			edited(t, filepath.Join(root, "meta/info.json"), `"fps": 30`, `"fps": 0`)
		}},
		{"parts that overlap", SplitOverlap, Warning, func(t *testing.T, root string) {
			edited(t, filepath.Join(root, "meta/info.json"), `"train": "0:3"`, `"train": "0:2", "val": "1:3"`)
		}},
		{"a column's name twice", Schema, Warning, func(t *testing.T, root string) {
			edited(t, filepath.Join(root, "meta/info.json"), `"kLeftElbow"`, `"kLeftShoulderYaw"`)
		}},
		{"another count declared", Declaration, Warning, func(t *testing.T, root string) {
			edited(t, filepath.Join(root, "meta/info.json"), `"total_frames": 1121`, `"total_frames": 1120`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := copied(t, g1)
			c.plant(t, root)
			r := reading(t, root)
			require.NotEmpty(t, r.Findings)
			worst := Warning
			for _, f := range r.Findings {
				assert.Equal(t, c.kind, f.Kind, f.Why)
				if f.Severity == Error {
					worst = Error
				}
			}
			assert.Equal(t, c.least, worst)
		})
	}
}

func TestAFileThatEndsEarlyIsUnreadable(t *testing.T) {
	root := copied(t, g1)
	require.NoError(t, os.Truncate(filepath.Join(root, rowFile), 10_000))
	r := reading(t, root)
	assert.Equal(t, 3, r.Checked.Unread)
	for _, f := range r.Findings {
		assert.Contains(t, []Kind{Unreadable, IndexGap, Declaration}, f.Kind, f.Why)
	}
	assert.Len(t, r.Of(1), 1)
}

// The shared recordings have videos.
func sharedSet(t *testing.T, name string) string {
	path := filepath.Join(shared, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	return path
}

func TestFaultsOfVideosAreFoundAndNothingElse(t *testing.T) {
	from := sharedSet(t, "lerobot_v3_g1")
	videos, err := filepath.Glob(filepath.Join(from, "videos/observation.images.front/*/*.mp4"))
	require.NoError(t, err)
	require.NotEmpty(t, videos)
	name, err := filepath.Rel(from, videos[0])
	require.NoError(t, err)
	for _, c := range []struct {
		name  string
		kind  Kind
		plant func(t *testing.T, path string)
	}{
		{"a missing video", MissingFile, func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }},
		{"the video of other episodes, which is longer", VideoCount, func(t *testing.T, path string) {
			data := filetest.Read(t, path)
			filetest.Write(t, strings.Replace(path, "file-000", "file-001", 1), data)
		}},
		{"a video that drifts", VideoDrift, func(t *testing.T, path string) {
			data := filetest.Read(t, path)
			at := bytes.Index(data, []byte("mdhd")) + 16 // version and flags, and two times, come before the timescale
			scale := binary.BigEndian.Uint32(data[at:])
			binary.BigEndian.PutUint32(data[at:], scale+scale/5000)
			filetest.Write(t, path, data)
		}},
		{"another size declared", Schema, func(t *testing.T, path string) { // in the shape, and beside it
			changed(t, filepath.Join(path, "../../../../meta/info.json"), func(text string) string {
				begin := strings.Index(text, `"observation.images.front"`)
				end := begin + strings.Index(text[begin:], `"video.codec"`)
				return text[:begin] + strings.ReplaceAll(text[begin:end], "64", "48") + text[end:]
			})
		}},
		{"another codec declared", Schema, func(t *testing.T, path string) {
			changed(t, filepath.Join(path, "../../../../meta/info.json"), func(text string) string {
				begin := strings.Index(text, `"observation.images.front"`)
				return text[:begin] + strings.Replace(text[begin:], `"video.codec": "h264"`, `"video.codec": "libsvtav1"`, 1)
			})
		}},
		{"another rate declared of a video", FPSMismatch, func(t *testing.T, path string) {
			changed(t, filepath.Join(path, "../../../../meta/info.json"), func(text string) string {
				return strings.Replace(text, `"video.fps": 30`, `"video.fps": 25`, 1) // the first is the front's
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := copied(t, from)
			c.plant(t, filepath.Join(root, name))
			r := reading(t, root)
			require.NotEmpty(t, r.Findings)
			for _, f := range r.Findings {
				assert.Equal(t, c.kind, f.Kind, f.Why)
				assert.Equal(t, c.name == "another codec declared", f.Severity == Warning)
				assert.Contains(t, f.Subject(), "observation.images.front")
			}
		})
	}
}

// What is known of the shared recordings is found in them, and nothing in one that is good.
func TestTheSharedRecordingsHaveWhatIsKnownOfThem(t *testing.T) {
	known := func(path string) map[string]int {
		d := settest.Open(t, path)
		r, err := Examine(context.Background(), d, Options{})
		require.NoError(t, err)
		found := map[string]int{}
		for _, f := range r.Findings {
			found[string(f.Kind)+" "+f.Subject()] += f.Count
		}
		return found
	}
	assert.Empty(t, known(sharedSet(t, "lerobot_v3_g1")))
	assert.Empty(t, known(sharedSet(t, "robomimic_bridge")))
	assert.Empty(t, known(sharedSet(t, "robosuite_hdf5")))
	assert.Empty(t, known(sharedSet(t, "mcap_generated/turtlesim_ros1_lz4.mcap")))
	desk := sharedSet(t, "tum_rgbd/fr2_desk_groundtruth.txt")
	assert.Equal(t, map[string]int{"gap pose": 135, "duplicate pose": 1, "quaternion-flip pose": 29}, known(desk))
	assert.Equal(t, map[string]int{"gap data": 26, "quaternion-flip data": 28}, known(sharedSet(t, "tum_vi")))
}
