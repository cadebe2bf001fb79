package lerobot_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// changeFooter changes what a file of Parquet says of itself.
func changeFooter(t *testing.T, path string, change func(m *format.FileMetaData)) {
	b := filetest.Read(t, path)
	n := len(b) - 8 - int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	meta := &format.FileMetaData{}
	require.NoError(t, thrift.Unmarshal(&thrift.CompactProtocol{}, bytes.Clone(b[n:len(b)-8]), meta))
	change(meta)
	footer, err := thrift.Marshal(&thrift.CompactProtocol{}, meta)
	require.NoError(t, err)
	b = append(binary.LittleEndian.AppendUint32(append(b[:n:n], footer...), uint32(len(footer))), "PAR1"...)
	filetest.Write(t, path, b)
}

func TestRowsThatAreNotThereTakeNoMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	for name, n := range map[string]int64{"as many as there can be": 1<<31 - 1, "some millions": 1 << 24, "one more": 4} {
		for _, columns := range []bool{true, false} { // without columns of bookkeeping too
			m := withImages(t)
			if !columns {
				for _, c := range []string{"timestamp", "frame_index", "episode_index", "index", "task_index"} {
					m.drop(c)
				}
			}
			dir := m.write2()
			changeFooter(t, m.path("data/chunk-000/episode_000000.parquet"), func(meta *format.FileMetaData) { meta.RowGroups[0].NumRows = n })
			changeFooter(t, m.path("data/chunk-000/episode_000001.parquet"), func(meta *format.FileMetaData) {
				for i := range meta.RowGroups[0].Columns {
					meta.RowGroups[0].Columns[i].MetaData.NumValues = n
				}
				meta.RowGroups[0].NumRows = n
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s := open(t, dir, lerobot.Options{})
			for i := range 2 {
				if e, err := s.Episode(context.Background(), i); err == nil {
					assert.Empty(t, e.Streams, name)
				}
			}
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), name)
		}
	}
	m := make3(t)
	dir := m.write()
	changeFooter(t, m.path("meta/episodes/chunk-000/file-000.parquet"), func(meta *format.FileMetaData) { meta.RowGroups[0].NumRows = 1 << 30 })
	changeFooter(t, m.path("meta/tasks.parquet"), func(meta *format.FileMetaData) { meta.RowGroups[0].NumRows = 1 << 30 })
	s := open(t, dir, lerobot.Options{})
	contains(t, problems(s), "rows: too large: got 1073741824")
	assert.Equal(t, 2, s.Len())
}

func TestEpisodesMayBeReadFromAnyGoroutine(t *testing.T) {
	m := withImages(t)
	m.lengths, m.groups = []int{100, 200, 50, 150}, []int{500}
	s := open(t, m.write(), lerobot.Options{})
	want := make([][]float64, s.Len())
	for i := range want {
		want[i] = floats(t, episode(t, s, i).Stream("action"))
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for k := range 40 {
				i := (worker + k) % s.Len()
				e, err := s.Episode(context.Background(), i)
				if !assert.NoError(t, err) {
					return
				}
				assert.Equal(t, want[i], floats(t, e.Stream("action")))
				if !assert.Len(t, e.Media, 1, "%v", e.Notes) {
					return
				}
				_, err = e.Media[0].Frame(context.Background(), k%e.Media[0].Len())
				assert.NoError(t, err)
			}
		}()
	}
	all.Wait()
}
