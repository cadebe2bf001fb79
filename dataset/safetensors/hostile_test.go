package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// of is a file of a header's text and so many bytes of data.
func of(head string, data int) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), make([]byte, data)...)
}

// one is what a header says of a tensor.
func one(name, dtype, shape string, begin, end any) string {
	return fmt.Sprintf(`"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%v,%v]}`, name, dtype, shape, begin, end)
}

func TestAHeaderThatBreaksARuleIsRefused(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for name, c := range map[string]struct {
		file []byte
		kind error
		says string
	}{
		"empty":              {nil, dataset.ErrTruncated, "got 0 bytes"},
		"half a length":      {[]byte{1, 0, 0}, dataset.ErrTruncated, "got 3 bytes"},
		"length":             {binary.LittleEndian.AppendUint64(nil, 1<<63), dataset.ErrTooLarge, "header length"},
		"length of 100 MB":   {append(binary.LittleEndian.AppendUint64(nil, 100_000_001), '{'), dataset.ErrTooLarge, "at most 100000000"},
		"length of the file": {append(binary.LittleEndian.AppendUint64(nil, 100_000_000), '{'), dataset.ErrTruncated, "header: truncated: got 1 bytes, want 100000000"},
		"no header":          {of("", 0), dataset.ErrCorrupt, `"{" first`},
		"no object":          {of(`["a"]`, 0), dataset.ErrCorrupt, `"{" first`},
		"a space first":      {of(` {}`, 0), dataset.ErrCorrupt, `"{" first`},
		"not UTF-8":          {of("{\"\xff\":1}", 0), dataset.ErrCorrupt, "UTF-8"},
		"cut JSON":           {of(`{"a":{"dtype":"U8"`, 0), dataset.ErrCorrupt, "unexpected EOF"},
		"half a pair":        {of(`{`+one(`\ud800`, "U8", "1", 0, 1)+`}`, 1), dataset.ErrCorrupt, "characters of Unicode"},
		"two objects":        {of(`{}{}`, 0), dataset.ErrCorrupt, "after it"},
		"a comma too many":   {of(`{`+one("a", "U8", "1", 0, 1)+`,}`, 1), dataset.ErrCorrupt, "name of a tensor"},
		"twice":              {of(`{`+one("a", "U8", "1", 0, 1)+`,`+one("a", "U8", "1", 1, 2)+`}`, 2), dataset.ErrCorrupt, `got "a" twice`},
		"twice, escaped":     {of(`{`+one("a", "U8", "1", 0, 1)+`,`+one(`\u0061`, "U8", "1", 1, 2)+`}`, 2), dataset.ErrCorrupt, `got "a" twice`},
		"metadata twice":     {of(`{"__metadata__":{},"__metadata__":{}}`, 0), dataset.ErrCorrupt, `got "__metadata__" twice`},
		"key twice":          {of(`{"__metadata__":{"a":"","a":""}}`, 0), dataset.ErrCorrupt, `got "a" twice`},
		"metadata, a number": {of(`{"__metadata__":{"a":1}}`, 0), dataset.ErrCorrupt, "a string"},
		"metadata, nested":   {of(`{"__metadata__":{"a":{}}}`, 0), dataset.ErrCorrupt, "a string"},
		"a tensor, a list":   {of(`{"a":[]}`, 0), dataset.ErrCorrupt, `tensor "a"`},
		"deep":               {of(`{"a":`+deep, 0), dataset.ErrCorrupt, `tensor "a"`},
		"deep shape":         {of(`{"a":{"shape":`+deep, 0), dataset.ErrCorrupt, "whole number"},
		"deep objects":       {of(strings.Repeat(`{"a":`, 100_000), 0), dataset.ErrCorrupt, "dtype, shape and data_offsets"},
		"another key":        {of(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}`, 1), dataset.ErrCorrupt, `got "x"`},
		"dtype twice":        {of(`{"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}`, 1), dataset.ErrCorrupt, `got "dtype"`},
		"no shape":           {of(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1), dataset.ErrCorrupt, "a dtype, a shape"},
		"one offset":         {of(`{"a":{"dtype":"U8","shape":[],"data_offsets":[0]}}`, 1), dataset.ErrCorrupt, "data_offsets [0]"},
		"three offsets":      {of(`{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1,2]}}`, 1), dataset.ErrTooLarge, "more than 2 numbers"},
		"65 dimensions":      {of(`{`+one("a", "U8", strings.Repeat("1,", 64)+"1", 0, 1)+`}`, 1), dataset.ErrTooLarge, "more than 64 numbers"},
		"negative":           {of(`{`+one("a", "U8", "-1", 0, 1)+`}`, 1), dataset.ErrCorrupt, "got -1"},
		"fraction":           {of(`{`+one("a", "U8", "1.5", 0, 1)+`}`, 1), dataset.ErrCorrupt, "got 1.5"},
		"exponent":           {of(`{`+one("a", "U8", "1e0", 0, 1)+`}`, 1), dataset.ErrCorrupt, "got 1e0"},
		"2^64":               {of(`{`+one("a", "U8", "18446744073709551616", 0, 1)+`}`, 1), dataset.ErrCorrupt, "2^63-1"},
		"backwards":          {of(`{`+one("a", "U8", "1", 1, 0)+`}`, 1), dataset.ErrCorrupt, "data_offsets [1 0]"},
		"offsets of 2^63":    {of(`{`+one("a", "X", "1", 0, uint64(1)<<63-1)+`}`, 1), dataset.ErrCorrupt, "data_offsets [0 9223372036854775807]"},
		"overflow":           {of(`{`+one("a", "U8", "4294967296,4294967296,4294967296", 0, 0)+`}`, 0), dataset.ErrTooLarge, "shape"},
		"overflow to 0":      {of(`{`+one("a", "F64", "2305843009213693952", 0, 0)+`}`, 0), dataset.ErrCorrupt, "0 bytes for F64"},
		"too few bytes":      {of(`{`+one("a", "F32", "2", 0, 7)+`}`, 7), dataset.ErrCorrupt, "7 bytes for F32 [2]"},
		"half a byte":        {of(`{`+one("a", "F4", "3", 0, 1)+`}`, 1), dataset.ErrCorrupt, "1 bytes for F4 [3]"},
		"hole":               {of(`{`+one("a", "U8", "1", 0, 1)+`,`+one("b", "U8", "1", 2, 3)+`}`, 3), dataset.ErrCorrupt, "1 bytes of no tensor"},
		"hole at the start":  {of(`{`+one("a", "U8", "1", 1, 2)+`}`, 2), dataset.ErrCorrupt, `before tensor "a"`},
		"overlap":            {of(`{`+one("a", "U8", "2", 0, 2)+`,`+one("b", "U8", "2", 1, 3)+`}`, 3), dataset.ErrCorrupt, "1 bytes of the tensor before it"},
		"the same bytes":     {of(`{`+one("a", "U8", "2", 0, 2)+`,`+one("b", "U8", "2", 0, 2)+`}`, 2), dataset.ErrCorrupt, "2 bytes of the tensor before it"},
		"nothing, inside":    {of(`{`+one("a", "U8", "2", 0, 2)+`,`+one("b", "U8", "0", 1, 1)+`}`, 2), dataset.ErrCorrupt, "1 bytes of the tensor before it"},
		"after the end":      {of(`{`+one("a", "U8", "2", 0, 2)+`}`, 5), dataset.ErrCorrupt, "3 more bytes"},
	} {
		f, err := NewReader(bytes.NewReader(c.file), int64(len(c.file)))
		require.Error(t, err, name)
		assert.Nil(t, f, name)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, name)
		assert.ErrorIs(t, err, c.kind, name)
		assert.ErrorContains(t, err, c.says, name)
		assert.Less(t, len(err.Error()), 500, name)
	}
}

func TestTensorsMayLieInAnyOrderOfTheHeader(t *testing.T) {
	b := of(`{`+one("b", "U8", "1", 2, 3)+`,`+one("e", "F32", "0,7", 2, 2)+`, "__metadata__":{} ,`+one("a", "U8", "2", 0, 2)+"}\t\n ", 3)
	f, err := NewReader(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "e", "a"}, f.Names())
}

func TestAHeaderTakesNoMemoryThatTheFileCouldNotFill(t *testing.T) {
	many := make([]string, 2000)
	for i := range many {
		many[i] = one(fmt.Sprint(i), "U8", strings.Repeat("0,", 60)+"0", 0, 0)
	}
	for name, b := range map[string][]byte{
		"length":     append(binary.LittleEndian.AppendUint64(nil, 99_000_000), '{'),
		"wide":       of(`{`+one("a", "U8", "1099511627776", 0, 1<<40)+`}`, 10),
		"dimensions": of(`{`+one("a", "U8", strings.Repeat("0,", 100_000)+"0", 0, 0)+`}`, 0),
		"tensors":    of(`{`+strings.Join(many, ",")+`}`, 0),
		"deep":       of(`{"a":`+strings.Repeat("[", 1<<20), 0),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if f, err := NewReader(bytes.NewReader(b), int64(len(b))); err == nil {
			for _, n := range f.Names() {
				_, err := f.Tensor(n)
				assert.True(t, err == nil || errors.Is(err, dataset.ErrTruncated) || errors.Is(err, dataset.ErrUnsupported), "%s: %v", name, err)
			}
		}
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20+100*len(b)), name)
	}
}

// try reads all of a file: no panic, errors that are typed, and tensors that are as their headers say.
func try(t *testing.T, b []byte) *File {
	f, err := NewReader(bytes.NewReader(b), int64(len(b)))
	var bad *dataset.FormatError
	if err != nil {
		if f != nil || !errors.As(err, &bad) || bad.Offset < -1 || bad.Offset > int64(len(b)) {
			t.Fatalf("%v, %#v", f, err)
		}
		return nil
	}
	bytesOf := int64(0)
	for _, name := range f.Names() {
		h, err := f.Header(name)
		if err != nil {
			t.Fatal(err)
		}
		bytesOf += f.Stored(name)
		v, err := f.Tensor(name)
		switch {
		case err != nil && !errors.As(err, &bad):
			t.Fatalf("%#v", err)
		case err == nil && (tensor.FormatShape(v.Shape()) != tensor.FormatShape(h.Shape) || h.End > int64(len(b))):
			t.Fatalf("%v for %v", v, h)
		}
	}
	if f.data+bytesOf != int64(len(b)) {
		t.Fatalf("%d bytes before the tensors, %d of them, of %d", f.data, bytesOf, len(b))
	}
	return f
}

func TestAFileThatIsCutAnywhereGivesWhatIsWhole(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, name := range []string{"kinds", "streams", "foreign", "unaligned"} {
		b := filetest.Read(t, filepath.Join("testdata", name+".safetensors"))
		whole := try(t, b)
		path := filepath.Join(t.TempDir(), name)
		for n := range len(b) {
			f := try(t, b[:n])
			if int64(n) < whole.data {
				require.Nil(t, f, "%s, %d bytes", name, n)
				continue
			}
			require.NotNil(t, f, "%s, %d bytes", name, n)
			for _, tensor := range f.Names() {
				_, want := whole.Tensor(tensor)
				_, got := f.Tensor(tensor)
				if h := f.tensors[tensor]; h.End > int64(n) && want == nil {
					require.ErrorIs(t, got, dataset.ErrTruncated)
				} else if want == nil {
					require.NoError(t, got)
				}
			}
			filetest.Write(t, path, b[:n])
			e, err := ReadFile(path, dataset.Options{})
			require.NoError(t, err)
			require.NotEmpty(t, e.Notes.Damage(), "%s, %d bytes", name, n)
			_, err = ReadFile(path, dataset.Options{Strict: true})
			require.ErrorIs(t, err, dataset.ErrTruncated)
		}
	}
}

func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	path := filepath.Join(t.TempDir(), "mutant.safetensors")
	seeds, err := mutate.Files("testdata", "kinds.safetensors", "streams.safetensors", "foreign.safetensors", "unaligned.safetensors")
	require.NoError(t, err)
	head := func(b []byte) int { return 8 + int(binary.LittleEndian.Uint64(b)) }
	for i := range seeds {
		seeds[i].To = head(seeds[i].Data)
	}
	mutate.Run(t, mutate.Plan{
		Seeds: seeds, Words: []string{"[", "]", "{", "}", ",", ":", "\"", "-", "0", "99999999", "\"F16\"", "1e9"}, Few: 6000, Most: 16 << 20,
		Try: func(m mutate.Mutant) {
			if m.N%2 == 0 && len(m.Data) >= 8 { // as if the header had been written so
				binary.LittleEndian.PutUint64(m.Data, uint64(max(0, head(m.Seed.Data)-8+len(m.Data)-len(m.Seed.Data))))
			}
			if try(t, m.Data) == nil {
				return
			}
			filetest.Write(t, path, m.Data)
			_, wrong := mutate.Read(func(opt dataset.Options) (dataset.Dataset, error) {
				return dataset.Open(t.Context(), path, opt)
			}, dataset.Options{Strict: m.N%4 == 0})
			require.NoError(t, wrong)
		},
	})
}

func FuzzRead(f *testing.F) {
	list, err := filepath.Glob("testdata/*.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range list {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(of(`{"a":{"shape":[0]}}`, 3))
	f.Fuzz(func(t *testing.T, b []byte) { try(t, b) })
}
