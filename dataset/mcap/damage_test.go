package mcap

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Whatever a file's end is, the log has the messages before it, in order: of an uncompressed file all whole ones.
func TestAFileThatIsCutGivesWhatIsWhole(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, name := range []string{"zstd", "lz4", "uncompressed", "unchunked"} {
		opt := variants[name]
		t.Run(name, func(t *testing.T) {
			if opt.ChunkSize > 0 {
				opt.ChunkSize = 300
			}
			b, want := written(t, opt, 12)
			ctx := context.Background()
			before := 0
			for n := range len(b) {
				var damage dataset.Notes
				l, err := newLog(ctx, fileOf(b[:n]), "a.mcap", &damage)
				if n < len(Magic) {
					require.ErrorIs(t, err, dataset.ErrTruncated)
					continue
				}
				require.NoError(t, err)
				require.NotEmpty(t, damage, "cut at byte %d", n)
				var got []seen
				for part := range l.Parts() {
					require.NoError(t, l.Each(ctx, part, &damage, func(m topics.Message) error {
						got = append(got, seen{l.Channels()[m.Channel].Topic, m.Log, m.Publish, string(m.Data)})
						data, err := l.Message(ctx, m.At)
						if string(m.Data) != string(data) {
							t.Errorf("cut at byte %d: got %q again, want %q", n, data, m.Data)
						}
						return err
					}))
				}
				require.True(t, slices.Equal(want[:len(got)], got), "cut at byte %d", n)
				if opt.Compression == NoCompression || opt.Omit&OmitChunks != 0 {
					require.Equal(t, whole(b[:n]), len(got), "cut at byte %d", n)
				}
				require.GreaterOrEqual(t, len(got), before, "cut at byte %d", n)
				before = len(got)
			}
			assert.Equal(t, len(want), before)
		})
	}
}

// whole counts the messages that are all there of uncompressed bytes, in chunks or not.
func whole(b []byte) (n int) {
	for b = b[len(Magic):]; len(b) >= headSize; {
		op, size := recordHead(b)
		switch {
		case op == OpChunk:
			size = 8 + 8 + 8 + 4 + 4 + 8 // what is before its records, of no compression
		case op == OpMessage && size <= uint64(len(b)-headSize):
			n++
		}
		if b = b[headSize:]; size > uint64(len(b)) {
			break
		}
		b = b[size:]
	}
	return n
}

// place returns where the first record of an opcode is outside chunks, after skipping some of them.
func place(t *testing.T, b []byte, op Opcode, skip int) int {
	for at := len(Magic); at < len(b)-len(Magic); {
		got, n := recordHead(b[at:])
		if got == op {
			if skip == 0 {
				return at
			}
			skip--
		}
		at += headSize + int(n)
	}
	require.Fail(t, "no "+op.String())
	return 0
}

func TestAChunkWithAWrongCRCIsLostAndCounted(t *testing.T) {
	b, want := written(t, WriterOptions{Compression: NoCompression, ChunkSize: 1000}, 300)
	at := place(t, b, OpChunk, 1)
	_, n := recordHead(b[at:])
	b[at+headSize+int(n)-1] ^= 1
	_, got, damage := readLog(t, b)
	require.Len(t, damage, 1)
	assert.Equal(t, dataset.CodeChunkBroken, damage[0].Code)
	assert.Equal(t, 1, damage[0].Count)
	assert.EqualValues(t, headSize+n, damage[0].Bytes)
	require.ErrorIs(t, damage[0].Cause, dataset.ErrCorrupt)
	assert.EqualValues(t, at, damage[0].Cause.(*dataset.FormatError).Offset)
	assert.Equal(t, "a.mcap", damage[0].Cause.(*dataset.FormatError).Path)
	lost := len(want) - len(got)
	assert.InDelta(t, 24, lost, 8, "messages of a chunk")
	assert.Equal(t, want[len(want)-100:], got[len(got)-100:])
}

// remade returns a file of records, with its magics.
func remade(records ...Record) []byte {
	b := []byte(Magic)
	for _, r := range records {
		b = appendRecord(b, r)
	}
	return append(b, Magic...)
}

// packed returns an uncompressed chunk.
func packed(records ...Record) *Chunk {
	k := &Chunk{}
	for _, r := range records {
		k.Records = appendRecord(k.Records, r)
	}
	k.UncompressedSize = uint64(len(k.Records))
	return k
}

func TestDefinitionsAreFoundInOtherChunks(t *testing.T) {
	a, s := &Channel{ID: 0, SchemaID: 1, Topic: "/a", MessageEncoding: "ros1"}, &Schema{1, "pkg/Type", "ros1msg", []byte("float64 x")}
	m := func(id uint16, at uint64) *Message { return &Message{ChannelID: id, LogTime: at} }
	b := remade(&Header{}, packed(s, a, m(0, 1)), packed(m(0, 2), m(7, 3)), packed(m(0, 4)), packed(&Channel{ID: 7, SchemaID: 1, Topic: "/b"}, m(7, 5)), &DataEnd{}, &Footer{})
	ctx := context.Background()
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 1, 3, 0}} {
		var damage dataset.Notes
		l, err := newLog(ctx, fileOf(b), "", &damage)
		require.NoError(t, err)
		got := map[int64]string{}
		for _, part := range order {
			require.NoError(t, l.Each(ctx, part, &damage, func(m topics.Message) error {
				c := l.Channels()[m.Channel]
				got[m.Log] = c.Topic + " " + c.Schema.Name
				return nil
			}))
		}
		assert.Equal(t, map[int64]string{1: "/a pkg/Type", 2: "/a pkg/Type", 3: "/b pkg/Type", 4: "/a pkg/Type", 5: "/b pkg/Type"}, got)
		assert.Empty(t, damage)
		assert.Len(t, l.Channels(), 2)
	}
}

func TestADefinitionThatDiffersIsDamageAndItsMessagesAreItsOwn(t *testing.T) {
	m := func(at uint64) *Message { return &Message{ChannelID: 1, LogTime: at} }
	a, other := &Channel{ID: 1, Topic: "/a"}, &Channel{ID: 1, Topic: "/other"}
	b := remade(&Header{}, packed(a, m(1)), packed(other, m(2)), packed(m(3)), packed(a, m(4), other, m(5)), &DataEnd{}, &Footer{})
	_, got, damage := readLog(t, b)
	var list []string
	for _, s := range got {
		list = append(list, s.topic)
	}
	assert.Equal(t, []string{"/a", "/other", "/a", "/a", "/other"}, list)
	require.Len(t, damage, 1)
	assert.Equal(t, dataset.CodeTopicRedefined, damage[0].Code)
	assert.Equal(t, 1, damage[0].Count)
}

func TestMessagesOutsideChunksAreFoundBesideAnIndex(t *testing.T) {
	b, want := written(t, WriterOptions{Compression: NoCompression, ChunkSize: 1000}, 100)
	more := appendRecord(appendRecord(nil, &Channel{ID: 9, Topic: "/more"}), &Message{ChannelID: 9, LogTime: 5, Data: []byte("x")})
	for _, where := range []Opcode{OpChunk, OpAttachment, OpDataEnd} {
		at := place(t, b, where, 0)
		c := slices.Insert(bytes.Clone(b), at, more...)
		// The index moves with what it is of.
		c = shifted(t, c, at, len(more))
		l, got, damage := readLog(t, c)
		assert.Empty(t, damage, where)
		assert.Len(t, got, len(want)+1, where)
		assert.Contains(t, got, seen{"/more", 5, 0, "x"})
		assert.Contains(t, l.Channels(), topics.Channel{Topic: "/more", Metadata: map[string]string{}})
	}
}

// shifted mends the offsets of a file into which n bytes were put at a place, and takes the CRCs away.
func shifted(t *testing.T, b []byte, at, n int) []byte {
	move := func(x *uint64) {
		if *x >= uint64(at) {
			*x += uint64(n)
		}
	}
	return edited(t, b, func(r Record) {
		switch x := r.(type) {
		case *ChunkIndex:
			move(&x.ChunkStart)
		case *Footer:
			move(&x.SummaryStart)
			move(&x.SummaryOffsetStart)
		}
	})
}

// edited returns a file with edited records from its DataEnd on, without the CRCs of the sections.
func edited(t *testing.T, b []byte, edit func(r Record)) []byte {
	at := place(t, b, OpDataEnd, 0)
	out := bytes.Clone(b[:at])
	for at < len(b)-len(Magic) {
		r, size, err := nextRecord(b[at:], at)
		require.NoError(t, err)
		switch x := r.(type) {
		case *DataEnd:
			x.DataSectionCRC = 0
		case *Footer:
			x.SummaryCRC = 0
		}
		edit(r)
		out, at = appendRecord(out, r), at+size
	}
	return append(out, Magic...)
}

func TestAnIndexThatLiesIsNotBelieved(t *testing.T) {
	for name, lie := range map[string]func(x *ChunkIndex){
		"elsewhere":   func(x *ChunkIndex) { x.ChunkStart++ },
		"too long":    func(x *ChunkIndex) { x.ChunkLength += 1 << 40 },
		"too short":   func(x *ChunkIndex) { x.ChunkLength -= 20 },
		"before all":  func(x *ChunkIndex) { x.ChunkStart = 0 },
		"behind all":  func(x *ChunkIndex) { x.ChunkStart = 1 << 63 },
		"index moved": func(x *ChunkIndex) { x.MessageIndexLength += 5000 },
	} {
		b, want := written(t, WriterOptions{Compression: NoCompression, ChunkSize: 1000}, 100)
		_, got, damage := readLog(t, edited(t, b, func(r Record) {
			if x, is := r.(*ChunkIndex); is {
				lie(x)
			}
		}))
		assert.Equal(t, want, got, name)
		if name != "index moved" { // the lengths of message indexes do not matter
			require.Len(t, damage, 1, name)
			assert.Equal(t, dataset.CodeIndexBroken, damage[0].Code)
		}
	}
}

func TestASummaryThatIsBrokenCostsTheIndexOnly(t *testing.T) {
	b, want := written(t, WriterOptions{ChunkSize: 1000}, 100)
	b[place(t, b, OpStatistics, 0)+20] ^= 1
	_, got, damage := readLog(t, b)
	assert.Equal(t, want, got)
	require.Len(t, damage, 1)
	assert.Contains(t, fmt.Sprint(damage), "CRC of the summary section")

	b, want = written(t, WriterOptions{ChunkSize: 1000, Omit: OmitCRC}, 100)
	le.PutUint64(b[len(b)-len(Magic)-20:], uint64(len(b)+1)) // the footer's summary start
	_, got, damage = readLog(t, b)
	assert.Equal(t, want, got)
	assert.Len(t, damage, 1)
}

func TestRecordsThatHaveNoNameAreSkipped(t *testing.T) {
	private, reserved := &unknown{0x80, []byte("ours")}, &unknown{0x42, []byte("of a later version")}
	a, m := &Channel{ID: 0, Topic: "/a"}, &Message{LogTime: 1, Data: []byte("x")}
	b := remade(&Header{}, private, packed(private, a, reserved, m), reserved, m, private, &DataEnd{}, &Footer{})
	_, got, damage := readLog(t, b)
	assert.Empty(t, damage)
	assert.Equal(t, []seen{{"/a", 1, 0, "x"}, {"/a", 1, 0, "x"}}, got)
	var codes []Opcode
	list, err := readRecords(b)
	require.NoError(t, err)
	for _, record := range list {
		if u, is := record.(*unknown); is {
			codes = append(codes, u.Code)
		}
	}
	assert.Equal(t, []Opcode{0x80, 0x80, 0x42, 0x42, 0x80}, codes)
}

func TestWhatIsBrokenCostsItself(t *testing.T) {
	a, m := &Channel{ID: 0, Topic: "/a"}, &Message{LogTime: 1, Data: []byte("x")}
	late := &Message{LogTime: 1 << 63}
	for i, c := range []struct {
		code    dataset.Code
		records []Record
	}{
		{dataset.CodeMessageShort, []Record{packed(a, m, &unknown{OpMessage, make([]byte, 21)}, m)}},
		{dataset.CodeTimeOverflow, []Record{packed(a, m, late, m)}},
		{dataset.CodeMessageWithoutTopic, []Record{packed(a, m, &Message{ChannelID: 3}), m}},
		{dataset.CodeRecordBroken, []Record{packed(a, m, &Schema{}), m}},
		{dataset.CodeRecordMisplaced, []Record{packed(a, m, &unknown{OpDataEnd, make([]byte, 4)}, m)}},
		{dataset.CodeNoRecords, []Record{packed(a, m, &unknown{0x80, nil}), m}},
		{dataset.CodeNoRecords, []Record{packed(a, m), m, &unknown{0, make([]byte, 20)}}},
		{dataset.CodeRecordBroken, []Record{packed(a, m), &unknown{OpAttachment, make([]byte, 20)}, m}},
		{dataset.CodeRecordBroken, []Record{packed(a, m), &unknown{OpMetadata, make([]byte, 5)}, m}},
		{dataset.CodeChunkBroken, []Record{packed(a, m), m, &unknown{OpChunk, make([]byte, 5)}}},
	} {
		what, records := c.code, c.records
		if i == 5 { // the length of the record that follows
			k := records[0].(*Chunk)
			le.PutUint64(k.Records[len(k.Records)-8:], 1<<50)
		}
		b := remade(append(append([]Record{&Header{}}, records...), &DataEnd{}, &Footer{})...)
		_, got, damage := readLog(t, b)
		assert.Equal(t, []seen{{"/a", 1, 0, "x"}, {"/a", 1, 0, "x"}}, got, what)
		require.Len(t, damage, 1, fmt.Sprint(what, damage))
		assert.Equal(t, what, damage[0].Code)
		assert.Equal(t, 1, damage[0].Count)
		assert.NotNil(t, damage[0].Cause)
	}
}

func TestChunksThatSayTooMuchAreRefusedBeforeMemoryIsTaken(t *testing.T) {
	a, m := &Channel{ID: 0, Topic: "/a"}, &Message{LogTime: 1}
	for _, compression := range []string{"", "zstd", "lz4"} {
		k := packed(a, m)
		k.Compression, k.UncompressedSize = compression, 1<<40
		_, got, damage := readLog(t, remade(&Header{}, k, &DataEnd{}, &Footer{}))
		assert.Empty(t, got)
		require.Len(t, damage, 1)
		require.ErrorIs(t, damage[0].Cause, dataset.ErrTooLarge, compression)
	}
	k := packed(a, m)
	k.Compression = "snappy"
	var damage dataset.Notes
	l, err := newLog(context.Background(), fileOf(remade(&Header{}, k, &DataEnd{}, &Footer{})), "", &damage)
	require.NoError(t, err)
	err = l.Each(context.Background(), 0, &damage, nil)
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.Contains(t, err.Error(), `got "snappy", want "", lz4 or zstd`)
}

// Which of the chunks it is does not matter: the index tells where the others are.
func TestAChunkOfABrokenLengthCostsItselfOnly(t *testing.T) {
	for i := range 5 {
		b, want := written(t, WriterOptions{Compression: NoCompression, ChunkSize: 1000}, 100)
		whole, _, _ := readLog(t, b)
		lost := 0
		require.NoError(t, whole.Each(context.Background(), i, &dataset.Notes{}, func(topics.Message) error { lost++; return nil }))
		require.Positive(t, lost)
		le.PutUint64(b[place(t, b, OpChunk, i)+1:], 1<<62)
		_, got, damage := readLog(t, b)
		assert.Len(t, got, len(want)-lost, "chunk %d", i)
		require.Len(t, damage, 1)
		assert.Equal(t, dataset.CodeChunkBroken, damage[0].Code)
		assert.Positive(t, damage[0].Bytes)
	}
}

func TestAFileWithoutAnEndIsDamage(t *testing.T) {
	a, m := &Channel{ID: 0, Topic: "/a"}, &Message{LogTime: 1, Data: []byte("x")}
	_, got, damage := readLog(t, remade(&Header{}, packed(a, m), m, &Footer{}))
	assert.Len(t, got, 2)
	require.Len(t, damage, 1)
	assert.Equal(t, dataset.CodeNoDataEnd, damage[0].Code)

	b := remade(&Header{}, packed(a, m, m), &DataEnd{}, &Footer{})
	_, got, damage = readLog(t, b[:place(t, b, OpDataEnd, 0)-4])
	assert.Len(t, got, 1)
	assert.NotNil(t, damage.Find(dataset.CodeNotClosed))
	assert.NotNil(t, damage.Find(dataset.CodeChunkCut))
}
