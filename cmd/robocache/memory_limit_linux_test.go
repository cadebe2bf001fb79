package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestABombIsRefusedInWordsWithExitCode3(t *testing.T) {
	points := pointsFile(t, 0, 0, 0, 1e9, 1e9, 1e9)
	for _, args := range [][]string{
		{"voxelize", points, "-o", filepath.Join(t.TempDir(), "o.npz"), "--size=0.01"},
		{"inspect", points, "--max-memory=1MiB"},
	} {
		var out, stderr strings.Builder
		assert.Equal(t, exitInput, run(args, strings.NewReader(""), &out, &stderr), args)
		assert.NotContains(t, stderr.String(), "goroutine")
	}
}
