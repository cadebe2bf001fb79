package benchmark

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVideosThatFFmpegDoesNotMakeAreListed(t *testing.T) {
	job := &FramesJob{Frames: 48, Height: 480, Width: 640, Video: &VideoShape{Codec: "av1", GOP: 2, Bytes: 5000, Streams: 1}}
	opt, program := quick, filepath.Join(t.TempDir(), "ffmpeg")
	opt.Videos = filepath.Join(t.TempDir(), "new", "videos")
	t.Setenv("ROBOCACHE_FFMPEG", program)
	r := measured(t, cpu(t), opt, job)
	require.Len(t, r.Skipped, 1)
	assert.Equal(t, "got no program ffmpeg, which makes its video, want it in PATH, or its path in ROBOCACHE_FFMPEG, or the video in --videos", r.Skipped[0].Why)

	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nfor output; do :; done\necho half a video >\"$output\"; echo a reason; exit 1\n"), 0o755))
	r = measured(t, cpu(t), opt, job)
	require.Len(t, r.Skipped, 1)
	assert.Equal(t, "ffmpeg did not encode its video: exit status 1 a reason", r.Skipped[0].Why)
	left, err := os.ReadDir(opt.Videos)
	require.NoError(t, err)
	assert.Empty(t, left, "half a video")

	opt.Videos = program
	_, err = Run(context.Background(), cpu(t), []Job{job}, opt)
	assert.ErrorContains(t, err, "not a directory")
}
