package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// damagedFolder has recordings that are whole, cut short and empty.
func damagedFolder(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"0.mcap", "1.mcap", "3.mcap"} {
		oneStream(t, filepath.Join(dir, name), 2, 0, 1e8, 2e8, 3e8)
	}
	b, err := os.ReadFile(filepath.Join(dir, "1.mcap"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "1.mcap"), b[:120], 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "2.mcap"), nil, 0o600))
	return dir
}

// A recording that is cut before its first sample is skipped because of the damage, with a rate and without.
func TestTheReasonOfASkippedEpisodeIsItsDamage(t *testing.T) {
	dir := damagedFolder(t)
	for i, args := range [][]string{nil, {"--hz=10"}} {
		out := filepath.Join(t.TempDir(), "out")
		stdout, stderr := good(t, append([]string{"convert", dir, "-o", out, "--to=npz"}, args...)...)
		assert.Contains(t, stdout, "skipped 2 of 4 episodes of "+dir+": the first: no samples; lost: file cut short or never closed (", i)
		assert.Contains(t, stderr, "skipped: episode 2: mcap: "+filepath.Join(dir, "2.mcap")+": byte 0: the file is empty: truncated: got 0 bytes, want a recording\n")
		code, _, stderr := execute(append([]string{"convert", filepath.Join(dir, "1.mcap"), "-o", out + "1", "--to=npz"}, args...)...)
		assert.Equal(t, exitInput, code)
		assert.Contains(t, stderr, "1.mcap: no episode among 1 could be converted: no samples; lost: file cut short")
	}
	code, _, stderr := execute("convert", dir, "-o", filepath.Join(t.TempDir(), "out"), "--to=lerobot", "--state=tate")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, `--state: got no stream "tate", want one of state`)
}

// Doctor counts the episodes that it could not read, and ends with the flag that leaves out those with errors.
func TestDoctorEndsWithTheEpisodesToLeaveOut(t *testing.T) {
	dir := damagedFolder(t)
	_, stdout, _ := execute("doctor", dir)
	assert.Regexp(t, `errors and \d warnings? in 4 episodes: .*\nthe episodes with errors are left out by --leave-out 1-2\n$`, stdout)
	assert.NotContains(t, stdout, "damaged         episode 2")
	stdout, _ = good(t, "doctor", filepath.Join(dir, "0.mcap"))
	assert.NotContains(t, stdout, "--leave-out")
}
