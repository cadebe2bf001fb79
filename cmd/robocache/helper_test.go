package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/require"
)

// flight is a real log of 6.5 s. Its README has the source.
const flight = "../../dataset/ulog/testdata/sample_log_small.ulg"

// execute runs a command line in this process, as main does.
func execute(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

// good runs a command line that must succeed on the CPU, and returns its output. It compares objects of --json with their schemas.
func good(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := execute(args...)
	require.Equal(t, exitGood, code, stderr)
	if strings.HasPrefix(stdout, "{") && slices.Contains(args, "--json") {
		for _, object := range objectsIn(t, stdout) {
			checkObject(t, object)
		}
	}
	return stdout, stderr
}

// shortPlan writes a plan for g1 with windows of two and three ticks, and returns the flag for it. Ridge regression takes a fifth of the time then.
func shortPlan(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "short.yaml")
	require.NoError(t, os.WriteFile(path, []byte("version: 1\nrate: 30\nwindows: {observation.state: [-66ms, 0s], action: [0s, 100ms]}\n"), 0o600))
	return "--plan=" + path
}

// resampleTo runs resample on the CPU into a new file, and opens it.
func resampleTo(t *testing.T, in string, args ...string) *npz.File {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.npz")
	good(t, append([]string{"resample", in, "-o", out, "--backend", "cpu"}, args...)...)
	return open(t, out)
}

func array[T tensor.Element](t *testing.T, f *npz.File, name string) []T {
	t.Helper()
	a, err := f.Tensor(name)
	require.NoError(t, err)
	data, err := tensor.Data[T](a)
	require.NoError(t, err)
	return data
}

func shape(t *testing.T, f *npz.File, name string) []int {
	t.Helper()
	h, err := f.Header(name)
	require.NoError(t, err)
	return h.Shape
}

// writeNPZ writes an archive into the test's folder.
func writeNPZ(t *testing.T, arrays map[string]*tensor.Tensor) string {
	t.Helper()
	var b bytes.Buffer
	w := npz.NewWriter(&b, npz.Options{})
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		require.NoError(t, w.Add(name, arrays[name]))
	}
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "in.npz")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}

func vec[T tensor.Element](data ...T) *tensor.Tensor { return tensor.Must(tensor.Of(data, len(data))) }

func column[T tensor.Element](data ...T) *tensor.Tensor {
	return tensor.Must(tensor.Of(data, len(data), 1))
}

// topic is a stream in a test's log: one field "v" with a type, and its samples.
type topic struct {
	name, field string
	timestamps  []uint64 // microseconds
	values      []any    // of the field's type, little-endian
}

// writeLog writes a ULog file.
func writeLog(t *testing.T, topics ...topic) string {
	t.Helper()
	var b bytes.Buffer
	b.Write([]byte{'U', 'L', 'o', 'g', 1, 0x12, 0x35, 1})
	b.Write(make([]byte, 8))
	message := func(kind byte, body []byte) {
		b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(body))))
		b.WriteByte(kind)
		b.Write(body)
	}
	for _, p := range topics {
		message('F', []byte(p.name+":uint64_t timestamp;"+p.field+";"))
	}
	for i, p := range topics {
		message('A', append([]byte{0, byte(i), 0}, p.name...))
	}
	for i, p := range topics {
		for k, timestamp := range p.timestamps {
			body := binary.LittleEndian.AppendUint64([]byte{byte(i), 0}, timestamp)
			body, err := binary.Append(body, binary.LittleEndian, p.values[k])
			require.NoError(t, err)
			message('D', body)
		}
	}
	path := filepath.Join(t.TempDir(), "log.ulg")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}

func unmarshal(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

func open(t *testing.T, path string) *npz.File {
	t.Helper()
	f, err := npz.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}
