package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documented returns the words in backticks of a part of docs/command-line.md, between two texts.
func documented(t *testing.T, from, to string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/command-line.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), from)
	require.True(t, found, from)
	part, _, found := strings.Cut(rest, to)
	require.True(t, found, to)
	var words []string
	for _, line := range strings.Split(part, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 { // of a table the first column has the keys
			line = cells[1]
		}
		for _, m := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(line, -1) {
			words = append(words, m[1])
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func keys(v any) []string { return slices.Sorted(maps.Keys(v.(map[string]any))) }

// The JSON of resample and fuse has the keys that the page names, and no others.
func TestJSONHasTheKeysThatAreDocumented(t *testing.T) {
	stdout, _ := good(t, "fuse", flight, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=50", "--json", "--backend=cpu", "--stream=airspeed", "--stream=vehicle_local_position_setpoint")
	got := unmarshal(t, stdout)
	clock := documented(t, "Its `clock` has ", "; `streams` has")
	assert.Equal(t, clock, keys(got["clock"]))
	for _, s := range got["streams"].([]any) {
		assert.Equal(t, documented(t, "; `streams` has", "and besides "), keys(s), "of a stream without samples too")
	}
	top := slices.Concat(documented(t, "and besides ", ": targets at which"), []string{"clock", "streams", "remarks", "input", "output"})
	slices.Sort(top)
	assert.Equal(t, top, keys(got))

	// Without --hz the file gives the clock.
	stdout, _ = good(t, "resample", "testdata/ramp.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--json", "--backend=cpu")
	assert.Equal(t, []string{"dtype", "first", "last", "targets"}, keys(unmarshal(t, stdout)["clock"]))
}

// The JSON of inspect has the keys that the page names, and no others.
func TestInspectHasTheKeysThatAreDocumented(t *testing.T) {
	var tags func(of reflect.Type) []string
	tags = func(of reflect.Type) (list []string) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct {
			for i := range of.NumField() {
				name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
				list = append(append(list, name), tags(of.Field(i).Type)...)
			}
		}
		return list
	}
	page, err := os.ReadFile("../../docs/command-line.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(page), "| key | inspect says |")
	part, _, _ := strings.Cut(rest, "\n\n`pack`")
	var words []string
	for _, m := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(part, -1) {
		words = append(words, m[1])
	}
	got := tags(reflect.TypeFor[inspection]())
	for _, list := range []*[]string{&words, &got} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	assert.Equal(t, words, got)
}

// What standard error has as text, remarks has under --json: the same lines.
func TestRemarksAreTheLinesOfStandardError(t *testing.T) {
	cut, err := os.ReadFile(flight)
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "cut.ulg")
	require.NoError(t, os.WriteFile(log, cut[:len(cut)/2], 0o600))
	for _, args := range [][]string{
		{"resample", log, "--hz=10", "--tolerance=1ms", "--kind=linear", "--period=3"}, {"fuse", twoStreams(t, nil), "--hz=1", "--fill=3", "--fill-gaps"},
		{"resample", "testdata/padded.npz", "--hz=100"}, {"voxelize", "testdata/cases/pcd-lowercase-type/lower.pcd", "--size=1"}, {"inspect", log},
	} {
		if args[0] != "inspect" {
			args = append(args, "--backend=cpu", "-o", filepath.Join(t.TempDir(), "o.npz"))
		}
		_, stderr := good(t, args...)
		stdout, quiet := good(t, append(args, "--json")...)
		assert.Empty(t, quiet)
		result := unmarshal(t, stdout)
		var lines strings.Builder
		for _, r := range result["remarks"].([]any) {
			lines.WriteString("robocache: " + r.(string) + "\n")
		}
		assert.Equal(t, stderr, lines.String(), "%q", args)
	}
}
