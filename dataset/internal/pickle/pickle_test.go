package pickle_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/pickle"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

func kinds(t testing.TB, protocol int) []byte {
	t.Helper()
	return filetest.Read(t, fmt.Sprintf("testdata/kinds_%d.pickle", protocol))
}

// The values are those of kinds() in scripts/gen_calvin_golden.py.
func TestKindsOfAllProtocols(t *testing.T) {
	for protocol := 2; protocol <= 5; protocol++ {
		data := kinds(t, protocol)
		v, n, err := pickle.Load(append(data, "more"...), 0)
		require.NoError(t, err, "protocol %d", protocol)
		assert.Equal(t, len(data), n, "what follows is not read")
		d, ok := v.(*pickle.Dict)
		require.True(t, ok)
		get := func(key string) any {
			v, ok := d.Get(key)
			require.True(t, ok, key)
			return v
		}
		raw := make([]byte, 512)
		for i := range raw {
			raw[i] = byte(i)
		}
		for key, want := range map[string]any{
			"none": nil, "true": true, "false": false, "int": int64(7), "int2": int64(777), "int4": int64(-70000), "long": int64(-1 << 40), "least": int64(-1 << 63),
			"float": -1.5, "text": "blöck", "long text": strings.Repeat("x", 300), "bytes": []byte("\x00\xff"), "no bytes": []byte{}, "long bytes": raw,
		} {
			assert.Equal(t, want, get(key), "protocol %d, %s", protocol, key)
		}
		tuple, ok := pickle.Ints(get("tuple"))
		assert.True(t, ok)
		assert.Equal(t, []int64{1, 2, 3, 4}, tuple)
		shared := get("shared").(*pickle.List)
		assert.Same(t, shared.Items[0], shared.Items[1], "what is named twice is there once")
		for key, want := range map[string][]float64{
			"f4": {0, 1, 2, 3, 4, 5}, "f8 big": {0, 1, 2}, "fortran": {0, 1, 2, 3, 4, 5}, "u1": {0, 1, 2, 3}, "bool": {1, 0}, "empty": {}, "strided": {0, 3, 6, 9}, "f2": {0.5},
		} {
			a, ok := get(key).(*pickle.Array)
			require.True(t, ok, key)
			tt, err := a.Tensor()
			require.NoError(t, err, key)
			list, err := tensor.Floats(tt)
			require.NoError(t, err)
			assert.Equal(t, want, list, "protocol %d, %s", protocol, key)
		}
		assert.Equal(t, "<i4 [2,3]", get("fortran").(*pickle.Array).String())
		for key, want := range map[string][]any{"texts": {"a", "blöck"}, "raw": {"ab", "c"}, "object": {nil, int64(5), "x"}} {
			items, ok := pickle.Items(get(key))
			assert.True(t, ok, key)
			assert.Equal(t, want, items, key)
		}
		i, ok := pickle.Int(get("i8"))
		assert.True(t, ok && i == -12)
		text, ok := pickle.Text(get("str"))
		assert.True(t, ok)
		assert.Equal(t, "blöck", text)
	}
}

// Nothing of these is run, and each is refused by what it is.
func TestHostilePicklesAreRefused(t *testing.T) {
	head := "\x80\x02"
	for name, c := range map[string]struct {
		pickle string
		kind   error
		says   string
	}{
		"os.system":            {head + "cos\nsystem\nX\x02\x00\x00\x00id\x85R.", dataset.ErrUnsupported, `"os.system"`},
		"posix by the stack":   {"\x80\x04\x8c\x05posix\x8c\x06system\x93.", dataset.ErrUnsupported, `"posix.system"`},
		"eval":                 {head + "c__builtin__\neval\n.", dataset.ErrUnsupported, `"__builtin__.eval"`},
		"eval of Python 3":     {"\x80\x03cbuiltins\neval\n.", dataset.ErrUnsupported, `"builtins.eval"`},
		"getattr":              {"\x80\x03cbuiltins\ngetattr\n.", dataset.ErrUnsupported, `"builtins.getattr"`},
		"a name with a point":  {"\x80\x04\x8c\x05numpy\x8c\x0ccore.dot.dot\x93.", dataset.ErrUnsupported, "numpy.core.dot.dot"},
		"a name by two points": {"\x80\x04\x8c\x05numpy\x8c\x1ccore.multiarray._reconstruct\x93.", dataset.ErrUnsupported, "no other is called"},
		"numpy.load":           {head + "cnumpy\nload\n.", dataset.ErrUnsupported, `"numpy.load"`},
		"codecs.decode":        {head + "c_codecs\ndecode\n.", dataset.ErrUnsupported, `"_codecs.decode"`},
		"a function as result": {head + "cnumpy\nndarray\n.", dataset.ErrUnsupported, "the function numpy.ndarray"},
		"a function in a list": {head + "]cnumpy\nndarray\na.", dataset.ErrUnsupported, "the function numpy.ndarray"},
		"ndarray called":       {head + "cnumpy\nndarray\nK\x05\x85R.", dataset.ErrUnsupported, "arguments of numpy.ndarray"},
		"bytes of a length":    {head + "c__builtin__\nbytes\nJ\xff\xff\xff\x7f\x85R.", dataset.ErrUnsupported, "arguments of bytes"},
		"another encoding":     {head + "c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00hex\x86R.", dataset.ErrUnsupported, `"hex"`},
		"no function called":   {head + "K\x01)R.", dataset.ErrCorrupt, "of a number"},
		"a class":              {head + "cnumpy\nndarray\n)\x81.", dataset.ErrUnsupported, "NEWOBJ"},
		"an old class":         {head + "(ios\nsystem\n.", dataset.ErrUnsupported, "INST"},
		"persistent":           {head + "K\x01Q.", dataset.ErrUnsupported, "BINPERSID"},
		"extension":            {head + "\x82\x01.", dataset.ErrUnsupported, "EXT1"},
		"a set":                {"\x80\x04\x8f.", dataset.ErrUnsupported, "EMPTY_SET"},
		"buffer outside":       {"\x80\x05\x97.", dataset.ErrUnsupported, "NEXT_BUFFER"},
		"protocol 0":           {"cos\nsystem\n.", dataset.ErrUnsupported, "protocols 2 to 5"},
		"protocol 6":           {"\x80\x06N.", dataset.ErrUnsupported, "2 to 5"},
		"no opcode":            {head + "\xff", dataset.ErrCorrupt, "0xff"},
		"state of a list":      {head + "](K\x01tb.", dataset.ErrUnsupported, "of a list"},
		"state of a text":      {head + "X\x01\x00\x00\x00a}b.", dataset.ErrUnsupported, "a dictionary"},
		"huge bytes":           {head + "B\xff\xff\xff\xff", dataset.ErrTruncated, "4294967295"},
		"huge bytes of 8":      {"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff", dataset.ErrTruncated, "18446744073709551615"},
		"huge bytearray":       {"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f", dataset.ErrTruncated, "9223372036854775807"},
		"huge text":            {head + "X\xff\xff\xff\x7f", dataset.ErrTruncated, "2147483647"},
		"huge number":          {head + "\x8b\xff\xff\xff\x7f", dataset.ErrTruncated, "2147483647"},
		"negative length":      {head + "\x8b\xff\xff\xff\xff", dataset.ErrTruncated, "4294967295"},
		"a number of 9 bytes":  {head + "\x8a\x09123456789.", dataset.ErrUnsupported, "9 bytes"},
		"huge frame":           {"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff", dataset.ErrTruncated, "18446744073709551615"},
		"reference ahead":      {head + "h\x00.", dataset.ErrCorrupt, "to value 0"},
		"far reference":        {head + "Nq\x00j\xff\xff\xff\xff.", dataset.ErrCorrupt, "to value 4294967295"},
		"memory of nothing":    {head + "q\x00.", dataset.ErrCorrupt, "nothing"},
		"an empty stack":       {head + ".", dataset.ErrCorrupt, "nothing"},
		"below a mark":         {head + "K\x01(0\x86.", dataset.ErrCorrupt, "nothing"},
		"below another mark":   {head + "K\x01(\x85.", dataset.ErrCorrupt, "nothing"},
		"no mark":              {head + "t.", dataset.ErrCorrupt, "no mark"},
		"an odd dictionary":    {head + "}(K\x01u.", dataset.ErrCorrupt, "a key without a value"},
		"a list as key":        {head + "}]K\x01s.", dataset.ErrUnsupported, "a key that is a list"},
		"append to a tuple":    {head + ")K\x01a.", dataset.ErrUnsupported, "to a tuple"},
		"items of a list":      {head + "]K\x01K\x02s.", dataset.ErrUnsupported, "items of a list"},
		"no UTF-8":             {head + "X\x01\x00\x00\x00\xff.", dataset.ErrCorrupt, "UTF-8"},
		"deep":                 {head + strings.Repeat("(", 2000), dataset.ErrTooLarge, "at most 1000 deep"},
		"records":              {head + dtype("f4") + "(K\x03X\x01\x00\x00\x00<N)}K\x04K\x01K\x00tb.", dataset.ErrUnsupported, "records"},
		"a type of none":       {head + dtype("x4") + ".", dataset.ErrUnsupported, `"x4"`},
		"a type as result":     {head + dtype("f4") + ".", dataset.ErrUnsupported, "a type of numpy's"},
		"few bytes":            {head + array("f4", "K\x03\x85", "C\x04abcd") + ".", dataset.ErrCorrupt, "4 bytes"},
		"a huge shape":         {head + array("f4", "J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86", "C\x04abcd") + ".", dataset.ErrCorrupt, "4 bytes"},
		"a shape past memory":  {head + array("f4", "J\xff\xff\xff\x7fJ\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x87", "C\x04abcd") + ".", dataset.ErrCorrupt, "one that memory can hold"},
		"a negative shape":     {head + array("f4", "J\xff\xff\xff\xff\x85", "C\x04abcd") + ".", dataset.ErrCorrupt, "a dimension -1"},
		"objects of no list":   {head + array("O8", "K\x03\x85", "C\x04abcd") + ".", dataset.ErrCorrupt, "no list of its objects"},
		"types of no size":     {head + array("S0", "J\xff\xff\xff\x7f\x85", "C\x00") + ".", dataset.ErrCorrupt, "those of"},
		"a name without end":   {head + "c" + strings.Repeat("x", 5000) + "\n", dataset.ErrTooLarge, "256"},
	} {
		_, _, err := pickle.Load([]byte(c.pickle), 100)
		require.ErrorIs(t, err, c.kind, name)
		assert.ErrorContains(t, err, c.says, name)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad)
		assert.True(t, bad.Offset >= 100 && bad.Offset <= int64(100+len(c.pickle)), "%s: at byte %d", name, bad.Offset)
	}
}

// dtype is the pickle of a type of numpy's.
func dtype(name string) string {
	return "cnumpy\ndtype\n" + fmt.Sprintf("X%c\x00\x00\x00%s", len(name), name) + "\x89\x88\x87R"
}

// array is the pickle of an array, of those of its shape and its data.
func array(name, shape, data string) string {
	return "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01" + shape + dtype(name) + "\x89" + data + "tb"
}

func TestArrayByHand(t *testing.T) {
	v, _, err := pickle.Load([]byte("\x80\x03"+array("f4", "K\x01\x85", "C\x04\x00\x00\x80\x3f")+"."), 0)
	require.NoError(t, err)
	list, ok := pickle.Ints(v)
	assert.True(t, ok)
	assert.Equal(t, []int64{1}, list)
}

// What names itself many times takes memory once.
func TestBombsTakeLittleMemory(t *testing.T) {
	var laughs, calls, encodes, self strings.Builder
	laughs.WriteString("\x80\x02X\x03\x00\x00\x00lolq\x00")
	for range 200 { // 10^200 texts, if one went through them
		fmt.Fprintf(&laughs, "](%se", strings.Repeat("h\x00", 10))
		laughs.WriteString("q\x00")
	}
	laughs.WriteString(".")
	calls.WriteString("\x80\x02](")
	for range 10_000 {
		calls.WriteString("cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R")
	}
	calls.WriteString("e.")
	long := strings.Repeat("x", 100_000)
	encodes.WriteString("\x80\x02c_codecs\nencode\nq\x00X\xa0\x86\x01\x00" + long + "X\x06\x00\x00\x00latin1\x86q\x01](")
	for range 100_000 {
		encodes.WriteString("h\x00h\x01R")
	}
	encodes.WriteString("e.")
	self.WriteString("\x80\x02]q\x00h\x00ah\x00a.")
	for name, c := range map[string]struct {
		pickle string
		kind   error
	}{
		"laughs": {laughs.String(), nil}, "calls": {calls.String(), nil}, "encodes": {encodes.String(), dataset.ErrTooLarge}, "self": {self.String(), nil},
		"values": {"\x80\x02" + strings.Repeat("}", 5<<20), dataset.ErrTooLarge},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := pickle.Load([]byte(c.pickle), 0)
		runtime.ReadMemStats(&after)
		assert.ErrorIs(t, err, c.kind, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<29), name)
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	for protocol := 2; protocol <= 5; protocol++ {
		data := kinds(t, protocol)
		for n := range data {
			_, _, err := pickle.Load(data[:n], 0)
			require.ErrorIs(t, err, dataset.ErrTruncated, "protocol %d, %d bytes", protocol, n)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for protocol := 2; protocol <= 5; protocol++ {
		f.Add(kinds(f, protocol))
	}
	f.Add([]byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R."))
	f.Add([]byte("\x80\x02]q\x00h\x00a."))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, n, err := pickle.Load(data, 0)
		if err != nil {
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad)
			return
		}
		require.LessOrEqual(t, n, len(data))
		if d, ok := v.(*pickle.Dict); ok {
			d.Get("language")
			for _, v := range d.Values {
				pickle.Text(v)
				pickle.Items(v)
				pickle.Ints(v)
			}
		}
	})
}
