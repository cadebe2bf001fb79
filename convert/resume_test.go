package convert

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/test/filetest"
)

// rubbish overwrites a recording with as many bytes that are none.
func rubbish(t *testing.T, path string) {
	t.Helper()
	b := filetest.Read(t, path)
	clear(b[copy(b, mcap.Magic+"rubbish"):])
	filetest.Write(t, path, b)
	later := time.Now().Add(time.Second) // where the disk's clock is coarse
	require.NoError(t, os.Chtimes(path, later, later))
}

// Of inputs that changed, with the same names and sizes, all is made anew, and nothing stays of what they were.
func TestChangedInputsAreConvertedAnew(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 40, false))
	out := filepath.Join(t.TempDir(), "out")
	converts(t, out, NPZ(), Options{}, in)
	rubbish(t, filepath.Join(in, "run2.mcap"))
	r := converts(t, out, NPZ(), Options{}, in)
	assert.Equal(t, [3]int{1, 1, 0}, [3]int{r.Converted, r.Skipped, r.Before})
	assert.ElementsMatch(t, []string{"episode-000000.npz", "convert.json"}, keys(tree(t, out)))
}

// Whichever shard hashes the file that changed: none keeps what it made of what was in it.
func TestNoShardKeepsWhatIsOfAFileThatChanged(t *testing.T) {
	for changed, want := range map[string][]string{
		"run1.mcap": {"episode-000001.npz", "episode-000002.npz"},
		"run2.mcap": {"episode-000000.npz", "episode-000002.npz"},
		"run3.mcap": {"episode-000000.npz", "episode-000001.npz"},
	} {
		in := write(t, recorded(t, 1, 100, false), recorded(t, 2, 40, false), recorded(t, 3, 40, false))
		out := filepath.Join(t.TempDir(), "out")
		_, err := all(out, NPZ(), Options{Shards: 2}, in)
		require.NoError(t, err)
		again, err := all(out, NPZ(), Options{Shards: 2}, in)
		require.NoError(t, err)
		assert.Equal(t, [2]int{1, 2}, [2]int{again[0].Before, again[1].Before}, "nothing changed")
		rubbish(t, filepath.Join(in, changed))
		again, err = all(out, NPZ(), Options{Shards: 2}, in)
		require.NoError(t, err)
		assert.Equal(t, [3]int{2, 1, 0}, [3]int{again[0].Converted + again[1].Converted, again[0].Skipped + again[1].Skipped, again[0].Before + again[1].Before}, changed)
		assert.ElementsMatch(t, append(want, "convert-00000-of-00002.json", "convert-00001-of-00002.json"), keys(tree(t, out)), changed)
	}
}

func TestAnInputThatIsWrittenOverWhileItIsReadIsAnError(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 25, false))
	out := filepath.Join(t.TempDir(), "out")
	_, err := all(out, NPZ(), Options{Workers: 1, Progress: func(p Progress) {
		if p.Done == 2 {
			rubbish(t, filepath.Join(in, "run1.mcap"))
		}
	}}, in)
	var input *InputError
	require.ErrorAs(t, err, &input)
	assert.NotContains(t, keys(tree(t, out)), "convert.json")
}

// Where files cannot be locked, another program may make the same shard: nothing is said to be done that it has removed, or makes.
func TestAShardThatIsDisturbedIsNotDone(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false), recorded(t, 2, 25, false))
	for what, meanwhile := range map[string]func(t *testing.T, out string){
		"a piece is removed": func(t *testing.T, out string) {
			require.NoError(t, os.Remove(filepath.Join(out, "episode-000000.npz")))
		},
		"another begins": func(t *testing.T, out string) {
			journal := filepath.Join(filepath.Dir(out), ".out.convert.journal")
			b := filetest.Read(t, journal)
			filetest.Write(t, journal+"~", b)
			require.NoError(t, os.Rename(journal+"~", journal))
		},
	} {
		out := filepath.Join(t.TempDir(), "out")
		_, err := all(out, NPZ(), Options{Workers: 1, Progress: func(p Progress) {
			if p.Done == 2 {
				meanwhile(t, out)
			}
		}}, in)
		var path *fs.PathError
		require.ErrorAs(t, err, &path, what)
		assert.NotContains(t, keys(tree(t, out)), "convert.json", what)
		r := converts(t, out, NPZ(), Options{}, in)
		assert.Equal(t, 2, r.Converted, what)
		assert.Len(t, tree(t, out), 3, what)
	}
}

// What a killed program was writing lies beside the folder that the output links to.
func TestLeftoversOfAnOutputThatIsALinkAreRemoved(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false))
	far, dir := t.TempDir(), t.TempDir()
	out := filepath.Join(dir, "out")
	require.NoError(t, os.Symlink(filepath.Join(far, "data"), out))
	require.NoError(t, os.Mkdir(filepath.Join(far, "data"), 0o777))
	left := filepath.Join(far, ".data.0123456789abcdef.tmp")
	require.NoError(t, os.Mkdir(left, 0o777))
	converts(t, out, NPZ(), Options{}, in)
	assert.NoDirExists(t, left)
	assert.FileExists(t, filepath.Join(far, "data", "convert.json"))
}

// stumbling is a target that finds some episodes broken when it has written a part of them.
type stumbling struct {
	Target
	broken  int // the first of all
	written []string
}

func (s *stumbling) Create(ctx context.Context, path string, p Piece) (Writer, error) {
	w, err := s.Target.Create(ctx, path, p)
	return &stumblingWriter{w, s}, err
}

type stumblingWriter struct {
	Writer
	of *stumbling
}

func (w *stumblingWriter) Add(ctx context.Context, e *Episode) (Kept, error) {
	w.of.written = append(w.of.written, e.Name)
	if e.Name <= fmt.Sprint("run", w.of.broken, "~") {
		return Kept{}, &dataset.FormatError{Format: "test", Offset: -1, Kind: dataset.ErrCorrupt, Msg: e.Name}
	}
	return w.Writer.Add(ctx, e)
}

// However many episodes break when they are written, the others are written twice.
func TestBrokenEpisodesOfAPieceAreFoundAtOnce(t *testing.T) {
	var list []*dataset.Episode
	for i := range 6 {
		list = append(list, recorded(t, i+1, 20, false))
	}
	to := &stumbling{Target: WebDataset(), broken: 4}
	r := converts(t, filepath.Join(t.TempDir(), "out"), to, Options{}, write(t, list...))
	assert.Equal(t, [2]int{4, 2}, [2]int{r.Skipped, r.Converted})
	assert.Equal(t, []string{"run1", "run2", "run3", "run4", "run5", "run6", "run5", "run6"}, to.written)
}
