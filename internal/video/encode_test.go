package video

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// grey yields n pictures, the first dark and the last bright; then the error, if there is one.
func grey(n, height, width int, end error) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		for i := range n {
			b := make([]byte, height*width*3)
			for k := range b {
				b[k] = byte(20 + i*200/n)
			}
			if !yield(tensor.Must(tensor.Of(b, height, width, 3)), nil) {
				return
			}
		}
		if end != nil {
			yield(nil, end)
		}
	}
}

func needs(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no program ffmpeg")
	}
}

func TestEveryPictureIsInTheVideo(t *testing.T) {
	needs(t)
	for _, codec := range Encodings() {
		path := filepath.Join(t.TempDir(), codec+" 1%d.mp4")
		require.NoError(t, Encoding{codec, 64, 64, 29.97}.Encode(context.Background(), path, grey(25, 64, 64, nil)), codec)
		out, err := exec.Command("ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames,codec_name,pix_fmt", "-of", "csv=p=0", path).CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Equal(t, codec+",yuv420p,25\n", string(out))
		first := filetest.Read(t, path)
		require.NoError(t, Encoding{codec, 64, 64, 29.97}.Encode(context.Background(), path, grey(25, 64, 64, nil)), codec)
		second := filetest.Read(t, path)
		assert.Equal(t, len(first), len(second), "the same pictures gave another video")
	}
}

func TestAFullDiskIsNoFaultOfThePictures(t *testing.T) {
	needs(t)
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no /dev/full")
	}
	err := Encoding{"h264", 64, 64, 30}.Encode(context.Background(), full, grey(30, 64, 64, nil))
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.Equal(t, full, path.Path)
	assert.ErrorIs(t, err, syscall.ENOSPC)
}

func TestWhatEndsAnEncoding(t *testing.T) {
	needs(t)
	path := filepath.Join(t.TempDir(), "film.mp4")
	lost := errors.New("lost")
	e := Encoding{"av1", 64, 64, 30}
	assert.ErrorIs(t, e.Encode(context.Background(), path, grey(3, 64, 64, lost)), lost)
	assert.ErrorIs(t, e.Encode(context.Background(), path, grey(3, 32, 64, nil)), dataset.ErrShape)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, e.Encode(ctx, path, grey(3, 64, 64, nil)), context.Canceled)
	none := e.Encode(context.Background(), filepath.Join(path, "none", "film.mp4"), grey(300, 64, 64, nil))
	assert.ErrorContains(t, none, "ffmpeg: ")
	assert.ErrorIs(t, Encoding{"h264", 63, 64, 30}.Encode(context.Background(), path, grey(3, 64, 63, nil)), dataset.ErrShape)
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, e.Encode(context.Background(), path, grey(3, 64, 64, nil)), dataset.ErrUnsupported)
}
