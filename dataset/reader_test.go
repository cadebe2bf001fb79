package dataset_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// This is the reader of docs/add-a-reader.md, which shows its parts.

func init() {
	dataset.Register(dataset.Format{
		Name: "trace", Extensions: []string{".trace"},
		Match: func(head []byte) bool { return bytes.HasPrefix(head, []byte("trace 1\n")) },
		Open:  openTrace,
	})
}

func openTrace(_ context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
	return dataset.Single("trace", path, func(ctx context.Context) (*dataset.Episode, error) {
		data, err := storage.ReadFile(ctx, path)
		if err != nil {
			return nil, err
		}
		e, err := parseTrace(data, opt)
		var bad *dataset.FormatError
		if errors.As(err, &bad) {
			bad.Path = path
		}
		if err != nil {
			return nil, err
		}
		e.Name, e.Attributes.Source = dataset.BaseName(path), path
		e.Notes.SetPath(path)
		return e, nil
	}), nil
}

func parseTrace(data []byte, opt dataset.Options) (*dataset.Episode, error) {
	e := &dataset.Episode{}
	var times []int64
	var values []float64
	at := 0 // the byte where the line begins
	for i, line := range bytes.SplitAfter(data, []byte("\n")) {
		if i > 0 && len(line) > 0 {
			ns, x, y, bad := parseRow(string(line))
			if bad != nil {
				bad.Offset, bad.Line = int64(at), i+1
			}
			switch {
			case bad == nil:
				times, values = append(times, ns), append(values, x, y)
			case opt.Strict:
				return nil, bad
			default: // the line costs itself
				e.Notes.AddDamage(dataset.CodeLineBroken, int64(len(line)), bad)
			}
		}
		at += len(line)
	}
	table, err := tensor.Of(values, len(times), 2)
	if err != nil {
		return nil, err
	}
	s, err := dataset.NewStream("position", times, table, []dataset.Column{{Name: "x", Type: "metres"}, {Name: "y", Type: "metres"}})
	e.Streams = []dataset.Stream{s}
	return e, err
}

func parseRow(line string) (ns int64, x, y float64, bad *dataset.FormatError) {
	fields := strings.Fields(line)
	if !strings.HasSuffix(line, "\n") { // digits of the last number may be missing
		return 0, 0, 0, &dataset.FormatError{Format: "trace", Kind: dataset.ErrTruncated, Msg: "row", Got: "no line's end", Err: io.ErrUnexpectedEOF}
	}
	if len(fields) == 3 {
		ms, err1 := strconv.ParseInt(fields[0], 10, 64)
		x, err2 := strconv.ParseFloat(fields[1], 64)
		y, err3 := strconv.ParseFloat(fields[2], 64)
		if errors.Join(err1, err2, err3) == nil && ms >= 0 && ms < 1<<42 {
			return ms * 1e6, x, y, nil
		}
	}
	return 0, 0, 0, &dataset.FormatError{Format: "trace", Kind: dataset.ErrCorrupt, Msg: "row", Got: fmt.Sprintf("%.60q", line), Want: "milliseconds x y"}
}

func ExampleRegister() {
	dir, err := os.MkdirTemp("", "trace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "walk.trace")
	if err := os.WriteFile(path, []byte("trace 1\n0 1.5 2\n10 1.6 2\nten 1.7 2\n20 1.8 2\n30 1."), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	d, err := dataset.Open(context.Background(), path, dataset.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	e, err := d.Episode(context.Background(), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := e.Stream("position")
	fmt.Printf("%s: %d samples of %v at %.0f Hz; lost: %d lines, %d bytes\n", e.Name, s.Len(), s.ColumnNames(), s.Stats().Rate, e.Notes.Damage()[0].Count, e.Notes.LostBytes())
	// Output: walk: 3 samples of [x y] at 100 Hz; lost: 2 lines, 15 bytes
}

func TestTextBesideRecordingsIsOtherFiles(t *testing.T) {
	open := func(_ context.Context, path string, _ dataset.Options) (dataset.Dataset, error) {
		return dataset.Single("note", path, nil), nil
	}
	dataset.Register(dataset.Format{Name: "note", Extensions: []string{".note"}, Text: true, Open: open,
		Match: func(head []byte) bool { return bytes.HasPrefix(head, []byte("note 1\n")) },
		Named: func(head []byte) bool { return bytes.HasPrefix(head, []byte("1 ")) }})
	dir := t.TempDir()
	add := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		d, err := dataset.Open(context.Background(), dir, dataset.Options{})
		require.NoError(t, err)
		assert.Equal(t, []any{name[2:], 1}, []any{d.Format(), d.Len()}, name)
	}
	add("1.note", "1 2 3\n") // what only its name tells
	require.NoError(t, os.Remove(filepath.Join(dir, "1.note")))
	add("2.note", "note 1\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "4.note"), []byte("1 2 3\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "5.note"), []byte("milk, eggs\n"), 0o600))
	d, err := dataset.Open(context.Background(), dir, dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, 2, d.Len(), "beside those of its format it is one where its name tells it, and else other text")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "6.note"), nil, 0o600))
	d, err = dataset.Open(context.Background(), dir, dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, 3, d.Len(), "an empty file has lost all that it had")
	require.NoError(t, os.Remove(filepath.Join(dir, "6.note")))
	require.NoError(t, os.Remove(filepath.Join(dir, "4.note")))
	add("3.trace", trace)
	_, err = dataset.Recognise(t.Context(), filepath.Join(dir, "2.note"))
	assert.NoError(t, err)
}

const trace = "trace 1\n0 1.5 2\n10 1.6 2\n20 1.8 2\n"

func TestATraceCutAnywhereKeepsWhatIsWhole(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for n := len("trace 1\n"); n < len(trace); n++ {
		e, err := parseTrace([]byte(trace[:n]), dataset.Options{})
		require.NoError(t, err)
		assert.Equal(t, strings.Count(trace[:n], "\n")-1, e.Stream("position").Len())
		cut := n - strings.LastIndexByte(trace[:n], '\n') - 1
		assert.Equal(t, int64(cut), e.Notes.LostBytes())
	}
}

func FuzzTrace(f *testing.F) {
	f.Add([]byte(trace))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, strict := range []bool{false, true} {
			e, err := parseTrace(data, dataset.Options{Strict: strict})
			var bad *dataset.FormatError
			switch {
			case err != nil:
				require.True(t, strict && errors.As(err, &bad) && bad.Offset >= 0 && bad.Offset < int64(len(data)))
			default:
				require.NoError(t, e.Streams[0].Check())
				require.False(t, strict && e.Notes.Damage() != nil)
			}
		}
	})
}
