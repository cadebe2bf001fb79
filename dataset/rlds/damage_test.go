package rlds

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// rewards reads the first reward of each episode, which says which one of examples it is; -1 where it is an error.
func rewards(t testing.TB, s *Set) (list []int) {
	for i := range s.Len() {
		e, err := s.Episode(context.Background(), i)
		if err != nil {
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad)
			list = append(list, -1)
			continue
		}
		list = append(list, int(floats(t, e.Stream("reward"))[0]))
	}
	return list
}

func TestAFileThatEndsAnywhereGivesItsWholeRecords(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	b := examples(3)
	size := len(b) / 3
	dir := folder(t, stepsOf(plainFeatures), 3, nil)
	path := filepath.Join(dir, onlyShard)
	for end := range len(b) + 1 {
		filetest.Write(t, path, b[:end])
		s := open(t, dir, Options{})
		assert.Equal(t, []int{0, 1, 2}[:end/size], append([]int{}, rewards(t, s)...))
		require.Equal(t, end/size, s.Len())
		_, err := Open(context.Background(), dir, Options{Strict: true})
		switch {
		case end == len(b):
			require.NoError(t, err)
			assert.Empty(t, s.Info().Notes)
		case end%size == 0:
			assert.ErrorContains(t, err, fmt.Sprintf("got %d records, want 3, by dataset_info.json", end/size))
			assert.Nil(t, s.Damage())
			lost := fmt.Errorf("%s: got %d records, want %d", onlyShard, end/size, 3)
			assert.Equal(t, dataset.Notes{{Code: dataset.CodeRecordCount, Subject: onlyShard, Count: end / size, Detail: dataset.Detail{Of: 3}},
				{Code: dataset.CodeEpisodesAbsent, Subject: infoFile, Count: 3 - end/size, Detail: dataset.Detail{Of: 3, Cause: lost}}}, s.Info().Notes)
		default:
			assert.ErrorIs(t, err, dataset.ErrTruncated)
			damage := s.Damage()
			require.Len(t, damage, 1)
			first := damage[0].Cause.(*dataset.FormatError)
			damage[0].Cause = nil
			assert.Equal(t, dataset.Notes{{Code: dataset.CodeRecordCut, Count: 1, Detail: dataset.Detail{Bytes: int64(end % size)}}}, damage)
			assert.Equal(t, []any{path, int64(end / size * size)}, []any{first.Path, first.Offset})
			assert.Len(t, s.Info().Notes, 3, "the end, the count, and the episodes that are not there")
		}
	}
}

func TestABrokenLengthCostsOnlyWhatLiesAroundIt(t *testing.T) {
	b := examples(5)
	size := len(b) / 5
	for at := range headSize {
		broken := slices.Clone(b)
		broken[2*size+at] ^= 0x10
		s := open(t, folder(t, stepsOf(plainFeatures), 5, broken), Options{})
		assert.Equal(t, []int{0, 1, 3, 4}, rewards(t, s))
		require.Len(t, s.Damage(), 1)
		assert.Equal(t, []any{dataset.CodeNoRecords, 1, int64(size)}, []any{s.Damage()[0].Code, s.Damage()[0].Count, s.Damage()[0].Bytes})
		assert.Equal(t, int64(2*size), s.Damage()[0].Cause.(*dataset.FormatError).Offset)
	}
	// In the last record there is none to go on with.
	b[4*size] ^= 1
	s := open(t, folder(t, stepsOf(plainFeatures), 5, b), Options{})
	assert.Equal(t, []int{0, 1, 2, 3}, rewards(t, s))
	assert.Equal(t, int64(size), s.Damage().LostBytes())
}

func TestReadingGoesOnBehindAStretchLongerThanItsWindow(t *testing.T) {
	for _, n := range []int{1<<16 - 13, 1<<16 - 12, 1<<16 - 11, 1<<16 - 1, 1 << 16, 200_000} {
		junk := slices.Repeat([]byte{7}, n)
		s := open(t, folder(t, stepsOf(plainFeatures), 2, slices.Concat(junk, examples(2))), Options{})
		assert.Equal(t, []int{0, 1}, rewards(t, s), n)
		assert.Equal(t, int64(n), s.Damage().LostBytes())
	}
}

func TestARecordWithAnotherChecksumIsAnErrorOfItsEpisode(t *testing.T) {
	b := examples(3)
	size := len(b) / 3
	for at := headSize; at < size; at++ {
		broken := slices.Clone(b)
		broken[size+at] ^= 1
		for _, opt := range []Options{{}, {Strict: true}} {
			s := open(t, folder(t, stepsOf(plainFeatures), 3, broken), opt)
			assert.Equal(t, []int{0, -1, 2}, rewards(t, s))
			_, err := s.Episode(context.Background(), 1)
			assert.ErrorIs(t, err, dataset.ErrCorrupt)
			assert.ErrorContains(t, err, "checksum")
		}
	}
}

func TestCompressedFilesReadInAnyOrder(t *testing.T) {
	for name, b := range map[string][]byte{"gzip": gzipped(examples(4)), "zlib": deflated(examples(4)), "two members": slices.Concat(gzipped(examples(4)[:100]), gzipped(examples(4)[100:]))} {
		s := open(t, folder(t, stepsOf(plainFeatures), 4, b), Options{Strict: true})
		assert.Equal(t, []int{0, 1, 2, 3}, rewards(t, s), name)
		for _, i := range []int{2, 0, 3, 3, 1} {
			e := settest.Episode(t, s, i)
			assert.Equal(t, float64(i), floats(t, e.Stream("reward"))[0], name)
		}
	}
}

func TestACompressedFileThatIsBrokenGivesWhatComesBefore(t *testing.T) {
	plainBytes := examples(3)
	size := len(plainBytes) / 3
	for name, b := range map[string][]byte{"gzip": gzipped(plainBytes), "zlib": deflated(plainBytes)} {
		for end := 3; end < len(b); end++ {
			s := open(t, folder(t, stepsOf(plainFeatures), 3, b[:end]), Options{})
			got := rewards(t, s)
			assert.Equal(t, []int{0, 1, 2}[:len(got)], append([]int{}, got...), "%s cut at %d", name, end)
			require.Len(t, s.Damage(), 1)
			assert.ErrorIs(t, s.Damage()[0].Cause, dataset.ErrTruncated, "%s cut at %d", name, end)
			_, err := Open(context.Background(), s.path, Options{Strict: true})
			assert.Error(t, err)
		}
		s := open(t, folder(t, stepsOf(plainFeatures), 3, append(slices.Clone(b), "more"...)), Options{})
		assert.Equal(t, []int{0, 1, 2}, rewards(t, s))
		assert.Equal(t, dataset.CodeCompressionBroken, s.Damage()[0].Code)
	}
	cut := open(t, folder(t, stepsOf(plainFeatures), 3, gzipped(plainBytes[:size+20])), Options{})
	assert.Equal(t, []int{0}, rewards(t, cut))
	assert.Equal(t, dataset.CodeRecordCut, cut.Damage()[0].Code)
	plainBytes[size] ^= 1
	bad := open(t, folder(t, stepsOf(plainFeatures), 3, gzipped(plainBytes)), Options{})
	assert.Equal(t, []int{0}, rewards(t, bad))
	assert.Equal(t, dataset.CodeNoRecords, bad.Damage()[0].Code)
}

func TestAFeatureThatIsBrokenCostsItself(t *testing.T) {
	seq, box := sequence(-1, array("float32", 2)), encoded("zlib", "float32", 2)
	for name, c := range map[string]struct {
		feature string
		values  example
		says    string
	}{
		"too few":              {array("float32", 3), example{"steps/x": []float32{1, 2, 3, 4, 5}}, `feature "steps/x": corrupt: got 5 values, want 2 steps of [3]`},
		"one step more":        {array("float32", 3), example{"steps/x": make([]float32, 9)}, "got 9 values, want 2 steps of [3]"},
		"empty":                {array("float32", 3), example{"steps/x": nil}, "got 0 values, want 2 steps of [3]"},
		"missing":              {array("float32", 3), example{}, `feature "steps/x": corrupt: got none, want 2 steps of it`},
		"open":                 {array("float32", -1), example{"steps/x": make([]float32, 3)}, "got 3 values, want 2 steps of [?]"},
		"open, of threes":      {array("float32", -1, 3), example{"steps/x": make([]float32, 8)}, "got 8 values, want 2 rows of [?,3]"},
		"another list":         {array("float32"), example{"steps/x": []int64{1, 2}}, "got int64_list, want float_list"},
		"text for numbers":     {array("int32"), example{"steps/x": []string{"a", "b"}}, "got bytes_list, want int64_list"},
		"images as numbers":    {picture("uint8", "png", 1, 1, 3), example{"steps/x": []int64{1, 2}}, "got int64_list, want bytes_list"},
		"too many images":      {picture("uint8", "png", 1, 1, 3), example{"steps/x": []string{png, png, png}}, "got 3 values, want 2 steps of [1,1,3]"},
		"too few texts":        {class("Text", ""), example{"steps/x": []string{"a"}}, "got 1 values, want 2 steps of []"},
		"lengths too short":    {seq, example{"steps/x/ragged_flat_values": make([]float32, 6), "steps/x/ragged_row_lengths_0": []int64{1, 1}}, "got 6 values, want 2 of [2]"},
		"lengths too long":     {seq, example{"steps/x/ragged_flat_values": make([]float32, 6), "steps/x/ragged_row_lengths_0": []int64{1, 1 << 30}}, "got 6 values, want more"},
		"lengths of 3 steps":   {seq, example{"steps/x/ragged_flat_values": make([]float32, 6), "steps/x/ragged_row_lengths_0": []int64{1, 1, 1}}, "got lengths of 3 steps, want 2"},
		"a negative length":    {seq, example{"steps/x/ragged_flat_values": make([]float32, 6), "steps/x/ragged_row_lengths_0": []int64{-1, 4}}, "with -1, want whole numbers"},
		"lengths of floats":    {seq, example{"steps/x/ragged_flat_values": make([]float32, 6), "steps/x/ragged_row_lengths_0": []float32{1, 2}}, "float_list"},
		"no lengths":           {seq, example{"steps/x/ragged_flat_values": make([]float32, 6)}, "no ragged_row_lengths_0"},
		"no sequence of 2":     {sequence(2, array("int8")), example{"steps/x/ragged_flat_values": []int64{1, 2, 3, 4}, "steps/x/ragged_row_lengths_0": []int64{1, 3}}, "got length 1 in step 0, want 2"},
		"no zlib":              {box, example{"steps/x": []string{"12345678", "12345678"}}, "zlib: invalid header"},
		"zlib cut":             {box, example{"steps/x": []string{string(deflated([]byte("12345678"))), string(deflated([]byte("12345678"))[:9])}}, "unexpected EOF"},
		"zlib of another size": {box, example{"steps/x": []string{string(deflated([]byte("12345678"))), string(deflated([]byte("1234")))}}, "got 4 bytes, want 8, [2] of float32"},
		"bytes of two sizes":   {encoded("bytes", "int16", -1), example{"steps/x": []string{"1234", "12"}}, "got 2 bytes, want 4"},
		"half a number":        {encoded("bytes", "int16", -1), example{"steps/x": []string{"123", "123"}}, "got 3 bytes, want a multiple of 2"},
		"no varint":            {array("int64"), example{"steps/x": tag(nil, 3, tag(nil, 1, []byte{1, 0xff}))}, "varint"},
		"half a float":         {array("float32"), example{"steps/x": tag(nil, 2, tag(nil, 1, make([]byte, 6)))}, "float_list"},
		"bytes as a number":    {class("Text", ""), example{"steps/x": tag(nil, 1, []byte{1 << 3, 1})}, "bytes_list"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := one(t, plainWith("x", c.feature), plain.with(c.values), Options{})
			require.NoError(t, err)
			require.Len(t, e.Notes.Damage(), 1)
			assert.Equal(t, []any{dataset.CodeArrayBroken, 1}, []any{e.Notes.Damage()[0].Code, e.Notes.Damage()[0].Count})
			assert.ErrorContains(t, e.Notes.Damage()[0].Cause, c.says)
			assert.Contains(t, e.Notes.Damage()[0].Cause.(*dataset.FormatError).Path, onlyShard)
			size := 0 // of the entries of x
			for key, v := range c.values {
				size += len(tag(tag(nil, 1, []byte(key)), 2, encode(v)))
			}
			assert.Equal(t, int64(size), e.Notes.Damage()[0].Bytes)
			left := e.Notes.Of(dataset.ClassLeftOut)
			require.Len(t, left, 1)
			assert.Equal(t, "x", left[0].Subject)
			assert.Contains(t, left[0].Reason(), c.says)
			assert.Equal(t, []string{"action", "is_first", "reward"}, e.Names())
			assert.Equal(t, []float64{1, 2, 3, 4, 5, 6}, floats(t, e.Stream("action")))
			_, err = one(t, plainWith("x", c.feature), plain.with(c.values), Options{Strict: true})
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, onlyShard)
		})
	}
	e, err := one(t, stepsOf(plainFeatures), plain.with(example{"steps/x": tag(nil, 3, tag(nil, 1, []byte{1, 0xff}))}), Options{})
	require.NoError(t, err, "nor does one that features.json does not have")
	assert.Equal(t, []any{1, "x"}, []any{e.Notes.Damage()[0].Count, e.Notes.Of(dataset.ClassLeftOut)[0].Subject})
	assert.Len(t, e.Streams, 3)
	for name, id := range map[string]any{"two": []int64{1, 2}, "none": nil, "a float": []float32{1}} {
		e, err := one(t, stepsOf(plainFeatures), plain.with(example{"id": id}), Options{})
		require.NoError(t, err)
		assert.Len(t, e.Notes.Damage(), 1, name)
		assert.Len(t, e.Streams, 3)
	}
}

func TestWhatIsNoExampleIsAnErrorOfItsEpisode(t *testing.T) {
	entry := func(b []byte) []byte { return tag(nil, 1, tag(nil, 1, b)) }
	twice := slices.Concat(tag(nil, 1, tag(tag(nil, 1, []byte("id")), 2, encode([]int64{1}))), tag(nil, 1, tag(tag(nil, 1, []byte("id")), 2, encode([]int64{2}))))
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"a number":          {[]byte{1 << 3, 5}, "got wire type 0, want bytes"},
		"field 0":           {[]byte{2, 0}, "number 0"},
		"a group":           {[]byte{1<<3 | 3}, "wire type 3"},
		"beyond the end":    {[]byte{1<<3 | 2, 9, 1}, "got 9 bytes, want at most 1"},
		"no end":            {[]byte{0xff}, "varint"},
		"a long varint":     {slices.Repeat([]byte{0xff}, 11), "varint"},
		"a short fixed":     {[]byte{2<<3 | 1, 1}, "1 bytes before the end"},
		"two lists":         {entry(tag(tag(nil, 1, []byte("a")), 2, slices.Concat(encode([]int64{1}), encode([]float32{1})))), "two lists"},
		"a feature twice":   {tag(nil, 1, twice), `feature "id": corrupt: got a second one`},
		"a key as a number": {entry([]byte{1 << 3, 1}), "wire type 0"},
	} {
		s := open(t, folder(t, stepsOf(plainFeatures), 2, recordsOf(c.data, plain.bytes())), Options{})
		_, err := s.Episode(context.Background(), 0)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, name)
		assert.ErrorContains(t, err, c.says, name)
		assert.Contains(t, bad.Path, onlyShard)
		assert.GreaterOrEqual(t, bad.Offset, int64(headSize))
		_, err = s.Episode(context.Background(), 1)
		assert.NoError(t, err, name)
	}
	later := slices.Concat(plain.bytes(), []byte{9 << 3, 1}, tag(nil, 10, []byte("later")))
	e, err := open(t, folder(t, stepsOf(plainFeatures), 1, recordsOf(later)), Options{Strict: true}).Episode(context.Background(), 0)
	require.NoError(t, err, "fields of a later version are passed over")
	assert.Len(t, e.Streams, 3)
}

// all holds what a hostile dataset may cost: an error or episodes that are sound, no panic.
func all(t testing.TB, dir string, opt Options) {
	s, err := Open(context.Background(), dir, opt)
	if err != nil {
		_, isFormat := dataset.AsBroken(err)
		var bad *dataset.FormatError
		require.True(t, isFormat || asFormat(err, &bad), "%v", err)
		return
	}
	defer s.Close()
	for i := range s.Len() {
		e, err := s.Episode(context.Background(), i)
		if err != nil {
			var bad *dataset.FormatError
			require.True(t, asFormat(err, &bad), "%v", err)
			continue
		}
		require.False(t, opt.Strict && e.Notes.Damage() != nil)
		for _, st := range e.Streams {
			require.NoError(t, st.Check())
		}
		for _, m := range e.Media {
			if n := m.Len(); n > 0 {
				_, err := m.Frame(context.Background(), n-1)
				require.NoError(t, err)
			}
		}
	}
}

func TestEveryByteOfAShardMayBeWrong(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	features, err := readFeatures("testdata/kinds/features.json")
	require.NoError(t, err)
	for name, count := range map[string]int{"00000": 2, "00001": 3} {
		b := filetest.Read(t, "testdata/kinds/kinds-train.tfrecord-"+name+"-of-00002")
		for i := range b {
			for _, x := range []byte{0x01, 0x80, 0xff} {
				b[i] ^= x
				list, damage, err := index(context.Background(), bytes.NewReader(b), int64(len(b)))
				require.NoError(t, err)
				kept, whole := damage.LostBytes(), 0
				for _, r := range list {
					kept += headSize + r.size + tailSize
					data := b[r.at : r.at+r.size]
					if checksum(data) == binary.LittleEndian.Uint32(b[r.at+r.size:]) {
						whole++
						if x == 0xff && i%16 == 0 {
							sound(t, features, data)
						}
					}
				}
				require.Equal(t, int64(len(b)), kept, "each byte is in a record or in the damage")
				require.Equal(t, count-1, whole, "the record of byte %d is lost, and no other", i)
				b[i] ^= x
			}
		}
	}
}

func TestEveryByteOfWhatDescribesADatasetMayBeWrong(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	files := map[string]string{}
	list, err := filepath.Glob("testdata/kinds/*")
	require.NoError(t, err)
	for _, path := range list {
		b := filetest.Read(t, path)
		if strings.HasSuffix(path, ".json") { // as it is, without the white space
			var small bytes.Buffer
			require.NoError(t, json.Compact(&small, b))
			b = small.Bytes()
		}
		files[filepath.Base(path)] = string(b)
	}
	dir := write(t, files)
	data, err := open(t, dir, Options{}).shards[0].read(context.Background(), 0, nil)
	require.NoError(t, err)
	for _, name := range []string{infoFile, featuresFile} {
		path, b := filepath.Join(dir, name), []byte(files[name])
		for i := 0; i < len(b); i += thorough.Of(5, 1) {
			x := []byte{0x01, 0x80, 0xff}[i%3]
			b[i] ^= x
			filetest.Write(t, path, b)
			if name == infoFile {
				all(t, dir, Options{})
			} else if leaves, err := readFeatures(path); err == nil {
				sound(t, leaves, data)
			}
			b[i] ^= x
		}
		filetest.Write(t, path, b)
	}
}

// A wrong byte with a right checksum: what a program writes that is wrong itself.
func TestEveryByteOfARecordMayBeWrong(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	shard := filetest.Read(t, "testdata/kinds/kinds-train.tfrecord-00000-of-00002")
	features, err := readFeatures("testdata/kinds/features.json")
	require.NoError(t, err)
	data := shard[headSize : headSize+binary.LittleEndian.Uint64(shard)]
	for i := range data {
		for k, x := range []byte{0x01, 0x02, 0x80, 0xff} {
			if (i+k)%thorough.Of(4, 1) != 0 {
				continue
			}
			data[i] ^= x
			sound(t, features, data)
			data[i] ^= x
		}
	}
}

func TestSizesAreBoundedByTheFile(t *testing.T) {
	for _, n := range []uint64{1 << 20, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1<<64 - 16} {
		b := binary.LittleEndian.AppendUint64(nil, n)
		b = binary.LittleEndian.AppendUint32(b, checksum(b))
		b = slices.Concat(examples(1), b, make([]byte, 100))
		for _, file := range [][]byte{b, gzipped(b)} {
			s := open(t, folder(t, stepsOf(plainFeatures), 2, file), Options{})
			assert.Equal(t, []int{0}, rewards(t, s), n)
			assert.Equal(t, dataset.CodeRecordCut, s.Damage()[0].Code)
		}
	}
	dir := folder(t, stepsOf(plainFeatures), 1, nil)
	long := binary.LittleEndian.AppendUint64(nil, maxRecord+1)
	long = binary.LittleEndian.AppendUint32(long, checksum(long))
	filetest.Write(t, filepath.Join(dir, onlyShard), long)
	require.NoError(t, os.Truncate(filepath.Join(dir, onlyShard), headSize+maxRecord+1+tailSize)) // which takes no room on the disk
	_, err := open(t, dir, Options{}).Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrTooLarge)
	bomb := string(deflated(make([]byte, 8*maxColumns+1)))
	e, err := one(t, plainWith("x", encoded("zlib", "float64", -1)), plain.with(example{"steps/x": []string{bomb, bomb}}), Options{})
	require.NoError(t, err)
	require.Len(t, e.Notes.Damage(), 1)
	assert.ErrorIs(t, e.Notes.Damage()[0].Cause, dataset.ErrTooLarge)
	defer func(most int) { maxValues = most }(maxValues)
	maxValues = 15
	for width, damage := range map[int]int{7: 0, 8: 1} {
		item := string(deflated(make([]byte, width)))
		e, err = one(t, plainWith("x", encoded("zlib", "uint8", -1)), plain.with(example{"steps/x": []string{item, item}}), Options{})
		require.NoError(t, err)
		require.Len(t, e.Notes.Damage(), damage)
	}
}
