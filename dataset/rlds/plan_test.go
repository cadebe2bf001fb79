package rlds

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
)

func TestSplitsAndWhatIsMissingAreTold(t *testing.T) {
	text := `{"name":"d","version":"1.2.3","description":"What it is.","splits":[
		{"name":"train","shardLengths":["2","1","3"],"filepathTemplate":"{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"},
		{"name":"val","shardLengths":["1"]},{"name":"test","shardLengths":[1],"filepathTemplate":"{SPLIT}_{SHARD_INDEX}_{NUM_SHARDS}.{FILEFORMAT}"},{"name":"old","numShards":"1"}]}`
	dir := write(t, map[string]string{infoFile: text, featuresFile: stepsOf(plainFeatures), "d-train.tfrecord-00000-of-00003": string(examples(2)),
		"d-train.tfrecord-00002-of-00003": string(examples(2)), "test_00000_00001.tfrecord": string(examples(1)), "d-old.tfrecord-00000-of-00001": string(examples(3)),
		"other.tfrecord-00000-of-00001": ""})
	s := open(t, dir, Options{})
	assert.Equal(t, dataset.Info{
		Features:   []dataset.Feature{{Name: "action", DType: "float32", Shape: []int{3}}, {Name: "is_first", DType: "bool"}, {Name: "reward", DType: "float32"}},
		Facts:      []dataset.Feature{{Name: "id", DType: "int32"}},
		Attributes: map[string]string{"version": "1.2.3", "description": "What it is."},
		Splits:     []dataset.Split{{Name: "train", Episodes: []int{0, 1, 2, 3}}, {Name: "val", Episodes: nil}, {Name: "test", Episodes: []int{4}}, {Name: "old", Episodes: []int{5, 6, 7}}},
		Notes: dataset.Notes{{Code: dataset.CodeFileUnlisted, Subject: "other.tfrecord-00000-of-00001", Count: 1, Detail: dataset.Detail{Want: infoFile}},
			{Code: dataset.CodeRecordCount, Subject: "d-train.tfrecord-00002-of-00003", Count: 2, Detail: dataset.Detail{Of: 3}}, {Code: dataset.CodeFileMissing, Subject: "d-train.tfrecord-00001-of-00003", Count: 1},
			{Code: dataset.CodeSplitMissing, Subject: "split val", Count: 1},
			{Code: dataset.CodeEpisodesAbsent, Subject: infoFile, Count: 2, Detail: dataset.Detail{Of: 7, Cause: fmt.Errorf("%s: is not there", "d-train.tfrecord-00001-of-00003")}}}}, s.Info(), "a split that was not fetched is none of it")
	assert.Equal(t, []int{0, 1, 0, 1, 0, 0, 1, 2}, rewards(t, s))
	e := settest.Episode(t, s, 3)
	assert.Equal(t, "train_3", e.Name)
	assert.Equal(t, "d-train.tfrecord-00002-of-00003__1", e.Attributes.Other["tfds_id"])
	_, err := Open(context.Background(), dir, Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	assert.ErrorContains(t, err, "d-train.tfrecord-00001-of-00003")
}

func TestWithoutDatasetInfoTheNamesOfFilesSayTheSplits(t *testing.T) {
	dir := write(t, map[string]string{featuresFile: stepsOf(plainFeatures), "a_b-train.tfrecord-00001-of-00003": string(examples(2)), "a_b-train.tfrecord-00002-of-00003": string(examples(1)),
		"a_b-val.tfrecord": string(examples(1)), "x.tfrecord": "?"})
	s := open(t, dir, Options{})
	assert.Equal(t, "a_b", s.Name())
	assert.Equal(t, []dataset.Split{{Name: "train", Episodes: []int{0, 1, 2}}, {Name: "val", Episodes: []int{3}}}, s.Info().Splits)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFileMissing, Subject: infoFile, Count: 1}, {Code: dataset.CodeFileUnlisted, Subject: "x.tfrecord", Count: 1},
		{Code: dataset.CodeFileMissing, Subject: "a_b-train.tfrecord-00000-of-00003", Count: 1}}, s.Info().Notes)
}

func TestAFileOfRecordsOpensWithWhatIsBesideIt(t *testing.T) {
	for path, count := range map[string]int{"testdata/kinds/kinds-train.tfrecord-00001-of-00002": 3, "testdata/kinds/kinds-train.tfrecord-00000-of-00002": 2} {
		s := open(t, path, Options{Strict: true})
		assert.Equal(t, count, s.Len())
		assert.Equal(t, "kinds", s.Name())
		assert.Empty(t, s.Info().Notes)
		d, err := dataset.Open(context.Background(), path, dataset.Options{Strict: true})
		require.NoError(t, err, "it is recognised by the checksum of its first length")
		assert.Equal(t, []any{"rlds", count}, []any{d.Format(), d.Len()})
		require.NoError(t, d.Close())
	}
	alone := filepath.Join(write(t, map[string]string{"a.tfrecord": string(examples(1))}), "a.tfrecord")
	_, err := Open(context.Background(), alone, Options{})
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "no features.json")
	filetest.Write(t, filepath.Join(filepath.Dir(alone), featuresFile), stepsOf(plainFeatures))
	assert.Equal(t, []int{0}, rewards(t, open(t, alone, Options{})))
}

func TestFoldersAreRecognised(t *testing.T) {
	assert.True(t, Folder(t.Context(), "testdata/kinds"))
	d, err := dataset.Open(context.Background(), "testdata/kinds", dataset.Options{Rate: 10})
	require.NoError(t, err)
	assert.Equal(t, []any{"rlds", 5, 10.0}, []any{d.Format(), d.Len(), d.Info().Rate})
	require.NoError(t, d.Close())
	assert.True(t, Folder(t.Context(), write(t, map[string]string{infoFile: "", featuresFile: ""})))
	assert.True(t, Folder(t.Context(), write(t, map[string]string{"a.tfrecord": ""})))
	assert.False(t, Folder(t.Context(), write(t, map[string]string{featuresFile: ""})))
	assert.False(t, Folder(t.Context(), "testdata/kinds/features.json"))
	assert.False(t, Folder(t.Context(), "testdata/none"))
}

func TestABrokenInfoHidesNoRecord(t *testing.T) {
	good := info(1)
	for _, text := range []string{good[:20], strings.Replace(good, `"1"]`, `"one"]`, 1), "", "<html>none</html>"} {
		dir := write(t, map[string]string{infoFile: text, featuresFile: stepsOf(plainFeatures), onlyShard: string(examples(1))})
		s, err := Open(t.Context(), dir, Options{})
		require.NoError(t, err)
		assert.Equal(t, 1, s.Len())
		notes := s.Info().Notes
		require.Len(t, notes, 1)
		assert.Equal(t, []any{dataset.CodeUnreadable, infoFile}, []any{notes[0].Code, notes[0].Subject})
		require.NoError(t, s.Close())
		_, err = Open(t.Context(), dir, Options{Strict: true})
		assert.ErrorIs(t, err, dataset.ErrCorrupt)
	}
}

func TestDatasetsThatAreNotReadAreRefusedByName(t *testing.T) {
	good := info(1)
	for name, c := range map[string]struct{ info, says string }{
		"array_record": {strings.Replace(good, `"tfrecord"`, `"array_record"`, 1), `fileFormat: not supported: got "array_record", want tfrecord`},
		"riegeli":      {strings.Replace(good, `"tfrecord"`, `"RIEGELI"`, 1), "riegeli"},
		"template":     {strings.Replace(good, `"shardLengths"`, `"filepathTemplate":"{OTHER}","shardLengths"`, 1), "filepathTemplate"},
		"outside":      {strings.Replace(good, `"shardLengths"`, `"filepathTemplate":"../{SPLIT}","shardLengths"`, 1), "filepathTemplate"},
		"split twice":  {strings.Replace(good, `"splits":[`, `"splits":[{"name":"train"},`, 1), "a second one"},
		"file twice":   {strings.Replace(good, `"1"]`, `"1","1"],"filepathTemplate":"x"`, 1), "twice"},
		"no shards":    {info(), "no record files"},
	} {
		dir := write(t, map[string]string{infoFile: c.info, featuresFile: stepsOf(plainFeatures), onlyShard: string(examples(1))})
		_, err := Open(context.Background(), dir, Options{})
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, name)
		assert.Contains(t, strings.ToLower(err.Error()), strings.ToLower(c.says), name)
	}
	_, err := Open(context.Background(), "testdata/none", Options{})
	assert.ErrorIs(t, err, os.ErrNotExist)
	dir := folder(t, stepsOf(plainFeatures), 1, nil)
	require.NoError(t, os.Remove(filepath.Join(dir, onlyShard)))
	_, err = Open(context.Background(), dir, Options{})
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	require.NoError(t, os.Mkdir(filepath.Join(dir, onlyShard), 0o700))
	_, err = Open(context.Background(), dir, Options{})
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}

func TestTheRateIsTheCallersOrAWellKnownOneOrTheStep(t *testing.T) {
	named := func(name string) string {
		return write(t, map[string]string{infoFile: strings.Replace(info(1), `"d"`, `"`+name+`"`, 1), featuresFile: stepsOf(plainFeatures), name + onlyShard[1:]: string(examples(1))})
	}
	for _, c := range []struct {
		name string
		rate float64
		want []int64
		from string
	}{
		{"d", 0, []int64{0, 1e9}, ""},
		{"d", 3, []int64{0, 333333333}, "caller"},
		{"droid", 0, []int64{0, 66666667}, "known datasets"},
		{"fractal20220817_data", 0, []int64{0, 333333333}, "known datasets"},
		{"bridge_dataset", 0, []int64{0, 2e8}, "known datasets"},
		{"bridge_dataset", 10, []int64{0, 1e8}, "caller"},
	} {
		s := open(t, named(c.name), Options{Rate: c.rate})
		e := settest.Episode(t, s, 0)
		assert.Equal(t, c.want, e.Stream("reward").Nanoseconds(), c)
		assert.Equal(t, c.from, s.Info().RateFrom)
		assert.Equal(t, c.from == "", e.Steps)
		assert.Equal(t, c.from == "", s.Info().Rate == 0)
	}
	for _, rate := range []float64{-1, math.NaN(), math.Inf(1), 1e-7, 1e10} {
		_, err := Open(context.Background(), "testdata/kinds", Options{Rate: rate})
		var bad *dataset.OptionError
		require.ErrorAs(t, err, &bad)
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
}

func TestClosedAndStoppedDatasetsSaySo(t *testing.T) {
	dir := folder(t, stepsOf(plainFeatures), 2, gzipped(examples(2)))
	s := open(t, dir, Options{})
	var d dataset.Dataset = s
	for _, i := range []int{-1, 2} {
		_, err := d.Episode(context.Background(), i)
		assert.ErrorIs(t, err, dataset.ErrNotFound)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := d.Episode(stopped, 0)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = Open(stopped, dir, Options{})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []int{0, 1}, rewards(t, s))
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	_, err = d.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestEpisodesAreReadFromManyGoroutines(t *testing.T) {
	for _, b := range [][]byte{examples(8), gzipped(examples(8))} {
		s := open(t, folder(t, stepsOf(plainFeatures), 8, b), Options{})
		got := make(chan []int)
		for range 4 {
			go func() {
				var list []int
				for i := range s.Len() {
					if e, err := s.Episode(context.Background(), i); err == nil {
						list = append(list, int(e.Stream("reward").Times.Len())+i)
					}
				}
				got <- list
			}()
		}
		for range 4 {
			assert.True(t, slices.Equal([]int{2, 3, 4, 5, 6, 7, 8, 9}, <-got))
		}
	}
}

// The room that a record is read into is used again, by any goroutine.
func TestEpisodesStayAsTheyAreWhileOthersAreRead(t *testing.T) {
	s := open(t, "testdata/kinds", Options{Strict: true})
	want := goldens(t, "kinds")
	var wait sync.WaitGroup
	var kept [8][40]*dataset.Episode
	for g := range kept {
		wait.Go(func() {
			for i := range kept[g] {
				e, err := s.Episode(context.Background(), (g+i)%s.Len())
				assert.NoError(t, err)
				kept[g][i] = e
			}
		})
	}
	wait.Wait()
	for g, list := range kept {
		for i, e := range list {
			require.NotNil(t, e)
			compare(t, want[(g+i)%s.Len()], e)
		}
	}
}

func TestAShardThatMayNotBeReadEndsTheSet(t *testing.T) {
	dir := write(t, map[string]string{infoFile: info(2, 1), featuresFile: stepsOf(plainFeatures), "d-train.tfrecord-00000-of-00002": string(examples(2)),
		"d-train.tfrecord-00001-of-00002": string(examples(1))})
	defer fault.Inject(func(op, path string) error {
		if op == "open" && filepath.Base(path) == "d-train.tfrecord-00000-of-00002" {
			return syscall.EACCES
		}
		return nil
	})()
	for _, strict := range []bool{false, true} {
		_, err := dataset.Open(context.Background(), dir, dataset.Options{Strict: strict})
		assert.ErrorIs(t, err, fs.ErrPermission)
		assert.ErrorContains(t, err, "d-train.tfrecord-00000-of-00002")
	}
}
