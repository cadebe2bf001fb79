package video

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAProgramThatIsKilledIsNoFaultOfThePictures(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ffmpeg")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nkill -9 $$\n"), 0o700))
	t.Setenv("ROBOCACHE_FFMPEG", program)
	err := Encoding{"h264", 64, 64, 30}.Encode(context.Background(), "film.mp4", grey(300, 64, 64, nil))
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.Equal(t, "film.mp4", path.Path)
	assert.ErrorContains(t, err, "killed")
}
