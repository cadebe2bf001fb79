package write

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// limited is a disk that is full after some bytes of all files together.
type limited struct {
	output
	left *int
}

var errFull = errors.New("no space left on device")

func (l limited) Write(p []byte) (int, error) {
	if *l.left -= len(p); *l.left < 0 {
		return 0, errFull
	}
	return l.output.Write(p)
}

func TestAFullDiskLeavesNothingUnderTheName(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	for _, version := range Versions {
		whole, failed := 0, 0
		for space := 0; whole == 0; space += 1501 {
			w, path := created(t, Options{Version: version})
			left := space
			w.out.open = func(path string) (output, error) {
				out, err := w.out.createFile(path)
				return limited{out, &left}, err
			}
			err := w.Add(ctx, kindsEpisode(t, 30))
			if err == nil {
				err = w.Add(ctx, kindsEpisode(t, 30))
			}
			if err == nil {
				err = w.Commit(ctx)
			}
			if err == nil {
				whole++
				assert.DirExists(t, path)
				continue
			}
			failed++
			require.ErrorIs(t, err, errFull)
			var p *fs.PathError
			require.ErrorAs(t, err, &p)
			assert.True(t, strings.HasPrefix(p.Path, path+string(filepath.Separator)), "by the name that it would have had: %s", p.Path)
			assert.ErrorIs(t, w.Commit(ctx), errFull, "it does not try again")
			assert.ErrorIs(t, w.Add(ctx, kindsEpisode(t, 30)), errFull)
			require.NoError(t, w.Close())
			left2, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			assert.Empty(t, left2)
		}
		assert.GreaterOrEqual(t, failed, 8)
	}
}

// twisted is a disk that writes one bit otherwise.
type twisted struct {
	output
	at   int
	seen *int
}

func (l twisted) Write(p []byte) (int, error) {
	from := *l.seen
	*l.seen += len(p)
	if l.at >= from && l.at < *l.seen {
		p = bytes.Clone(p)
		p[l.at-from] ^= 4
	}
	return l.output.Write(p)
}

func TestABitThatFlipsOnTheWayIsSeen(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	total := 1
	for at := -1; at < total; at += 271 {
		w, path := created(t, Options{})
		total = 0
		w.out.open = func(path string) (output, error) {
			out, err := w.out.createFile(path)
			return twisted{out, at, &total}, err
		}
		require.NoError(t, w.Add(ctx, kindsEpisode(t, 30)))
		err := w.Commit(ctx)
		if at < 0 {
			require.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, ErrReadBack)
		assert.NoDirExists(t, path)
	}
	assert.Greater(t, total, 10_000)
}

// shortened is a disk that loses one byte and does not report it.
type shortened struct {
	output
	at   int
	seen *int
}

func (l shortened) Write(p []byte) (int, error) {
	from := *l.seen
	*l.seen += len(p)
	if l.at < from || l.at >= *l.seen {
		return l.output.Write(p)
	}
	_, err := l.output.Write(append(bytes.Clone(p[:l.at-from]), p[l.at-from+1:]...))
	return len(p), err
}

func TestAByteThatIsLostOnTheWayIsSeen(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	total := 1
	for at := 0; at < total; at += 997 {
		w, path := created(t, Options{})
		total = 0
		w.out.open = func(path string) (output, error) {
			out, err := w.out.createFile(path)
			return shortened{out, at, &total}, err
		}
		require.NoError(t, w.Add(context.Background(), kindsEpisode(t, 30)))
		assert.ErrorIs(t, w.Commit(context.Background()), ErrReadBack)
		assert.NoDirExists(t, path)
	}
	assert.Greater(t, total, 5000)
}

func TestACancelledContextStopsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w, path := created(t, Options{})
	require.NoError(t, w.Add(ctx, kindsEpisode(t, 3)))
	cancel()
	assert.ErrorIs(t, w.Add(ctx, kindsEpisode(t, 3)), context.Canceled)
	assert.Equal(t, 1, w.Report().Episodes)
	assert.ErrorIs(t, w.Commit(ctx), context.Canceled)
	require.NoError(t, w.Close())
	assert.NoDirExists(t, path)
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	_, err := Create(filepath.Join(t.TempDir(), "none", "set"), Options{FPS: 10})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	_, err = Create(filepath.Join(dir, "set"), Options{FPS: 10})
	assert.ErrorIs(t, err, fs.ErrPermission)
}
