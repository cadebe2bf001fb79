package ulog

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
)

// readBroken reads a log, and checks that each byte after the header is in a message that was taken or in the damage.
func readBroken(t *testing.T, data []byte) *Log {
	t.Helper()
	p := &parser{file: inMemory(data)}
	log, err := p.parse()
	require.NoError(t, err)
	require.Equal(t, int64(len(data)), headerSize+int64(p.taken)+log.Notes.LostBytes(), "bytes taken and lost: %v", log.Notes.Damage())
	return log
}

func TestOneBadMessageOfFiftyCostsItself(t *testing.T) {
	for name, want := range map[string]dataset.Note{
		"bad_length": {Code: dataset.CodeMessageShort, Count: 1, Detail: dataset.Detail{Bytes: 21}},
		"bad_key":    {Code: dataset.CodeRecordBroken, Count: 1, Detail: dataset.Detail{Bytes: 21}},
	} {
		path := "testdata/" + name + ".ulg"
		log, err := ReadFile(path, Options{})
		require.NoError(t, err)
		require.Len(t, log.Notes.Damage(), 1, name)
		got := log.Notes.Damage()[0]
		assert.Equal(t, path, got.Cause.(*dataset.FormatError).Path)
		got.Cause = nil
		assert.Equal(t, want, got)
		var times []int64
		var values []float64
		for i := range 50 {
			times, values = append(times, int64(i+1)*1e8), append(values, float64(i))
		}
		assert.Equal(t, times, log.Stream("a").Nanoseconds(), name)
		assert.Equal(t, values, float64s(t, log.Stream("a").Values), name)
		_, err = ReadFile(path, Options{Strict: true})
		assert.ErrorIs(t, err, dataset.ErrCorrupt)
	}
}

func TestABrokenMessageCostsItselfAndIsCounted(t *testing.T) {
	const lengths, ids, stretch = dataset.CodeMessageShort, dataset.CodeMessageWithoutTopic, dataset.CodeNoRecords
	cases := []struct {
		name string
		put  func(w *build) // one broken message
		what dataset.Code
		says string
	}{
		{"data too short", func(w *build) { w.data(0, uint64(9), uint16(0)) }, lengths, "got 10 bytes, want 12"},
		{"data too long", func(w *build) { w.data(0, uint64(9), uint64(0)) }, lengths, "got 16 bytes, want 12"},
		{"data without id", func(w *build) { w.put('D', uint8(0)) }, lengths, "at least 2"},
		{"unknown id", func(w *build) { w.data(9, uint64(9), float32(9)) }, ids, "message id 9"},
		{"unsubscribed id", func(w *build) { w.data(1, uint64(9), float32(9)) }, ids, "message id 1"},
		{"wild timestamp", func(w *build) { w.data(0, uint64(1<<60), float32(0)) }, dataset.CodeTimeOverflow, "2^62"},
		{"field twice", func(w *build) { w.data(2, make([]byte, 16)) }, dataset.CodeMessageFormat, "twice"},
		{"format without fields", func(w *build) { w.format("c:") }, dataset.CodeRecordBroken, "at least one"},
		{"another definition", func(w *build) { w.format("a:float x;") }, dataset.CodeRecordBroken, "another definition"},
		{"subscription without format", func(w *build) { w.subscribe(0, 7, "nothing") }, dataset.CodeRecordBroken, "defined"},
		{"subscription that is no text", func(w *build) { w.subscribe(0, 7, "no thing") }, dataset.CodeRecordBroken, "defined"},
		{"short subscription", func(w *build) { w.put('A', uint8(0), uint16(0)) }, dataset.CodeRecordBroken, "at least 4"},
		{"second id", func(w *build) { w.subscribe(0, 3, "e") }, dataset.CodeRecordBroken, "which has id 4"},
		{"unsubscription of nothing", func(w *build) { w.put('R', uint16(5)) }, dataset.CodeRecordBroken, "message id 5"},
		{"unsubscription of a byte", func(w *build) { w.put('R', uint8(5)) }, dataset.CodeRecordBroken, "want 2"},
		{"information too short", func(w *build) { w.put('I', keyed("uint32_t n", uint16(0))...) }, dataset.CodeRecordBroken, "uint32_t"},
		{"key beyond its message", func(w *build) { w.put('I', uint8(200), "char x") }, dataset.CodeRecordBroken, "a key"},
		{"multiple information of nothing", func(w *build) { w.put('M') }, dataset.CodeRecordBroken, "at least 1"},
		{"parameter without type", func(w *build) { w.put('P', keyed("name", float32(0))...) }, dataset.CodeRecordBroken, "a type"},
		{"parameter of another type", func(w *build) { w.put('P', keyed("double x", 1.0)...) }, dataset.CodeRecordBroken, "int32_t or float"},
		{"default of nothing", func(w *build) { w.put('Q') }, dataset.CodeRecordBroken, "at least 1"},
		{"short text", func(w *build) { w.put('L', "6") }, dataset.CodeRecordBroken, "at least 9"},
		{"text of no level", func(w *build) { w.put('L', uint8(6), uint64(1), "x") }, dataset.CodeRecordBroken, "'0' to '7'"},
		{"text of no time", func(w *build) { w.put('C', "5ab12345678") }, dataset.CodeRecordBroken, "2^62"},
		{"synchronisation", func(w *build) { w.put('S', "12345678") }, dataset.CodeRecordBroken, "2f 73"},
		{"dropout", func(w *build) { w.put('O', uint8(1)) }, dataset.CodeRecordBroken, "want 2"},
		{"late flags", func(w *build) { w.put('B', flagBits()) }, dataset.CodeRecordBroken, "first message"},
		{"no message", func(w *build) { w.b = append(w.b, make([]byte, 100)...) }, stretch, "a letter"},
		{"no message, of many letters", func(w *build) { w.b = append(w.b, []byte("nomessageofmanyletters")...) }, stretch, "messages begin at byte"},
	}
	start := func() *build {
		w := newBuild(1, 0).format("a:uint64_t timestamp;float x;").format("b:uint64_t timestamp;float x;").format("d:uint64_t timestamp;float x;float x;")
		return w.subscribe(0, 0, "a").subscribe(0, 1, "b").subscribe(0, 2, "d").format("e:char c;").subscribe(0, 4, "e").put('R', uint16(1))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := start()
			for i := range 3 {
				w.data(0, uint64(i), float32(i))
			}
			w.put('S', syncMagic) // nothing before it is in doubt
			from := len(w.b)
			c.put(w)
			size := len(w.b) - from
			for i := range 3 {
				w.data(0, uint64(3+i), float32(3+i))
			}
			log := readBroken(t, w.b)
			require.Len(t, log.Notes.Damage(), 1, "%v", log.Notes.Damage())
			d := log.Notes.Damage()[0]
			assert.Equal(t, c.what, d.Code)
			assert.Equal(t, 1, d.Count)
			assert.Equal(t, int64(size), d.Bytes)
			assert.Contains(t, d.Cause.Error(), c.says)
			if c.what != dataset.CodeMessageFormat { // there the definition is to blame
				assert.GreaterOrEqual(t, d.Cause.(*dataset.FormatError).Offset, int64(from))
				assert.Less(t, d.Cause.(*dataset.FormatError).Offset, int64(from+size+messageHead))
			}
			assert.Equal(t, []int64{0, 1000, 2000, 3000, 4000, 5000}, log.Stream("a").Nanoseconds())
			assert.Equal(t, []float64{0, 1, 2, 3, 4, 5}, float64s(t, log.Stream("a").Values))
			_, err := Parse(w.b, Options{Strict: true})
			assert.Error(t, err)
		})
	}
}

func TestWhatIsOddButRightIsNoDamage(t *testing.T) {
	for name, put := range map[string]func(w *build){
		"a text that ends with zero":        func(w *build) { w.put('L', uint8('6'), uint64(1), "text\x00") },
		"an empty text":                     func(w *build) { w.put('C', uint8('6'), uint16(1), uint64(1)) },
		"information of a type of its own":  func(w *build) { w.put('I', keyed("thing t", "12345")...) },
		"parts of another length":           func(w *build) { w.put('M', append([]any{uint8(0)}, keyed("char[5] t", "123")...)...) },
		"a format without a last semicolon": func(w *build) { w.format("b:float x") },
		"an empty message of a later kind":  func(w *build) { w.put('z') },
		"many of a later kind":              func(w *build) { w.put('Z', "1").put('Z', "22").put('Z', "333").put('y') },
		"a subscription given again":        func(w *build) { w.subscribe(0, 0, "a") },
	} {
		w := newBuild(1, 0).format("a:uint64_t timestamp;float x;").subscribe(0, 0, "a")
		put(w)
		for i := range 3 {
			w.data(0, uint64(i), float32(i))
			put(w)
		}
		strict, err := Parse(w.b, Options{Strict: true})
		require.NoError(t, err, name)
		log := readBroken(t, w.b)
		assert.Nil(t, log.Notes.Damage(), name)
		assert.Equal(t, strict, log, name)
		assert.Equal(t, []int64{0, 1000, 2000}, log.Stream("a").Nanoseconds(), name)
	}
}

func TestMessagesThatFollowEachOtherAreCountedOneByOne(t *testing.T) {
	w := newBuild(1, 0).format("a:uint64_t timestamp;float x;").format("b:uint64_t times tamp;float x;").subscribe(0, 0, "a").subscribe(0, 1, "b")
	w.subscribe(0, 2, "c").data(0, uint64(1), float32(1))
	for i := range 40 {
		w.data(1, uint64(i), float32(i))
	}
	w.data(2, uint64(1))
	log := readBroken(t, w.b)
	got := map[dataset.Code]int{}
	for _, d := range log.Notes.Damage() {
		got[d.Code] = d.Count
	}
	assert.Equal(t, map[dataset.Code]int{dataset.CodeRecordBroken: 3, dataset.CodeMessageWithoutTopic: 41}, got)
	assert.Equal(t, dataset.Notes{
		{Code: dataset.CodeBrokenDefinition, Subject: "b", Count: 40},
		{Code: dataset.CodeBrokenDefinition, Subject: "c", Count: 1},
	}, log.Notes.Of(dataset.ClassLeftOut))
	assert.Equal(t, []string{"a"}, log.Names())
}

func TestATopicOfWhichNothingCanBeReadSaysWhy(t *testing.T) {
	w := newBuild(1, 0).format("a:uint64_t timestamp;nothing x;").format("b:uint64_t timestamp;float x;").subscribe(0, 0, "a").subscribe(0, 1, "b")
	w.data(0, uint64(1), uint32(0)).data(0, uint64(2), uint32(0)).data(1, uint64(1)).data(1, uint64(2))
	assert.Equal(t, dataset.Notes{
		{Code: dataset.CodeBrokenDefinition, Subject: "a", Count: 2},
		{Code: dataset.CodeUnreadSamples, Subject: "b", Count: 2},
	}, readBroken(t, w.b).Notes.Of(dataset.ClassLeftOut))
}

func TestDataOfAnIdThatTwoTopicsClaimIsNobodys(t *testing.T) {
	formats := func() *build {
		return newBuild(1, 0).format("a:uint64_t timestamp;float x;").format("b:uint64_t timestamp;float x;")
	}
	w := formats().subscribe(0, 0, "a").data(0, uint64(1), float32(1)).subscribe(0, 0, "b").data(0, uint64(2), float32(2))
	w.subscribe(0, 0, "a").data(0, uint64(3), float32(3)).subscribe(0, 5, "b").data(5, uint64(4), float32(4))
	log := readBroken(t, w.b)
	assert.Equal(t, []int64{1000}, log.Stream("a").Nanoseconds())
	assert.Equal(t, []int64{4000}, log.Stream("b").Nanoseconds())
	require.Len(t, log.Notes.Damage(), 2)
	assert.Equal(t, 2, log.Notes.Damage()[0].Count)
	assert.Equal(t, 2, log.Notes.Damage()[1].Count)

	w = formats().subscribe(0, 0, "a").subscribe(0, 0, "b").data(0, uint64(2), float32(2))
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeTwoTopics, Subject: "a"}, {Code: dataset.CodeTwoTopics, Subject: "b"}}, readBroken(t, w.b).Notes.Of(dataset.ClassLeftOut))

	w = formats().subscribe(0, 0, "a").subscribe(0, 1, "a").data(0, uint64(1), float32(1)).data(1, uint64(2), float32(2))
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeTwoIDs, Subject: "a"}}, readBroken(t, w.b).Notes.Of(dataset.ClassLeftOut))
}

func TestASubscriptionThatWasCutIsNotAnotherTopics(t *testing.T) {
	w := newBuild(1, 0).format("a:uint64_t timestamp;float x;").format("a_fast:uint64_t timestamp;float x;")
	at := len(w.b)
	w.subscribe(0, 0, "a_fast")
	for i := range 5 {
		w.data(0, uint64(i), float32(i))
	}
	w.b[at] = 4 // the subscription now ends after "a"
	log := readBroken(t, w.b)
	assert.Empty(t, log.Streams)
	assert.NotNil(t, log.Notes.Damage())
}

func TestAWildTimestampMovesNoOtherTime(t *testing.T) {
	const year = 365 * 24 * 3600 * 1000000
	w := newBuild(1, 0).format("a:uint64_t timestamp;float x;").format("n:uint32_t timestamp;float x;").subscribe(0, 0, "a").subscribe(0, 1, "n")
	w.data(0, uint64(1000), float32(0)).data(0, uint64(30*year), float32(0)).put('O', uint16(1))
	w.put('P', keyed("int32_t A", int32(1))...).data(1, uint32(2000), float32(0)).data(0, uint64(3000), float32(0))
	log := readBroken(t, w.b)
	assert.Nil(t, log.Notes.Damage())
	assert.Equal(t, []int64{1e6, 30 * year * 1000, 3e6}, log.Stream("a").Nanoseconds())
	assert.Equal(t, []int64{2e6}, log.Stream("n").Nanoseconds())
	assert.Equal(t, int64(1e6), log.Dropouts[0].Time)
	assert.Equal(t, int64(1e6), log.Parameters[0].Time)

	// Two of them say that the clock did move.
	w.data(0, uint64(2*year), float32(0)).data(0, uint64(2*year+5), float32(0)).put('P', keyed("int32_t A", int32(1))...)
	assert.Equal(t, int64(2*year+5)*1000, readBroken(t, w.b).Parameters[1].Time)
}

func TestALogOfNothingThatCanBeReadIsAnEpisodeWithDamage(t *testing.T) {
	for _, body := range [][]byte{{0}, make([]byte, 1000), []byte("nothing of this is a message, and there is no other")} {
		w := newBuild(1, 1<<63)
		w.b = append(w.b, body...)
		log := readBroken(t, w.b)
		assert.Empty(t, log.Streams)
		assert.Len(t, log.Notes.Damage(), 2)
		assert.Equal(t, dataset.CodeTimeOverflow, log.Notes.Damage()[0].Code)
		assert.Equal(t, int64(len(body)), log.Notes.LostBytes())
		_, err := Parse(w.b, Options{Strict: true})
		assert.Error(t, err)
	}
}

func TestAppendedPartsThatAreNotThereAreCounted(t *testing.T) {
	for _, parts := range [][]uint64{{3}, {1 << 40}, {130, 60}} {
		w := newBuild(1, 0).put('B', flagBits(parts...)).format("a:uint64_t timestamp;float x;").subscribe(0, 0, "a")
		for i := range 10 {
			w.data(0, uint64(i), float32(i))
		}
		log := readBroken(t, w.b)
		assert.Equal(t, dataset.CodePartMisplaced, log.Notes.Damage()[0].Code)
		assert.GreaterOrEqual(t, len(log.Stream("a").Nanoseconds()), 8)
	}
}

// Reading again at each byte would take minutes for these; they take some milliseconds.
func TestTimeGrowsWithTheFile(t *testing.T) {
	size := thorough.Of(1, 4) << 19
	w := func() *build {
		return newBuild(1, 0).format("a:uint64_t timestamp;uint8_t[60000] x;").subscribe(0, 0x4141, "a")
	}
	fill := func(w *build, unit string) []byte {
		for len(w.b) < size {
			w.b = append(w.b, unit...)
		}
		return w.b
	}
	random := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, size)
	_, _ = random.Read(noise)
	cases := map[string][]byte{
		"long texts":          fill(w(), "\xff\xffL6\x00\x00\x00\x00\x00\x00\x00\x00"),
		"long texts, dense":   fill(w(), "\xff\xffL"),
		"long formats":        fill(w(), "\xff\xffF:;"),
		"fields":              fill(w(), "\xff\x7fFa:b c;"),
		"long subscriptions":  fill(w(), "\xff\xffA"),
		"keys":                fill(w(), "\xff\x40P\xffchar x"),
		"data":                fill(w(), "\x6a\xeaDAA"),
		"data that is short":  fill(w(), "\x02\x00DAA"),
		"letters":             fill(w(), "Z"),
		"subscribed letters":  fill(w(), "D"),
		"nothing":             fill(w(), "\x00"),
		"heads of nothing":    fill(w(), "\x00\x00Z"),
		"dropouts":            fill(w(), "\x02\x00O\x01\x00"),
		"dropouts and a flaw": fill(w(), "\x02\x00O\x01\x00\x02\x00O\x01\x00\x00"),
		"half of a sync":      fill(w(), "\x08\x00S\x2f\x73\x13\x20"),
		"data and a far end":  fill(w(), "\x03\x00DBB\x01\x03\x00DBB\x02\x03\x00DBB\x03\xf0\xffM"),
		"noise":               append(w().b, noise...),
	}
	for name, data := range cases {
		start := thorough.UserTime()
		readBroken(t, data[:len(data)/4])
		quarter := thorough.UserTime() - start
		start = thorough.UserTime()
		readBroken(t, data)
		assert.Less(t, thorough.UserTime()-start, 10*quarter+time.Second, "%s: four times as long takes four times as long, not sixteen", name)
	}
}

// sampled maps each stream's samples, as bytes, to how often they are there.
func sampled(t *testing.T, log *Log) map[string]map[string]int {
	all := map[string]map[string]int{}
	for i := range log.Streams {
		s := &log.Streams[i]
		values, d := float64s(t, s.Values), s.Values.Dim(1)
		all[s.Name] = map[string]int{}
		for k, ns := range s.Nanoseconds() {
			key := binary.LittleEndian.AppendUint64(nil, uint64(ns))
			for _, v := range values[k*d : (k+1)*d] {
				key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
			}
			all[s.Name][string(key)]++
		}
	}
	return all
}

// compare counts the samples that each stream of whole has lost, and those of got, in streams of the same name, that whole does not have.
func compare(whole, got map[string]map[string]int) (lost map[string]int, strange int) {
	lost = map[string]int{}
	for name, samples := range whole {
		for k, n := range samples {
			lost[name] += max(0, n-got[name][k])
		}
		for k, n := range got[name] {
			strange += max(0, n-samples[k])
		}
	}
	return lost, strange
}

func sum(lost map[string]int) (n int) {
	for _, k := range lost {
		n += k
	}
	return n
}

func flight() *build {
	w := newBuild(1, 1000).put('B', flagBits())
	w.put('I', keyed("char[3] sys_name", "PX4")...).put('M', append([]any{uint8(0)}, keyed("char[2] top", "ab")...)...)
	w.format("pose:uint64_t timestamp;float[3] at;bool on;uint8_t[7] _padding0;").format("gyro:uint64_t timestamp;int16_t[3] rate;")
	w.format("battery:uint64_t timestamp;double volt;cell[2] cells;").format("cell:float v;uint8_t n;uint8_t[3] _padding0;")
	w.put('P', keyed("int32_t A", int32(-7))...).put('Q', append([]any{uint8(1)}, keyed("float B", float32(0.5))...)...)
	w.subscribe(0, 0, "pose").subscribe(0, 1, "gyro").subscribe(1, 2, "gyro").subscribe(0, 3, "battery")
	for i := range 12 {
		f, now := float32(i), uint64(2000+100*i)
		w.data(0, now, f+1, f+2, f+3, i%2 == 0).data(1, now+1, int16(i), int16(-i), int16(300)).data(2, now+2, int16(i), int16(i), int16(-300))
		switch i % 4 {
		case 0:
			w.put('S', syncMagic)
		case 1:
			w.put('L', uint8('6'), now+3, "all is well")
		case 2:
			w.put('O', uint16(5)).put('P', keyed("int32_t A", int32(i))...)
		}
		w.data(3, now+4, 12.5, f, uint8(1), "pad", f, uint8(2))
	}
	return w
}

func TestAByteThatChangedCostsAFewMessages(t *testing.T) {
	whole := flight().b
	log := readBroken(t, whole)
	require.Nil(t, log.Notes.Damage())
	want := sampled(t, log)
	kinds := make([]byte, len(whole)) // of the message that a byte is in
	for _, m := range messagesOf(whole) {
		for i := m.off; i < m.end(); i++ {
			kinds[i] = m.kind
		}
	}
	most := 0
	for i := 8; i < len(whole); i++ {
		for k, x := range []byte{0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff} {
			if (i+k)%thorough.Of(4, 1) != 0 {
				continue
			}
			data := slices.Clone(whole)
			data[i] ^= x
			if i >= headerSize+messageHead+8 && i < headerSize+messageHead+16 && !(i == 27 && x == 1) {
				_, err := Parse(data, Options{})
				require.ErrorIs(t, err, dataset.ErrUnsupported, "byte %d", i) // a flag that nobody knows
				continue
			}
			log := readBroken(t, data)
			lost, strange := compare(want, sampled(t, log))
			if kinds[i] != 'F' { // which may give other columns
				assert.LessOrEqual(t, strange, 1, "byte %d, of a message of type %q, xor %#x: %v", i, kinds[i], x, log.Notes.Damage())
			}
			if kinds[i] == 'F' || kinds[i] == 'A' {
				gone := 0
				for _, n := range lost {
					if n > 3 {
						gone++
					}
				}
				assert.LessOrEqual(t, gone, 2, "byte %d, of a message of type %q, xor %#x: %v, %v", i, kinds[i], x, lost, log.Notes.Damage())
				continue
			}
			most = max(most, sum(lost))
			assert.LessOrEqual(t, sum(lost), 3, "byte %d, of a message of type %q, xor %#x: %v", i, kinds[i], x, log.Notes.Damage())
			assert.LessOrEqual(t, log.Notes.LostBytes(), int64(200))
		}
	}
	t.Logf("at most %d samples of %d lost", most, 4*12)
}
