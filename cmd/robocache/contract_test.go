package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readSchema reads the schema of an object.
func readSchema(t *testing.T, name schema.Name) (s jsonSchema) {
	t.Helper()
	require.NoError(t, json.Unmarshal(filetest.Read(t, schemaFile(name)), &s))
	return s
}

// allKeys returns the keys that a schema describes.
func allKeys(s *jsonSchema) []string { return slices.Sorted(maps.Keys(s.Properties)) }

func keys(v any) []string { return slices.Sorted(maps.Keys(v.(map[string]any))) }

// The JSON of resample and fuse has all keys of the schema, which describes each of them, also of a stream without samples.
func TestJSONHasTheKeysThatAreDocumented(t *testing.T) {
	s := readSchema(t, schema.Alignment)
	stdout, _ := good(t, "fuse", flight, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=50", "--json", "--backend=cpu", "--stream=airspeed", "--stream=vehicle_local_position_setpoint")
	got := unmarshal(t, stdout)
	assert.Equal(t, allKeys(s.Properties["clock"]), keys(got["clock"]))
	for _, stream := range got["streams"].([]any) {
		assert.Equal(t, allKeys(s.Properties["streams"].Items), keys(stream), "of a stream without samples too")
	}
	top := slices.DeleteFunc(allKeys(&s), func(key string) bool { return key == "plot" }) // of --plot
	assert.Equal(t, top, keys(got))

	// Without --hz the file gives the clock.
	stdout, _ = good(t, "resample", "testdata/ramp.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--json", "--backend=cpu")
	assert.Equal(t, []string{"dtype", "first", "last", "targets"}, keys(unmarshal(t, stdout)["clock"]))
}

// The JSON of pack and batches has all keys, except keys for absent things. Lists are empty, not null.
func TestPackAndBatchesWriteEachKey(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
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
	thorough.SkipRace(t, thorough.Programs)
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
