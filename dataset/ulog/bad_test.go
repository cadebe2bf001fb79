package ulog

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

func TestWhatBreaksTheFormatIsAnErrorWithItsPlace(t *testing.T) {
	a := func() *build { return newBuild(1, 0).format("a:uint64_t timestamp;float x;").subscribe(0, 0, "a") }
	flags := func(i int) *build {
		b := flagBits()
		b[i] = 2
		return newBuild(1, 0).put('B', b)
	}
	cases := []struct {
		name   string
		log    *build
		kind   error
		offset int64 // -1: not checked
		says   string
	}{
		{"no log", &build{[]byte("not a log, not at all")}, dataset.ErrCorrupt, 0, "file magic"},
		{"short header", &build{[]byte("ULog\x01\x12\x35")}, dataset.ErrTruncated, 7, "file header"},
		{"version 2", newBuild(2, 0), dataset.ErrUnsupported, 7, "want 0 or 1"},
		{"start beyond the clock", newBuild(1, 1<<63), dataset.ErrTooLarge, 8, "2^62"},
		{"incompatible flag", flags(8), dataset.ErrUnsupported, 27, "incompatible"},
		{"incompatible flag 15", flags(15), dataset.ErrUnsupported, 34, "incompatible"},
		{"short flags", newBuild(1, 0).put('B', make([]byte, 39)), dataset.ErrCorrupt, 19, "39 bytes"},
		{"late flags", a().put('B', flagBits()), dataset.ErrCorrupt, -1, "first message"},
		{"appended part before the flags", newBuild(1, 0).put('B', flagBits(3)), dataset.ErrCorrupt, 35, "at least 59"},
		{"appended parts out of order", newBuild(1, 0).put('B', flagBits(80, 70)).put('Z', make([]byte, 99)), dataset.ErrCorrupt, 43, "at least 80"},
		{"format without fields", newBuild(1, 0).format("a:"), dataset.ErrCorrupt, -1, "at least one"},
		{"format without a colon", newBuild(1, 0).format("a float x;"), dataset.ErrCorrupt, 19, "name:type"},
		{"field without a name", newBuild(1, 0).format("a:float;"), dataset.ErrCorrupt, 21, "a type, a space, a name"},
		{"array of none", newBuild(1, 0).format("a:float[0] x;"), dataset.ErrCorrupt, 21, "a type"},
		{"array of -1", newBuild(1, 0).format("a:float[-1] x;"), dataset.ErrCorrupt, 21, "a type"},
		{"two definitions", newBuild(1, 0).format("a:float x;").format("a:float y;"), dataset.ErrCorrupt, 32, "another definition"},
		{"field twice", newBuild(1, 0).format("a:uint64_t timestamp;float x;float x;").subscribe(0, 0, "a").data(0, make([]byte, 16)), dataset.ErrCorrupt, 19, "twice"},
		{"clock twice", newBuild(1, 0).format("a:uint64_t timestamp;uint64_t timestamp;").subscribe(0, 0, "a").data(0, make([]byte, 16)), dataset.ErrCorrupt, 19, "twice"},
		{"unknown type", newBuild(1, 0).format("a:uint64_t timestamp;b x;").subscribe(0, 0, "a").data(0, make([]byte, 16)), dataset.ErrCorrupt, 19, `type "b"`},
		{"unknown format", newBuild(1, 0).subscribe(0, 0, "a"), dataset.ErrCorrupt, 22, "defined"},
		{"short subscription", newBuild(1, 0).put('A', uint8(0), uint16(0)), dataset.ErrCorrupt, 19, "at least 4"},
		{"an id for two topics", a().subscribe(1, 0, "a"), dataset.ErrCorrupt, -1, "an id of its own"},
		{"data without subscription", a().data(1, uint64(0), float32(0)), dataset.ErrCorrupt, -1, "message id 1"},
		{"data after unsubscription", a().put('R', uint16(0)).data(0, uint64(0), float32(0)), dataset.ErrCorrupt, -1, "message id 0"},
		{"unsubscription of nothing", a().put('R', uint16(5)), dataset.ErrCorrupt, -1, "subscribed"},
		{"unsubscription of a byte", a().put('R', uint8(0)), dataset.ErrCorrupt, -1, "want 2"},
		{"data too short", a().data(0, uint64(0), uint16(0)), dataset.ErrCorrupt, -1, "got 10 bytes, want 12"},
		{"data too long", a().data(0, uint64(0), uint64(0)), dataset.ErrCorrupt, -1, "got 16 bytes, want 12"},
		{"data without id", a().put('D', uint8(0)), dataset.ErrCorrupt, -1, "at least 2"},
		{"timestamp beyond the clock", a().data(0, uint64(1<<60), float32(0)), dataset.ErrTooLarge, -1, "2^62"},
		{"information too short", newBuild(1, 0).put('I', keyed("uint32_t n", uint16(0))...), dataset.ErrCorrupt, 19, "uint32_t"},
		{"information without value", newBuild(1, 0).put('I', uint8(200), "char x"), dataset.ErrCorrupt, 19, "a key"},
		{"information without type", newBuild(1, 0).put('I', keyed("name", "x")...), dataset.ErrCorrupt, 20, "a type"},
		{"multiple information of nothing", newBuild(1, 0).put('M'), dataset.ErrCorrupt, 19, "at least 1"},
		{"parameter of another type", newBuild(1, 0).put('P', keyed("double x", 1.0)...), dataset.ErrCorrupt, 20, "int32_t or float"},
		{"parameter too short", newBuild(1, 0).put('P', keyed("float x", uint16(0))...), dataset.ErrCorrupt, 19, "want 4"},
		{"default of nothing", newBuild(1, 0).put('Q'), dataset.ErrCorrupt, 19, "at least 1"},
		{"short text", newBuild(1, 0).put('L', "6"), dataset.ErrCorrupt, 19, "at least 9"},
		{"short tagged text", newBuild(1, 0).put('C', "6123456789"), dataset.ErrCorrupt, 19, "at least 11"},
		{"wrong synchronisation", newBuild(1, 0).put('S', "12345678"), dataset.ErrCorrupt, 19, "2f 73"},
		{"short dropout", newBuild(1, 0).put('O', uint8(1)), dataset.ErrCorrupt, 19, "want 2"},
		{"type zero", newBuild(1, 0).put(0), dataset.ErrCorrupt, 18, "a letter"},
		{"circle", newBuild(1, 0).format("a:b x;").format("b:a x;").subscribe(0, 0, "a").data(0, "x"), dataset.ErrCorrupt, -1, "circle"},
		{"itself", newBuild(1, 0).format("a:a x;").subscribe(0, 0, "a").data(0, "x"), dataset.ErrCorrupt, 19, "circle"},
		{"array of 2^31", newBuild(1, 0).format("a:uint64_t timestamp;float[2147483648] x;").subscribe(0, 0, "a").data(0, make([]byte, 60)), dataset.ErrTooLarge, 19, "2147483648"},
		{"array of 2^62", newBuild(1, 0).format("a:uint64_t timestamp;double[4611686018427387904] x;").subscribe(0, 0, "a").data(0, make([]byte, 60)), dataset.ErrTooLarge, 19, "4611686018427387904"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			log, err := Parse(c.log.b, Options{Strict: true})
			assert.Nil(t, log)
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad)
			assert.ErrorIs(t, err, c.kind)
			assert.Contains(t, err.Error(), c.says)
			assert.Equal(t, "ulog", bad.Format)
			if c.offset >= 0 {
				assert.Equal(t, c.offset, bad.Offset)
			}
			assert.LessOrEqual(t, bad.Offset, int64(len(c.log.b)))
		})
	}
}

// bombs are small files whose headers ask for much more than they hold.
func bombs() map[string][]byte {
	nest := func(top string) []byte {
		w := newBuild(1, 0).format("n0:uint8_t x;uint8_t y;")
		for i := 1; i < 40; i++ {
			w.format(fmt.Sprintf("n%d:n%d a;n%d b;", i, i-1, i-1))
		}
		return w.format("top:uint64_t timestamp;"+top+" x;").subscribe(0, 0, "top").data(0, make([]byte, 70)).b
	}

	long := newBuild(1, 0).format("a:uint64_t timestamp;uint8_t[65000] "+strings.Repeat("x", maxName)+";").subscribe(0, 0, "a")
	long.data(0, make([]byte, 65008))

	many, orphans := newBuild(1, 0), newBuild(1, 0)
	for i := range 5000 {
		name := fmt.Sprintf("a%d", i/256)
		if i%256 == 0 {
			many.format(name + ":uint64_t timestamp;uint8_t[60000] x;")
		}
		many.subscribe(uint8(i), uint16(i), name)
		orphans.subscribe(uint8(i), uint16(i), name).data(uint16(i), "")
	}

	short := newBuild(1, 0).format("a:uint64_t timestamp;uint8_t[60000] x;").subscribe(0, 0, "a").data(0, make([]byte, 60008))
	for range 20000 {
		short.data(0, "") // counted as messages, too short to be one
	}

	chain := newBuild(1, 0)
	for i := range 3000 {
		chain.format(fmt.Sprintf("c%d:c%d x;", i, i+1))
	}
	chain.format("c3000:uint64_t timestamp;").subscribe(0, 0, "c0").data(0, make([]byte, 8))

	pads := newBuild(1, 0).format("e:uint8_t _padding0;").format("a:uint64_t timestamp;e[65000] x;").subscribe(0, 0, "a")
	for range 100 {
		pads.data(0, uint64(1))
	}

	names := newBuild(1, 0).format("i:uint8_t[16000] " + strings.Repeat("y", maxName) + ";")
	for i := range 8 {
		names.format(fmt.Sprintf("t%d:uint64_t timestamp;i %s;", i, strings.Repeat("z", maxName))).subscribe(0, uint16(i), fmt.Sprintf("t%d", i))
		names.data(uint16(i), make([]byte, 16008))
	}
	return map[string][]byte{"nested types": nest("n39"), "nested types of a message's size": nest("n14"), "nested types of 2^20 bytes": nest("n19"), "long names": long.b,
		"many topics without data": many.b, "many topics without a format": orphans.b, "short messages": short.b, "long chain of types": chain.b, "padding": pads.b, "names of nested types": names.b}
}

// The reader's own tables, the names, a stream's columns and f64 values come to less than 256 bytes for a byte of input.
func TestMemoryIsBoundedByTheFile(t *testing.T) {
	cases := bombs()
	cases["a real log"], _ = os.ReadFile("testdata/sample_log_small.ulg")
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, data)
			for _, opt := range []Options{{Strict: true}, {}} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				log, err := Parse(data, opt)
				runtime.ReadMemStats(&after)
				var bad *dataset.FormatError
				assert.True(t, log != nil || assert.ErrorAs(t, err, &bad))
				grown := after.TotalAlloc - before.TotalAlloc
				assert.Less(t, grown, uint64(1<<20+256*len(data)))
				t.Logf("%d bytes, %d allocated, %.1f a byte, %v", len(data), grown, float64(grown)/float64(len(data)), err)
			}
		})
	}
}
