package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sick is a recording of one stream with a gap and a NaN.
func sick(t *testing.T) string {
	times, values := make([]int64, 200), make([]float32, 200)
	for i := range times {
		times[i], values[i] = int64(i)*10_000_000, float32(i*i%37)
		if i > 100 {
			times[i] += 500_000_000
		}
	}
	nan := float32(0)
	values[7] = nan / nan
	return twoStreams(t, map[string]*tensor.Tensor{"count.times": tensor.Must(tensor.Of(times, 200)), "count.values": tensor.Must(tensor.Of(values, 200, 1))})
}

func TestDoctorWritesOneObjectWithEveryFinding(t *testing.T) {
	code, stdout, _ := execute("doctor", sick(t), "--json", "--fail-on", "warning")
	assert.Equal(t, exitFound, code)
	var got struct {
		Findings []struct {
			Kind, Severity, Stream, Why string
			Episode                     *int
			Count                       int
			AtNS                        []int64 `json:"at_ns"`
			WhatToDo                    string  `json:"what_to_do"`
		}
		Checked struct {
			Episodes, Samples int
			Kinds             []string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &got), stdout)
	require.Len(t, got.Findings, 2)
	assert.Equal(t, []string{"nan", "error", "count"}, []string{got.Findings[0].Kind, got.Findings[0].Severity, got.Findings[0].Stream})
	assert.Equal(t, []int64{70_000_000}, got.Findings[0].AtNS)
	assert.Equal(t, []string{"gap", "warning", "count"}, []string{got.Findings[1].Kind, got.Findings[1].Severity, got.Findings[1].Stream})
	assert.Equal(t, []int64{1_000_000_000}, got.Findings[1].AtNS)
	for _, f := range got.Findings {
		require.NotNil(t, f.Episode)
		assert.Equal(t, []int{0, 1}, []int{*f.Episode, f.Count})
		assert.NotEmpty(t, f.Why+f.WhatToDo)
	}
	assert.Equal(t, 1, got.Checked.Episodes)
	assert.Greater(t, len(got.Checked.Kinds), 25)
}

func TestDoctorFailsOnlyOnWhatItWasAskedTo(t *testing.T) {
	path := sick(t)
	for _, c := range []struct {
		args []string
		code int
	}{
		{nil, exitGood}, {[]string{"--fail-on", "warning"}, exitFound}, {[]string{"--fail-on=error"}, exitFound},
		{[]string{"--max-step", "1s", "--fail-on", "error"}, exitFound}, {[]string{"--fail-on", "note"}, exitUsage}, {[]string{"--max-step", "0s"}, exitUsage},
		{[]string{"--html", "page.txt"}, exitUsage},
	} {
		code, _, stderr := execute(append([]string{"doctor", path}, c.args...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, stderr)
	}
	code, stdout, stderr := execute("doctor", "../../examples/data/g1", "--fail-on", "warning")
	assert.Equal(t, exitGood, code, stderr)
	assert.Contains(t, stdout, "0 errors and 0 warnings in 3 episodes")
	code, _, _ = execute("doctor")
	assert.Equal(t, exitUsage, code)
	code, _, _ = execute("doctor", filepath.Join(t.TempDir(), "none"))
	assert.Equal(t, exitInput, code)
}

func TestDoctorLooksAtSeveralRecordingsAndWritesOnePage(t *testing.T) {
	path, page := sick(t), filepath.Join(t.TempDir(), "page.html")
	stdout, _ := good(t, "doctor", path, "../../examples/data/g1", "--html", page)
	assert.Contains(t, stdout, path+": episode 0: count: 1 sample of 200")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "1 error</span>, <span class=\"warning\">1 warning")
	assert.Contains(t, string(text), "<svg")
	code, _, stderr := execute("doctor", path, "--html", filepath.Join(t.TempDir(), "none", "page.html"))
	assert.NotEqual(t, exitGood, code)
	assert.NotEmpty(t, stderr)
}

func TestOneBrokenRecordingOfSeveralCostsItself(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.ulg")
	require.NoError(t, os.WriteFile(broken, []byte("no recording at all"), 0o600))
	stdout, _ := good(t, "doctor", broken, "../../examples/data/g1")
	assert.Contains(t, stdout, "unreadable      "+broken)
	assert.Contains(t, stdout, "1 error and 0 warnings in 4 episodes")
	code, _, _ := execute("doctor", broken)
	assert.Equal(t, exitInput, code)
	code, _, _ = execute("doctor", filepath.Join(t.TempDir(), "none"), "../../examples/data/g1")
	assert.Equal(t, exitInput, code)
}

// If many episodes have a finding with the same kind and stream, it is one line.
func TestDoctorListsTheEpisodesOfOneFinding(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "pusht_zarr", "pusht_cchi_v7_replay.zarr")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no shared recordings: ", err)
	}
	code, stdout, _ := execute("doctor", path)
	assert.Zero(t, code)
	assert.Equal(t, 1, strings.Count(stdout, "angle-wrap"))
	assert.Contains(t, stdout, "also in the episodes 4,10-12,16,")
	assert.Contains(t, stdout, "0 errors and 91 warnings in 206 episodes")
}
