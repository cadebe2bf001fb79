package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// If a command reaches --max-memory in small unchecked steps, it ends with an error message and leaves nothing.
func TestACommandThatGrowsEndsInWords(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	var table bytes.Buffer
	table.WriteString("time")
	for column := range 50 {
		table.WriteString(",c" + strconv.Itoa(column))
	}
	table.WriteByte('\n')
	for row := range 100_000 {
		table.WriteString(strconv.Itoa(row))
		table.WriteString(".5")
		for range 50 {
			table.WriteString(",1")
		}
		table.WriteByte('\n')
	}
	path := put(t, dir, "many.csv", table.Bytes())
	for limit, code := range map[string]int{"64MiB": exitInput, "2GiB": exitGood} {
		out := filepath.Join(dir, limit)
		require.NoError(t, os.Mkdir(out, 0o700))
		cmd, temp := program(t, "pack", path, "-o", filepath.Join(out, "o.safetensors"), "--max-memory="+limit)
		text, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		got := 0
		if errors.As(err, &ended) {
			got = ended.ExitCode()
		}
		assert.Equal(t, code, got, "%s: %s", limit, text)
		if code == exitInput {
			assert.Equal(t, "robocache: the process: out of memory, want at most 64 MiB (--max-memory): a larger --max-memory allows more\n", string(text))
			assert.Empty(t, append(listed(t, out), listed(t, temp)...))
		}
	}
}
