package topics

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

var lock sync.Mutex // of the learners

// Rows come in the order of log time, those of one time in file order, whatever parts they are in and whoever reads them first.
func TestStreamsAreInTheOrderOfLogTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	log := &fakeLog{channels: channelsOf("/b", "", "pair", "/a", "", "wide")}
	type row struct {
		time int64
		v    uint32
	}
	var want []row
	for n := range 40 {
		var part []Message
		for i := range random.IntN(300) {
			m := at(random.IntN(2), random.Int64N(500), 0, 0)
			binary.LittleEndian.PutUint16(m.Data, uint16(n*300+i)%0x7e7e)
			if m.Data[0] >= 0xfd || m.Data[1] >= 0xfd { // which break decoders
				continue
			}
			part = append(part, m)
			if m.Channel == 0 {
				want = append(want, row{m.Log, uint32(m.Data[0]) | uint32(m.Data[1])<<8})
			}
		}
		log.parts = append(log.parts, part)
	}
	slices.SortStableFunc(want, func(a, b row) int { return int(a.time - b.time) })
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	e := readAll(t, log, dataset.Options{})
	assert.Equal(t, []string{"/a", "/b"}, e.Names(), "by name")
	assert.Equal(t, tensor.F64, e.Streams[0].Values.DType())
	assert.Equal(t, e.Streams[0].Len(), e.Streams[0].Inexact)
	s := e.Stream("/b")
	got, times := values(t, s), s.Nanoseconds()
	require.Len(t, times, len(want))
	for i, w := range want {
		require.Equal(t, w, row{times[i], uint32(got[2*i]) | uint32(got[2*i+1])<<8}, i)
	}
}

func TestChannelsOfOneTypeAreOneStream(t *testing.T) {
	log := &fakeLog{
		channels: channelsOf("/x", "", "wide", "/x", "", "pair", "/x", "", "pair", "/none", "", "pair"),
		parts:    [][]Message{{at(1, 1, 1, 2)}, {at(2, 3, 3, 4), at(0, 2, 9)}, {at(1, 2, 5, 6)}},
	}
	log.channels[2].Schema.Data = []byte("other text, same fields")
	e := readAll(t, log, dataset.Options{})
	assert.Equal(t, []string{"/x", "/x (wide)"}, e.Names(), "the first message's type has the plain name")
	assert.Equal(t, []string{"pair", "wide"}, []string{e.Streams[0].Type, e.Streams[1].Type})
	assert.Equal(t, []float32{1, 2, 5, 6, 3, 4}, values(t, e.Stream("/x")))
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNoMessages, Subject: "/none"}, {Code: dataset.CodeBackSteps, Subject: "/x", Count: 1}}, e.Notes)
	assert.Equal(t, []dataset.EmptyStream{{Name: "/none", Columns: []dataset.Column{{Name: "a"}, {Name: "b"}}, DType: tensor.F32}}, e.Empty)
}

func TestAListOfOneLengthIsAStream(t *testing.T) {
	log := func(data ...string) *fakeLog {
		l := &fakeLog{channels: channelsOf("/l", "", "list")}
		for i, d := range data {
			l.parts = append(l.parts, []Message{at(0, int64(i), []byte(d)...)})
		}
		return l
	}
	e := readAll(t, log("j\x01\x02", "j\x03\x04"), dataset.Options{})
	assert.Equal(t, []float32{1, 2, 3, 4}, values(t, e.Stream("/l.data")))
	assert.Equal(t, []string{"j0", "j1"}, columnNames(e.Stream("/l.data")))
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeTextFields, Subject: "/l", Count: 2, Detail: dataset.Detail{Names: []string{"name"}}}}, e.Notes)

	e = readAll(t, log("u\x01\x02", "u", "u\x03\x04\x05"), dataset.Options{})
	assert.Nil(t, e.Stream("/l.data"))
	assert.Equal(t, dataset.Note{Code: dataset.CodeListLength, Subject: "/l.data", Count: 3, Detail: dataset.Detail{Got: "0 to 3"}}, e.Notes[0])

	e = readAll(t, log("j", "j"), dataset.Options{})
	assert.Equal(t, dataset.CodeNoElements, e.Notes[0].Code)

	long := string(make([]byte, maxWidth+2))
	e = readAll(t, log(long, long), dataset.Options{})
	assert.Equal(t, dataset.Detail{Got: "4097", Want: "4096", Unit: "numbers a message"}, e.Notes[0].Detail)

	l := log(long[:100])
	l.channels = channelsOf("/l", "", "bytes")
	e = readAll(t, l, dataset.Options{})
	assert.Equal(t, []any{dataset.CodeData, "99"}, []any{e.Notes[0].Code, e.Notes[0].Got})
}

func columnNames(s *dataset.Stream) (names []string) {
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	return names
}

func TestTheClockIsTheOneThatWasAskedFor(t *testing.T) {
	log := &fakeLog{
		channels: channelsOf("/h", "cdr", "pair", "/plain", "", "pair", "/zero", "cdr", "pair"),
		parts:    [][]Message{{at(0, 10, 8, 1), at(0, 5, 9, 2), at(1, 7, 0, 0), at(2, 3, 0, 0)}},
	}
	log.parts[0][3].Publish = 3
	for clock, want := range map[string][]int64{"": {5, 10}, "log": {5, 10}, "publish": {4, 9}, "header": {9000, 8000}} {
		e := readAll(t, log, dataset.Options{Clock: clock})
		assert.Equal(t, want, e.Stream("/h").Nanoseconds(), clock)
		assert.Equal(t, []float32{9, 2, 8, 1}, values(t, e.Stream("/h")), "in the order of log time, whatever the clock")
		switch clock {
		case "header":
			assert.Equal(t, []int64{7}, e.Stream("/plain").Nanoseconds())
			assert.Equal(t, []int64{3}, e.Stream("/zero").Nanoseconds())
			assert.Contains(t, e.Notes, dataset.Note{Code: dataset.CodeLogClock, Subject: "/plain"})
			assert.Contains(t, e.Notes, dataset.Note{Code: dataset.CodeHeaderTimeNone, Subject: "/zero"})
		case "publish":
			assert.Contains(t, e.Notes, dataset.Note{Code: dataset.CodePublishTimeNone, Subject: "/zero"})
		}
		assert.Subset(t, e.Notes, dataset.Notes{{Code: dataset.CodeHeaderFields, Subject: "/h"}, {Code: dataset.CodeHeaderFields, Subject: "/zero"}})
	}
}

func TestSomeTimestampsOfZeroAreSaid(t *testing.T) {
	log := &fakeLog{channels: channelsOf("/h", "cdr", "pair"), parts: [][]Message{{at(0, 1, 0, 1), at(0, 2, 3, 1)}}}
	e := readAll(t, log, dataset.Options{Clock: "header"})
	assert.Equal(t, []int64{0, 3000}, e.Stream("/h").Nanoseconds())
	assert.Contains(t, e.Notes, dataset.Note{Code: dataset.CodeHeaderTimeZero, Subject: "/h", Count: 1, Detail: dataset.Detail{Of: 2}})
}

func TestFramesAndCloudsAreReadWhenTheyAreAskedFor(t *testing.T) {
	log := &fakeLog{
		channels: channelsOf("/cam", "", "image", "/points", "cdr", "cloud"),
		parts:    [][]Message{{at(0, 4, 'j', 1, 40), at(1, 1, 11), at(0, 2, 'j', 1, 20)}, {at(0, 3, 'p', 1, 30), at(1, 0, 10), at(0, 5, 0xff, 0, 0)}},
	}
	ctx := context.Background()
	e := readAll(t, log, dataset.Options{})
	m := e.MediaStream("/cam")
	require.NotNil(t, m)
	assert.Equal(t, []any{[]int64{2, 4}, "j", 1, 2}, []any{m.Times, m.Encoding, m.Width, m.Height})
	b, err := m.Frame(ctx, 0)
	require.NoError(t, err)
	assert.Equal(t, []byte{20}, b)
	b, err = m.Frame(ctx, 1)
	require.NoError(t, err)
	assert.Equal(t, []byte{40}, b)
	assert.Contains(t, e.Notes, dataset.Note{Code: dataset.CodeFramesDiffer, Subject: "/cam", Count: 1, Row: dataset.At(1), Detail: dataset.Detail{Of: 3, Got: "1x2 p", Want: "1x2 j"}})
	require.Len(t, e.Clouds, 1)
	assert.Equal(t, []string{"image", "cloud"}, []string{m.Type, e.Clouds[0].Type})
	assert.Equal(t, []int64{0, 1}, e.Clouds[0].Times)
	c, err := e.Clouds[0].Cloud(ctx, 1)
	require.NoError(t, err)
	lo, _, _ := c.Bounds()
	assert.Equal(t, 11.0, lo[0])
	assert.Equal(t, dataset.CodeMessageMismatch, e.Notes.Damage()[0].Code)

	e = readAll(t, log, dataset.Options{Clock: "header"})
	assert.Equal(t, []int64{10000, 11000}, e.Clouds[0].Times)
}

// A decoder that panics costs its topic.
func TestAPanicCostsItsTopic(t *testing.T) {
	log := &fakeLog{
		channels: channelsOf("/a", "", "pair", "/b", "", "pair"),
		parts:    [][]Message{{at(0, 1, 1, 10), at(1, 2, 2, 20)}, {at(0, 3, 0xfd, 0), at(1, 4, 4, 40)}, {at(0, 5, 3, 0)}},
	}
	e := readAll(t, log, dataset.Options{})
	assert.Equal(t, []string{"/b"}, e.Names())
	assert.Equal(t, 2, e.Streams[0].Len())
	left := e.Notes.LeftOut("/a")
	require.NotNil(t, left)
	assert.Equal(t, []any{dataset.CodeNoDecoder, 3}, []any{left.Code, left.Count})
	assert.ErrorContains(t, left.Cause, "a panic: byte 253")
	_, err := read(t.Context(), log, dataset.Options{Strict: true}, open)
	assert.Error(t, err)
}

func TestFramesWithoutBytesAreNoSamples(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	log := &fakeLog{
		channels: channelsOf("/cam", "", "image", "/dark", "", "image"),
		parts:    [][]Message{{at(0, 1, 'j', 1), at(0, 2, 'j', 1, 20), at(1, 2, 'j', 1)}, {at(0, 3, 'j', 1), at(0, 4, 'j', 1, 40)}},
	}
	e := readAll(t, log, dataset.Options{Strict: true})
	require.Len(t, e.Media, 1)
	assert.Equal(t, []int64{2, 4}, e.Media[0].Times)
	assert.Equal(t, dataset.Notes{
		{Code: dataset.CodeEmptyImages, Subject: "/cam", Count: 2, Detail: dataset.Detail{Of: 4}}, {Code: dataset.CodeEmptyImages, Subject: "/dark", Count: 1},
	}, e.Notes)
}

func TestMostFramesDecideTheKindOfACamera(t *testing.T) {
	log := &fakeLog{
		channels: channelsOf("/cam", "", "image"),
		parts:    [][]Message{{at(0, 1, 'p', 1, 10), at(0, 2, 'j', 2, 20)}, {at(0, 3, 'j', 2, 30), at(0, 4, 'p', 1, 40), at(0, 5, 'j', 2, 50)}},
	}
	e := readAll(t, log, dataset.Options{})
	m := e.Media[0]
	assert.Equal(t, []any{[]int64{2, 3, 5}, "j", 2}, []any{m.Times, m.Encoding, m.Width})
	for i, want := range []byte{20, 30, 50} {
		b, err := m.Frame(t.Context(), i)
		require.NoError(t, err)
		assert.Equal(t, []byte{want}, b)
	}
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFramesDiffer, Subject: "/cam", Count: 2, Row: dataset.At(0), Detail: dataset.Detail{Of: 5, Got: "1x2 p", Want: "2x2 j"}}}, e.Notes)
}

func TestWhatCannotBeDecodedIsCounted(t *testing.T) {
	broken := dataset.Notes{{Code: dataset.CodeChunkBroken, Count: 1, Detail: dataset.Detail{Bytes: 7, Cause: &dataset.FormatError{Format: "fake", Msg: "chunk"}}}}
	log := &fakeLog{
		channels: channelsOf("/a", "", "pair", "/b", "", "pair", "/c", "", "strange", "/d", "", "pair"),
		parts:    [][]Message{{at(0, 1, 1, 2), at(0, 2, 0xff, 2), at(1, 3, 2, 0xff), at(2, 4)}, {at(0, 5, 3, 4), at(2, 6), at(0, 7, 0xfe, 0), at(3, 8, 0xfe, 1)}},
		damage:   []dataset.Notes{broken, broken},
	}
	e := readAll(t, log, dataset.Options{})
	assert.Equal(t, []float32{1, 2, 3, 4}, values(t, e.Stream("/a")))
	require.Len(t, e.Notes.Damage(), 2)
	assert.Equal(t, []any{dataset.CodeChunkBroken, 2, int64(14)}, []any{e.Notes.Damage()[0].Code, e.Notes.Damage()[0].Count, e.Notes.Damage()[0].Bytes})
	assert.Equal(t, []any{2, int64(4)}, []any{e.Notes.Damage()[1].Count, e.Notes.Damage()[1].Bytes})
	assert.Equal(t, "message: byte 0: message of /a at 2 ns: byte: corrupt: got 255, want less", e.Notes.Damage()[1].Cause.Error())
	left := e.Notes.Of(dataset.ClassLeftOut)
	var texts []string
	for _, n := range left {
		texts = append(texts, n.String())
	}
	assert.Equal(t, []string{
		dataset.CodeUndecodedMessages.String() + " /a: 1 of 4, message of /a at 7 ns: byte: not supported: got 254, want less",
		dataset.CodeNoFit.String() + " /b: 1, got pair",
		dataset.CodeNoDecoder.String() + " /c: 2, schema: not supported: got strange, want one of the test",
		dataset.CodeUndecodedMessages.String() + " /d: 1 of 1, message of /d at 8 ns: byte: not supported: got 254, want less",
	}, texts)
	assert.ErrorIs(t, left[0].Cause, dataset.ErrUnsupported)

	var bad *dataset.FormatError
	_, err := read(context.Background(), log, dataset.Options{Strict: true}, open)
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "chunk", bad.Msg)
	log.damage = nil
	_, err = read(context.Background(), log, dataset.Options{Strict: true}, open)
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, int64(0), bad.Offset)
}

func TestAChannelWithoutASchemaIsLeftOut(t *testing.T) {
	e := readAll(t, &fakeLog{channels: channelsOf("/a", "cdr", ""), parts: [][]Message{{at(0, 1, 1, 2)}}}, dataset.Options{})
	require.Len(t, e.Notes, 1)
	assert.Equal(t, "no-decoder /a: 1, channel: not supported: got no schema, want one, which messages of cdr need", e.Notes[0].String())
}

func TestMessagesWithoutASchemaAreSeenBeforeTheyAreDecoded(t *testing.T) {
	log := &fakeLog{
		channels: channelsOf("/j", "", "learned", "/p", "", "pair"),
		parts:    [][]Message{{at(0, 1, 1)}, {at(1, 1, 7, 8)}, {at(0, 2, 2, 3), at(0, 3, 0xff)}},
	}
	e := readAll(t, log, dataset.Options{})
	assert.Equal(t, []float32{1, 0, 2, 3}, values(t, e.Stream("/j")))
	assert.Equal(t, []float32{7, 8}, values(t, e.Stream("/p")), "read once")
	assert.Equal(t, 1, e.Notes.Damage()[0].Count)
}

func TestAnErrorOrTheEndOfTheContextEndsReading(t *testing.T) {
	log := &fakeLog{channels: channelsOf("/a", "", "pair"), parts: make([][]Message, 30), err: errors.New("disk")}
	_, err := read(context.Background(), log, dataset.Options{}, open)
	assert.ErrorContains(t, err, "disk")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	log.err = nil
	_, err = read(ctx, log, dataset.Options{}, open)
	assert.ErrorIs(t, err, context.Canceled)
	log.parts[3] = []Message{at(7, 0)}
	_, err = read(context.Background(), log, dataset.Options{}, open)
	assert.ErrorContains(t, err, "channel 7 of 1")
	e := readAll(t, &fakeLog{}, dataset.Options{})
	assert.Empty(t, e.Streams)
}

func TestFieldsThatNoMessageHasDoNotFillTheMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	for _, each := range []int{3000, 1500} {
		log := &fakeLog{channels: channelsOf("/v", "", "vast", "/a", "", "pair")}
		for range 9000 / each { // of one part, or of several together
			part := make([]Message, each)
			for i := range part {
				part[i] = at(0, int64(i), 1)
			}
			log.parts = append(log.parts, append(part, at(1, 1, 2, 3)))
		}
		e := readAll(t, log, dataset.Options{})
		assert.Equal(t, []string{"/a"}, e.Names())
		require.Len(t, e.Notes, 1)
		assert.Equal(t, 9000, e.Notes[0].Count)
		assert.Equal(t, []any{dataset.CodeSparseMessages, "256"}, []any{e.Notes[0].Code, e.Notes[0].Want})
	}
}

func TestEachFrameThatMovesIsAStream(t *testing.T) {
	log := &fakeLog{
		channels: channelsOf("/tf", "", "tf", "/odom", "", "odom", "/one", "", "odom", "/none", "", "tf"),
		parts: [][]Message{
			{at(0, 30, 'a', 3, 'b', 4), at(1, 1, 'r', 'm', 1), at(2, 1, 'r', 'm', 1), at(3, 5)},
			{at(0, 10, 'b', 1), at(0, 20, 'a', 2, 'a', 5), at(1, 3, 's', 'm', 3), at(1, 2, 'r', 'o', 2), at(2, 2, 'r', 'm', 2)},
		},
	}
	e := readAll(t, log, dataset.Options{})
	assert.Equal(t, []string{"/odom.r (m)", "/odom.r (o)", "/odom.s", "/one", "/tf.a", "/tf.b"}, e.Names())
	assert.Equal(t, []float32{2, 5, 3}, values(t, e.Stream("/tf.a")))
	assert.Equal(t, []int64{20, 20, 30}, e.Stream("/tf.a").Nanoseconds())
	assert.Equal(t, []float32{1, 4}, values(t, e.Stream("/tf.b")))
	assert.Equal(t, []float32{2}, values(t, e.Stream("/odom.r (o)")))
	assert.Equal(t, []float32{1, 2}, values(t, e.Stream("/one")))
	assert.Contains(t, e.Notes, dataset.Note{Code: dataset.CodeFrameParents, Subject: "/tf", Detail: dataset.Detail{Names: []string{"a in w", "b in w"}}})
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNoElements, Subject: "/none.transforms", Count: 1}}, e.Notes.Of(dataset.ClassLeftOut))
	e = readAll(t, log, dataset.Options{Clock: "header"})
	assert.Equal(t, []int64{200, 500, 300}, e.Stream("/tf.a").Nanoseconds(), "of each element its own")
	assert.Subset(t, e.Notes, dataset.Notes{{Code: dataset.CodeLogClock, Subject: "/odom"}, {Code: dataset.CodeLogClock, Subject: "/one"}})
	e = readAll(t, log, dataset.Options{Clock: "publish"})
	assert.Equal(t, []int64{9, 29}, e.Stream("/tf.b").Nanoseconds())

	many := &fakeLog{channels: log.channels[1:2], parts: [][]Message{nil}}
	for i := range maxFrames + 1 {
		many.parts[0] = append(many.parts[0], at(0, int64(i), byte(i%250), byte(i/250), 1))
	}
	e = readAll(t, many, dataset.Options{})
	assert.Empty(t, e.Streams)
	assert.Equal(t, dataset.Detail{Got: "1025", Want: "1024", Unit: "coordinate frames"}, e.Notes[0].Detail)
}

func TestBlocksHoldWhatWasAdded(t *testing.T) {
	for _, expect := range []int{lastBlock, 2*lastBlock + 1, 3*lastBlock + 7, 20 * lastBlock, 1 << 60} {
		var b blocks[int32]
		b.expect = expect
		want := make([]int32, 3*lastBlock+7)
		for i := range want {
			want[i] = int32(i)
		}
		for i := 0; i < len(want); i += 1000 {
			b.add(want[i:min(len(want), i+1000)])
		}
		require.Equal(t, want, b.take(), "whatever was expected")
	}
	for _, n := range []int{0, 1, 63, 64, 65, 129, 4096, lastBlock + 1, 3*lastBlock + 7} {
		for _, step := range []int{1, 7, 1000, lastBlock + 3} {
			if n/step > 1<<14 {
				continue
			}
			var b blocks[int32]
			want := make([]int32, n)
			for i := range want {
				want[i] = int32(i)
			}
			for i := 0; i < n; i += step {
				b.add(want[i:min(n, i+step)])
			}
			require.Equal(t, n, b.len())
			require.Equal(t, want, b.take())
			require.Zero(t, b.len())
		}
	}
}

var _ message.Learner = (*fakeLearner)(nil)

// Integers that float64 does not hold are told of the stream that has them, and not of another where their list is left out.
func TestInexactIntegersAreThoseOfTheirOwnStream(t *testing.T) {
	const big = "9007199254740993" // 2^53+1
	texts := []string{`{"a":1,"even":[` + big + `,2],"odd":[` + big + `]}`, `{"a":` + big + `,"even":[3,` + big + `],"odd":[1,` + big + `]}`}
	log := &fakeLog{channels: []Channel{{Topic: "/t", Encoding: "json"}}, parts: [][]Message{{}}}
	for i, text := range texts {
		log.parts[0] = append(log.parts[0], Message{Log: int64(i + 1), Data: []byte(text)})
	}
	e, err := Read(t.Context(), log, dataset.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"/t", "/t.even"}, e.Names())
	assert.Equal(t, [2]int{1, 2}, [2]int{e.Streams[0].Inexact, e.Streams[1].Inexact})
	require.Len(t, e.Notes, 1)
	assert.Equal(t, "/t.odd", e.Notes[0].Subject)
}

func TestATopicWithoutNumbersIsNoted(t *testing.T) {
	e := readAll(t, &fakeLog{channels: channelsOf("/a", "", "nothing"), parts: [][]Message{{at(0, 1), at(0, 2)}}}, dataset.Options{})
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNoNumbers, Subject: "/a", Count: 2}}, e.Notes)
}
