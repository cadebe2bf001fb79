package ulog

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

func parse(t *testing.T, w *build) *Log {
	t.Helper()
	log, err := Parse(w.b, Options{Strict: true})
	require.NoError(t, err)
	return log
}

func TestEveryKindOfMessageIsRead(t *testing.T) {
	log := parse(t, small().put('Z', "from a later version"))
	assert.Equal(t, 1, log.Version)
	assert.Equal(t, int64(1e6), log.Start)
	assert.Equal(t, "PX4", log.InfoValue("sys_name"))
	assert.Nil(t, log.InfoValue("no such"))
	assert.Equal(t, []MultiInfo{{"top", "char[2]", [][]byte{[]byte("ab")}}}, log.MultiInfo)
	assert.Equal(t, []Parameter{{"A", "int32_t", -7, 1e6}, {"A", "int32_t", 8, 3e6}}, log.Parameters)
	assert.Equal(t, []Default{{"B", "float", 0.5, true, false}}, log.Defaults)
	assert.Equal(t, []dataset.Dropout{{Time: 2e6, Duration: 65e6}}, log.Dropouts)
	assert.Equal(t, []Message{{2500e3, '6', false, 0, "hello"}, {2600e3, '4', true, 9, "tagged"}}, log.Messages)
	assert.Equal(t, 1, log.Syncs)
	assert.Equal(t, 1, log.Unknown)
	assert.Equal(t, []string{"pose"}, log.Unsubscribed)
	assert.Equal(t, []string{"pose", "pose_1"}, log.Names())
	v, ok := log.Parameter("A")
	assert.True(t, ok)
	assert.Equal(t, -7.0, v)
}

func TestEveryFieldTypeAsAScalarAndAsAnArray(t *testing.T) {
	narrow := []struct {
		typ    string
		values []any
		want   []float64
	}{
		{"int8_t", []any{int8(-128), int8(127)}, []float64{-128, 127}},
		{"uint8_t", []any{uint8(0), uint8(255)}, []float64{0, 255}},
		{"int16_t", []any{int16(-32768), int16(32767)}, []float64{-32768, 32767}},
		{"uint16_t", []any{uint16(0), uint16(65535)}, []float64{0, 65535}},
		{"float", []any{float32(1.1), float32(-3e38)}, []float64{float64(float32(1.1)), float64(float32(-3e38))}},
		{"bool", []any{true, false}, []float64{1, 0}},
		{"char", []any{"A", "\xff"}, []float64{65, 255}},
	}
	wide := []struct {
		typ    string
		values []any
		want   []float64
	}{
		{"int32_t", []any{int32(math.MinInt32), int32(math.MaxInt32)}, []float64{math.MinInt32, math.MaxInt32}},
		{"uint32_t", []any{uint32(0), uint32(math.MaxUint32)}, []float64{0, math.MaxUint32}},
		{"int64_t", []any{int64(math.MinInt64), int64(1 << 53)}, []float64{math.MinInt64, 1 << 53}},
		{"uint64_t", []any{uint64(1) << 63, uint64(1<<53 - 1)}, []float64{1 << 63, 1<<53 - 1}},
		{"double", []any{1.1, math.Inf(-1)}, []float64{1.1, math.Inf(-1)}},
	}
	for i, group := range [][]struct {
		typ    string
		values []any
		want   []float64
	}{narrow, wide} {
		for _, c := range group {
			w := newBuild(0, 0).format("t:uint64_t timestamp;"+c.typ+" one;"+c.typ+"[2] two;").subscribe(0, 3, "t")
			w.data(3, uint64(5), c.values[0], c.values[0], c.values[1])
			log := parse(t, w)
			require.Len(t, log.Streams, 1)
			s := log.Streams[0]
			integer := c.typ != "float" && c.typ != "double"
			assert.Equal(t, []dataset.Column{{Name: "one", Type: c.typ, Integer: integer}, {Name: "two[0]", Type: c.typ, Integer: integer}, {Name: "two[1]", Type: c.typ, Integer: integer}}, s.Columns)
			assert.Equal(t, []tensor.DType{tensor.F32, tensor.F64}[i], s.Values.DType(), c.typ)
			assert.Equal(t, []float64{c.want[0], c.want[0], c.want[1]}, float64s(t, s.Values), c.typ)
			assert.Equal(t, []int64{5000}, s.Nanoseconds())
			assert.Zero(t, s.Inexact)
		}
	}
}

func TestIntegersThatF64CannotHoldAreCounted(t *testing.T) {
	w := newBuild(0, 0).format("t:uint64_t timestamp;uint64_t a;int64_t b;").subscribe(0, 0, "t")
	w.data(0, uint64(1), uint64(1<<53+1), int64(-(1<<53)-1))
	w.data(0, uint64(2), uint64(1<<53+2), int64(math.MinInt64))
	w.data(0, uint64(3), uint64(math.MaxUint64), int64(math.MaxInt64))
	assert.Equal(t, 4, parse(t, w).Streams[0].Inexact)
}

func TestNestedTypesFlattenAndPaddingIsLeftOut(t *testing.T) {
	w := newBuild(1, 0).format("esc_status:uint8_t n;uint8_t[3] _padding0;esc[2] esc;uint64_t timestamp;inner last;uint8_t[5] _padding1;")
	w.format("esc:uint64_t timestamp;int16_t rpm;inner in;uint8_t _padding0;")
	w.format("inner:float v;uint8_t[3] _padding0;")
	pad3 := []byte{9, 9, 9}
	w.subscribe(0, 7, "esc_status")
	for range 2 { // once with the padding of the last nested type, and once with everything
		w.data(7, uint8(2), pad3, uint64(11), int16(-5), float32(1), pad3, uint8(9), uint64(12), int16(6), float32(2), pad3, uint8(9), uint64(77), float32(3))
		w.data(7, uint8(2), pad3, uint64(11), int16(-5), float32(1), pad3, uint8(9), uint64(12), int16(6), float32(2), pad3, uint8(9), uint64(78), float32(3), pad3, "12345")
	}
	s := parse(t, w).Stream("esc_status")
	require.NotNil(t, s)
	var names []string
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	assert.Equal(t, []string{"n", "esc[0].timestamp", "esc[0].rpm", "esc[0].in.v", "esc[1].timestamp", "esc[1].rpm", "esc[1].in.v", "last.v"}, names)
	assert.Equal(t, []int64{77000, 78000, 77000, 78000}, s.Nanoseconds())
	assert.Equal(t, []float64{2, 11, -5, 1, 12, 6, 2, 3}, float64s(t, s.Values)[:8])
	assert.Equal(t, 2, s.Column("esc[0].rpm"))
	assert.Equal(t, -1, s.Column("rpm"))
}

func TestInstancesAreNumberedAndStreamsKeepTheOrderOfSubscription(t *testing.T) {
	w := newBuild(0, 0)
	for _, name := range []string{"a", "a_1", "b"} {
		w.format(name + ":uint64_t timestamp;float x;")
	}
	w.subscribe(2, 5, "b").subscribe(1, 6, "a").subscribe(0, 7, "a_1").subscribe(0, 8, "a").subscribe(0, 9, "b")
	for _, id := range []uint16{8, 7, 6, 5} {
		w.data(id, uint64(id), float32(id))
	}
	log := parse(t, w)
	assert.Equal(t, []string{"b_2", "a_1_1", "a_1", "a"}, log.Names())
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNoSamples, Subject: "b"}}, log.Notes)
	assert.Equal(t, []dataset.EmptyStream{{Name: "b", Columns: []dataset.Column{{Name: "x", Type: "float"}}}}, log.Empty)
	assert.Equal(t, []int64{6000}, log.Stream("a_1_1").Nanoseconds())
}

func TestASecondSubscriptionOfATopicContinuesItsStream(t *testing.T) {
	w := newBuild(0, 0).format("a:uint64_t timestamp;float x;").subscribe(0, 1, "a").data(1, uint64(1), float32(1))
	w.put('R', uint16(1)).subscribe(0, 2, "a").data(2, uint64(2), float32(2))
	s := parse(t, w).Stream("a")
	assert.Equal(t, []int64{1000, 2000}, s.Nanoseconds())
	assert.Equal(t, []float64{1, 2}, float64s(t, s.Values))
}

func TestShortTimestampsUnwrapAcrossDropouts(t *testing.T) {
	for _, c := range []struct {
		typ    string
		put    func(ns int64) any
		unit   int64
		period int64
	}{
		{"uint32_t", func(ns int64) any { return uint32(ns / 1000) }, 1e3, 1e3 << 32},
		{"uint16_t", func(ns int64) any { return uint16(ns / 1000) }, 1e3, 1e3 << 16},
		{"uint8_t", func(ns int64) any { return uint8(ns / 1e6) }, 1e6, 1e6 << 8},
	} {
		start := 7*c.period + 3*c.unit
		w := newBuild(0, uint64(start/1000)).format("a:"+c.typ+" timestamp;float x;").subscribe(0, 0, "a")
		now := start - c.unit // a first timestamp just before the file's start
		var want []int64
		for i := range 40 {
			w.data(0, c.put(now), float32(i))
			want = append(want, now)
			now += c.period / 7 / c.unit * c.unit
			if i == 20 {
				lost := min(2*c.period+c.period/3, 60e9) / 1e6 // ms
				w.put('O', uint16(lost))
				now += lost * 1e6
			}
		}
		assert.Equal(t, want, parse(t, w).Streams[0].Nanoseconds(), c.typ)
	}
}

func TestTopicsWithoutAClockAreCountedNotDropped(t *testing.T) {
	w := newBuild(0, 0).format("a:float x;").format("b:int64_t timestamp;float x;").format("c:uint64_t[2] timestamp;")
	for i, name := range []string{"a", "b", "c"} {
		w.subscribe(0, uint16(i), name)
	}
	w.data(0, float32(1)).data(0, float32(1)).data(1, int64(1), float32(1)).data(2, uint64(1), uint64(2))
	log := parse(t, w)
	assert.Empty(t, log.Streams)
	require.Len(t, log.Notes, 3)
	assert.Equal(t, dataset.Note{Code: dataset.CodeNoTimestamps, Subject: "a", Count: 2}, log.Notes[0])
	assert.Equal(t, []string{"b", "c"}, []string{log.Notes[1].Subject, log.Notes[2].Subject})
}

func TestAnAppendedPartIsReadAndTheMessageItCutIsCounted(t *testing.T) {
	w := newBuild(1, 0)
	at := len(w.b) + messageHead
	w.put('B', flagBits(1)).format("a:uint64_t timestamp;float x;").subscribe(0, 0, "a").data(0, uint64(1), float32(1))
	cut := len(w.b)
	w.b = append(w.b, 14, 0, 'D', 0, 0, 1, 2)
	part := uint64(len(w.b))
	w.put('M', append([]any{uint8(0)}, keyed("char[5] hardfault", "stack")...)...)
	w.put('M', append([]any{uint8(1)}, keyed("char[2] hardfault", "!!")...)...)
	copy(w.b[at:], flagBits(part))
	log := parse(t, w)
	assert.Equal(t, "stack!!", string(log.MultiInfo[0].Values[0]))
	assert.Equal(t, []int64{1000}, log.Streams[0].Nanoseconds())
	assert.Equal(t, int64(7), log.Notes.LostBytes())
	require.Len(t, log.Notes.Damage(), 1)
	assert.Equal(t, dataset.CodeRecordInterrupted, log.Notes.Damage()[0].Code)
	assert.Equal(t, int64(cut), log.Notes.Damage()[0].Cause.(*dataset.FormatError).Offset)
	assert.ErrorIs(t, log.Notes.Damage()[0].Cause, dataset.ErrTruncated)

	_, err := Parse(w.b[:part-2], Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	log, err = Parse(w.b[:part-2], Options{})
	require.NoError(t, err)
	assert.NotNil(t, log.Notes.Damage())
	assert.Len(t, log.Streams, 1)
}

func TestALogCutAnywhereIsAnErrorAtThatPlaceOrAcceptedAndCounted(t *testing.T) {
	whole := small().b
	starts := map[int]bool{}
	for _, m := range messagesOf(whole) {
		starts[m.off], starts[m.end()] = true, true
	}
	for n := range whole {
		log, err := Parse(whole[:n], Options{Strict: true})
		if starts[n] {
			require.NoError(t, err, n)
			assert.Zero(t, log.Notes.LostBytes())
			continue
		}
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, n)
		assert.ErrorIs(t, err, dataset.ErrTruncated)
		assert.LessOrEqual(t, bad.Offset, int64(n))
		log, err = Parse(whole[:n], Options{})
		if n < headerSize {
			assert.Error(t, err)
			continue
		}
		require.NoError(t, err, n)
		assert.Positive(t, log.Notes.LostBytes())
		assert.Equal(t, int64(n), log.Notes.LostBytes()+bad.Offset)
		assert.NotNil(t, log.Notes.Damage())
	}
}

func TestOpenNamesTheFileAndReadEqualsIt(t *testing.T) {
	path := t.TempDir() + "/cut.ulg"
	filetest.Write(t, path, small().b[:100])
	_, err := ReadFile(path, Options{Strict: true})
	var bad *dataset.FormatError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, path, bad.Path)
	_, err = ReadFile(path+".none", Options{})
	assert.ErrorIs(t, err, os.ErrNotExist)
	log, err := Read(bytes.NewReader(small().b), Options{})
	require.NoError(t, err)
	assert.Equal(t, parse(t, small()), log)
}

func TestSampleCountsAroundTileSizes(t *testing.T) {
	for _, n := range []int{1, 2, 31, 32, 33, 127, 128, 129, 1000} {
		w := newBuild(0, 0).format("a:uint64_t timestamp;float x;").subscribe(0, 0, "a")
		for i := range n {
			w.data(0, uint64(i), float32(i))
		}
		s := parse(t, w).Streams[0]
		assert.Equal(t, []int{n, 1}, s.Values.Shape())
		assert.Equal(t, float64(n-1), float64s(t, s.Values)[n-1])
		assert.Equal(t, n, cap(s.Nanoseconds()), "allocated once")
	}
}

func BenchmarkParse(b *testing.B) {
	data := filetest.Read(b, "testdata/sample_log_small.ulg")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleReadFile() {
	log, err := ReadFile("testdata/sample_log_small.ulg", Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := log.Stream("vehicle_attitude")
	st := s.Stats()
	fmt.Println(s.Values)
	fmt.Printf("%d samples, %.0f Hz, %d gap of %d ms\n", st.Samples, st.Rate, st.Gaps, st.LongestGap/1e6)
	fmt.Println(s.Columns[s.Column("q[0]")])
	// Output:
	// f32 [1298,9] on host
	// 1298 samples, 205 Hz, 1 gap of 161 ms
	// {q[0] float false quaternion wxyz}
}
