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

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/serve"
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
	top := slices.Concat(documented(t, "and besides ", ": targets at which"), []string{"schema", "clock", "streams", "notes", "input", "output"})
	slices.Sort(top)
	assert.Equal(t, top, keys(got))

	// Without --hz the file gives the clock.
	stdout, _ = good(t, "resample", "testdata/ramp.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--json", "--backend=cpu")
	assert.Equal(t, []string{"dtype", "first", "last", "targets"}, keys(unmarshal(t, stdout)["clock"]))
}

// tags are the JSON keys of a type and of all that is in it.
func tags(of reflect.Type) (list []string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() == reflect.Struct {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if name != "" {
				list = append(list, name)
			}
			list = append(list, tags(of.Field(i).Type)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// The JSON of these commands has the keys that the page names, and no others.
func TestTablesOfKeysNameEachKey(t *testing.T) {
	page, err := os.ReadFile("../../docs/command-line.md")
	require.NoError(t, err)
	words := func(table string) (words []string) {
		_, rest, found := strings.Cut(string(page), "| key | "+table+" |")
		require.True(t, found, table)
		part, _, _ := strings.Cut(rest, "\n\n")
		for _, line := range strings.Split(part, "\n") {
			if table == "notes say" { // the other cells have classes and codes
				line = strings.Join(strings.Split(line, "|")[:min(2, strings.Count(line, "|"))], "")
			}
			for _, m := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(line, -1) {
				words = append(words, m[1])
			}
		}
		return words
	}
	for command, of := range map[string]reflect.Type{"inspect": reflect.TypeFor[serve.InspectionReport](), "pack": reflect.TypeFor[packed](), "batches": reflect.TypeFor[batched](),
		"train": reflect.TypeFor[trained](), "policy": reflect.TypeFor[acted](), "convert": reflect.TypeFor[converted](), "plan": reflect.TypeFor[planned]()} {
		list := append(words(command+" says"), words("notes say")...)
		slices.Sort(list)
		assert.Equal(t, slices.Compact(list), tags(of), command)
	}
}

// The JSON of pack and batches has all keys, except keys for absent things. Lists are empty, not null.
func TestPackAndBatchesWriteEachKey(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.safetensors")
	stdout, _ := good(t, "pack", kindsRLDS, "-o", store, "--rate=10", "--json")
	checkKeys(t, stdout, reflect.TypeFor[packed]())
	stdout, _ = good(t, "batches", store, "--streaming", "--batch=2", "--backend=cpu", "--json", "--out", t.TempDir())
	checkKeys(t, stdout, reflect.TypeFor[batched]())
}

func checkKeys(t *testing.T, stdout string, of reflect.Type) {
	t.Helper()
	want := []string{"schema"}
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	got := unmarshal(t, stdout)
	assert.Equal(t, want, keys(got))
	for key, value := range got {
		assert.NotNil(t, value, key)
	}
}

// The lines on standard error are the notes in --json. Notes with the same sentence share a line.
func TestNotesAreTheLinesOfStandardError(t *testing.T) {
	cut, err := os.ReadFile(flight)
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "cut.ulg")
	require.NoError(t, os.WriteFile(log, cut[:len(cut)/2], 0o600))
	for _, args := range [][]string{
		{"resample", log, "--hz=10", "--tolerance=1ms", "--method=linear", "--period=3"}, {"fuse", twoStreams(t, nil), "--hz=1", "--fill=3", "--fill-gaps"},
		{"resample", "testdata/padded.npz", "--hz=100"}, {"voxelize", "testdata/cases/pcd-lowercase-type/lower.pcd", "--size=1"}, {"inspect", log},
	} {
		if args[0] != "inspect" {
			args = append(args, "--backend=cpu", "-o", filepath.Join(t.TempDir(), "o.npz"))
		}
		_, stderr := good(t, args...)
		stdout, quiet := good(t, append(args, "--json")...)
		assert.Empty(t, quiet)
		result := unmarshal(t, stdout)
		lines := strings.FieldsFunc(stderr, func(r rune) bool { return r == '\n' })
		used := map[int]bool{}
		for _, n := range result["notes"].([]any) {
			n := n.(map[string]any)
			subject := n["subject"].(string)
			sentence := strings.TrimPrefix(strings.TrimPrefix(n["text"].(string), "left out: "), subject+": ")
			at := slices.IndexFunc(lines, func(line string) bool {
				return strings.Contains(line, sentence) && (strings.Contains(line, subject) || strings.HasSuffix(line, " more")) // of many subjects, a line has some
			})
			if args[0] == "inspect" && n["class"] == string(dataset.ClassLeftOut) { // its table has them
				assert.Negative(t, at, n)
				continue
			}
			assert.GreaterOrEqual(t, at, 0, "%q: %v is not in %s", args, n, stderr)
			used[at] = true
		}
		assert.Len(t, used, len(lines), "%q: each line is of a note: %s", args, stderr)
	}
}
