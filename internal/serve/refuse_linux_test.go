package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

func TestHelloSaysWhatThisIs(t *testing.T) {
	c, ended := open(t, nil)
	a := c.hello()
	assert.Equal(t, object{"ok": true, "protocol": json.Number("1"), "plan": json.Number("1"), "version": "(devel)", "images": kernels.Hash(), "platform": runtime.GOOS + "/" + runtime.GOARCH}, a.object)
	require.NoError(t, c.s.Close())
	assert.NoError(t, <-ended, "an end between two requests is no error")
}

func TestAnotherVersionIsRefusedAndBothAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		hello object
		ours  string
		want  Failure
	}{
		"protocol": {object{"protocol": 2, "version": "1.0.0"}, "v1.0.0", Failure{Class: "VersionError", Arg: "protocol", Got: "2", Want: "1"}},
		"none":     {object{"version": "1.0.0"}, "v1.0.0", Failure{Class: "VersionError", Arg: "protocol", Got: "0", Want: "1"}},
		"release":  {object{"protocol": 1, "version": "1.0.0"}, "v1.0.1", Failure{Class: "VersionError", Arg: "version", Got: "1.0.0", Want: "1.0.1"}},
		"a rc":     {object{"protocol": 1, "version": "1.0.0rc1"}, "1.0.0", Failure{Class: "VersionError", Arg: "version", Got: "1.0.0rc1", Want: "1.0.0"}},
		"same":     {object{"protocol": 1, "version": "1.0.1"}, "v1.0.1", Failure{}},
		"dev":      {object{"protocol": 1, "version": "1.0.1.dev3+g12"}, "v1.0.0", Failure{}},
		"devel":    {object{"protocol": 1, "version": "1.0.1"}, "(devel)", Failure{}},
	} {
		ours, theirs := pair(t)
		ended := make(chan error, 1)
		go func() { ended <- serveSocket(context.Background(), theirs, newConn(theirs, test.ours)) }()
		c := &client{t: t, s: ours}
		got := c.ask("hello", test.hello).error()
		if test.want.Class == "" {
			assert.Empty(t, got, name)
			ours.shutdown()
			assert.NoError(t, <-ended, name)
			continue
		}
		assert.Contains(t, got.Message, test.want.Got, name)
		assert.Contains(t, got.Message, test.want.Want, name)
		got.Message = ""
		assert.Equal(t, test.want, got, name)
		_, err := c.read()
		assert.Equal(t, io.EOF, err, "%s: it ends", name)
		assert.ErrorAs(t, <-ended, new(*VersionError), name)
		assert.NoError(t, ours.Close())
		assert.NoError(t, theirs.Close())
	}
}

func TestNothingIsDoneBeforeHello(t *testing.T) {
	c, _ := open(t, nil)
	f := c.bad("arena", object{"bytes": 1})
	assert.Equal(t, "RequestError", f.Class)
	assert.Contains(t, f.Message, `"arena" first, want "hello"`)
	c.hello()
	c.newArena(1)
	require.NoError(t, c.s.Close())
}

// After a request that cannot be, the next is answered.
func TestABadRequestIsToldAndTheChildGoesOn(t *testing.T) {
	c := connect(t)
	for text, want := range map[string]Failure{
		`[]`:                            {Class: "RequestError", Got: "array"},
		`{"do":"arena"`:                 {Class: "RequestError", Got: "no JSON object: unexpected end of JSON input"},
		``:                              {Class: "RequestError", Got: "no JSON object: unexpected end of JSON input"},
		`{"do":7}`:                      {Class: "RequestError", Arg: "do", Got: "number"},
		`{"do":"sing"}`:                 {Class: "RequestError", Arg: "do", Got: `"sing"`},
		`{"do":"arena","bites":1}`:      {Class: "RequestError", Arg: "bites", Got: "a field that is not known"},
		`{"do":"arena","bytes":1.5}`:    {Class: "RequestError", Arg: "bytes", Got: "number 1.5"},
		`{"do":"arena","bytes":-1}`:     {Class: "RequestError", Arg: "bytes", Got: "-1"},
		`{"do":"arena","bytes":1e30}`:   {Class: "RequestError", Arg: "bytes", Got: "number 1e30"},
		`{"do":"arena","bytes":1}{}`:    {Class: "RequestError", Got: "no JSON object: invalid character '{' after top-level value"},
		`{"do":"compute"}`:              {Class: "RequestError", Arg: "request", Got: "none"},
		`{"do":"compute","request":[]}`: {Class: "RequestError", Got: "array"},
		fmt.Sprintf(`{"do":"arena","bytes":%d}`, int64(math.MaxInt64)): {Class: "MemoryError"},
	} {
		require.NoError(t, c.s.send(&Frame{JSON: []byte(text)}))
		a, err := c.read()
		require.NoError(t, err, text)
		got := a.error()
		assert.NotEmpty(t, got.Message, text)
		assert.Equal(t, [2]string{want.Class, want.Arg}, [2]string{got.Class, got.Arg}, text)
		if want.Got != "" {
			assert.Equal(t, want.Got, got.Got, text)
		}
	}
	c.newArena(1)
}

// An error quotes its request, and the quote may be longer than a frame.
func TestAnErrorFitsAFrame(t *testing.T) {
	c := connect(t)
	long := strings.Repeat("\x01", MaxJSON/11)
	f := c.bad("arena", object{long: 1})
	assert.Equal(t, [2]string{"RequestError", "a field that is not known"}, [2]string{f.Class, f.Got})
	assert.Len(t, f.Message, mostText+len("..."))
	c.newArena(1)
}

func TestAFrameThatIsNoneEndsTheConnection(t *testing.T) {
	c, ended := open(t, nil)
	_, err := unix.Write(c.s.fd, []byte("GET / HTTP/1.1\r\n\r\n"))
	require.NoError(t, err)
	a, err := c.read()
	require.NoError(t, err)
	assert.Equal(t, Failure{Class: "FrameError", Message: `frame: got "GET " first, want "RCF1"`, Got: `"GET " first`, Want: `"RCF1"`}, a.error())
	_, err = c.read()
	assert.Equal(t, io.EOF, err)
	assert.ErrorAs(t, <-ended, new(*FrameError))
	require.NoError(t, c.s.Close())
}

// simple is a resample that works, of an arena of 4096 bytes.
func simple() object {
	return object{"op": "resample", "clock": object{"start": 0, "rate": 1, "count": 2}, "tensors": object{
		"Src": object{"dtype": "f32", "shape": []int{2, 1}, "at": 0}, "SrcTimes": object{"dtype": "i64", "shape": []int{2}, "at": 64}, "Dst": object{"dtype": "f32", "shape": []int{2, 1}, "at": 128},
	}}
}

func TestAnOperationThatCannotBeIsRefusedWithItsField(t *testing.T) {
	c := connect(t)
	assert.Equal(t, "Dst", c.bad("compute", object{"request": simple()}).Arg, "no arena")
	c.newArena(4096)
	c.good("compute", object{"request": simple()})
	huge := 1 << 62
	for name, test := range map[string]struct {
		change func(request, src object)
		want   Failure
	}{
		"between lines":   {func(_, src object) { src["at"] = 32 }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong strides", Got: "at 32", Want: "a multiple of 64"}},
		"before":          {func(_, src object) { src["at"] = -64 }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong strides", Got: "at -64", Want: "a multiple of 64"}},
		"behind":          {func(_, src object) { src["at"] = 4096 }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong shape", Got: "8 bytes at 4096", Want: "an end within the arena's 4096"}},
		"far behind":      {func(_, src object) { src["at"] = huge }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong shape", Got: fmt.Sprintf("8 bytes at %d", huge), Want: "an end within the arena's 4096"}},
		"over the end":    {func(_, src object) { src["shape"] = []int{1025, 1} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong shape", Got: "4100 bytes at 0", Want: "an end within the arena's 4096"}},
		"by its strides":  {func(_, src object) { src["strides"] = []int{1024, 1} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong shape", Got: "4100 bytes at 0", Want: "an end within the arena's 4096"}},
		"nowhere":         {func(_, src object) { delete(src, "at") }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "missing argument", Got: `no "at"`, Want: "where it begins in the arena"}},
		"too many":        {func(_, src object) { src["shape"] = []int{huge, huge} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong shape", Got: fmt.Sprintf("[%d,%d]", huge, huge)}},
		"beyond 2^63":     {func(_, src object) { src["shape"], src["strides"] = []int{3, 1}, []int{huge, 1} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong strides", Got: fmt.Sprintf("[3,1] with strides [%d,1]", huge)}},
		"backwards":       {func(_, src object) { src["strides"] = []int{-1, 1} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong strides", Got: "[2,1] with strides [-1,1]"}},
		"a stride":        {func(_, src object) { src["strides"] = []int{1} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong strides", Got: "[2,1] with strides [1]"}},
		"a dimension":     {func(_, src object) { src["shape"] = []int{-2, 1} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong shape", Got: "[-2,1]"}},
		"dtype":           {func(_, src object) { src["dtype"] = "c64" }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong dtype", Got: `"c64"`, Want: "one of f32, f64, f16, bf16, i32, i64, u8"}},
		"a wrong dtype":   {func(_, src object) { src["dtype"] = "i32" }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong dtype", Got: "i32"}},
		"align":           {func(_, src object) { src["align"] = 2 }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "wrong strides", Got: "align 2", Want: "0 to 15, a multiple of 4"}},
		"on the output":   {func(_, src object) { src["at"] = 128 }, Failure{Class: "ArgError", Op: "Resample", Arg: "Dst", Kind: "output overlaps itself", Got: "memory of Src", Want: "its own memory"}},
		"no source":       {func(r, _ object) { delete(r["tensors"].(object), "Src") }, Failure{Class: "ArgError", Op: "Resample", Arg: "Src", Kind: "missing argument"}},
		"a tensor":        {func(r, _ object) { r["tensors"].(object)["Sauce"] = object{} }, Failure{Class: "RequestError", Arg: "tensors.Sauce", Got: "a tensor that Resample does not take"}},
		"a stream's":      {func(r, src object) { r["tensors"].(object)["Streams[0].Src"] = src }, Failure{Class: "RequestError", Arg: "tensors.Streams[0].Src"}},
		"a field of one":  {func(_, src object) { src["stride"] = 1 }, Failure{Class: "RequestError", Arg: "stride", Got: "a field that is not known"}},
		"op":              {func(r, _ object) { r["op"] = "multiply" }, Failure{Class: "RequestError", Arg: "op", Got: `"multiply"`, Want: "one of deproject, farthest_points, fuse, fuse_backward, resample, resample_backward, voxelize"}},
		"grid":            {func(r, _ object) { r["grid"] = object{} }, Failure{Class: "RequestError", Arg: "grid", Got: "a field that is not known"}},
		"an option":       {func(r, _ object) { r["options"] = object{"kind": "linear"} }, Failure{Class: "RequestError", Arg: "kind", Got: "a field that is not known"}},
		"kind":            {func(r, _ object) { r["options"] = object{"interp": "liner"} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Options.Interp", Kind: "wrong option", Got: `"liner"`}},
		"edge":            {func(r, _ object) { r["options"] = object{"edge": "wrap"} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Options.Edge", Kind: "wrong option", Got: `"wrap"`}},
		"a channel":       {func(r, _ object) { r["options"] = object{"channels": []object{{"hi": 1, "quat": "zyxw"}}} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Options.Channels[0].Quat", Kind: "wrong option", Got: `"zyxw"`}},
		"a limit below 0": {func(r, _ object) { r["options"] = object{"max_gap": -1} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Options.MaxGap", Kind: "wrong option"}},
		"fill":            {func(r, _ object) { r["options"] = object{"fill": "none"} }, Failure{Class: "RequestError", Got: `"none"`}},
		"a fill too far":  {func(r, _ object) { r["options"] = object{"fill": json.Number("1e400")} }, Failure{Class: "RequestError", Got: "1e400"}},
		"anchors beside seconds": {func(r, _ object) {
			at := object{"dtype": "i64", "shape": []int{1}, "at": 192}
			maps.Copy(r["tensors"].(object), object{"SrcTimes": object{"dtype": "f64", "shape": []int{2}, "at": 64}, "Targets.Anchors": at, "Targets.Deltas": at})
		}, Failure{Class: "ArgError", Op: "Resample", Arg: "Targets", Kind: "wrong option", Got: "anchors in nanoseconds beside times in seconds", Want: "times in int64 nanoseconds"}},
		"a rate of none": {func(r, _ object) { r["clock"] = object{"rate": 0, "count": 2} }, Failure{Class: "ArgError", Op: "Resample", Arg: "Targets.Rate", Kind: "wrong option", Got: "0"}},
	} {
		request := simple()
		test.change(request, request["tensors"].(object)["Src"].(object))
		got := c.bad("compute", object{"request": request})
		if test.want.Got == "" {
			got.Got = ""
		}
		if test.want.Want == "" {
			got.Want = ""
		}
		got.Message = ""
		assert.Equal(t, test.want, got, name)
	}
	for _, axis := range []string{"min", "max", "size"} {
		grid := object{"min": []int{0, 0, 0}, "max": []int{1, 1, 1}, "size": []int{1, 1, 1}}
		grid[axis] = []int{1, 2}
		f := c.bad("compute", object{"request": object{"op": "voxelize", "grid": grid}})
		assert.Equal(t, "grid."+axis, f.Arg)
	}
	c.good("compute", object{"request": simple()})
}

// Only bytes are shared: a tensor of none may lie anywhere.
func TestATensorOfNothingSharesNothing(t *testing.T) {
	m, err := NewMemory("a test", 4096)
	require.NoError(t, err)
	defer m.Close()
	from, within := int64(0), int64(64)
	o := &Operation{Name: "Resample", Tensors: []Tensor{{Name: "Dst", Written: true, DType: tensor.F32, Shape: []int{100}, Strides: []int{1}, At: &from},
		{Name: "Src", DType: tensor.F32, Shape: []int{0}, Strides: []int{1}, At: &within}}}
	_, err = o.in(m)
	assert.NoError(t, err)
	o.Tensors[1].Shape[0] = 1
	_, err = o.in(m)
	assert.ErrorContains(t, err, "Dst: output overlaps itself: got memory of Src")
}

// A bad value is an error with its row and index.
func TestABadValueIsToldWithItsPlace(t *testing.T) {
	c := connect(t)
	c.newArena(4096)
	request := simple()
	request["tensors"].(object)["Src"].(object)["shape"] = []int{4, 1}
	times := c.put(of([]int64{0, 5, 3, 9}, 4))
	times["at"] = 64
	copy(c.arena[64:], c.arena[:32])
	request["tensors"].(object)["SrcTimes"] = times
	got := c.bad("compute", object{"request": request})
	row, index := 0, 2
	assert.Equal(t, Failure{Class: "ValueError", Op: "Resample", Arg: "SrcTimes", Kind: "time goes backwards", Row: &row, Index: &index, Message: "ops.Resample: SrcTimes: time goes backwards at row 0, index 2"}, got)
}

func TestAPanicIsAnErrorAndTheChildGoesOn(t *testing.T) {
	var said strings.Builder
	var m mouth
	c := newConn(&m, "(devel)")
	c.stderr, c.greeted = &said, true
	c.handlers = map[string]handler{"panic": func(context.Context, *Conn, *Request) (*Reply, error) { panic("of a test") }, "go on": func(context.Context, *Conn, *Request) (*Reply, error) { return nil, nil }}
	m.tape = newTape(append(bytesOf(t, &Frame{JSON: []byte(`{"do":"panic"}`)}), bytesOf(t, &Frame{JSON: []byte(`{"do":"go on"}`)})...))
	require.NoError(t, c.serve(t.Context()))
	require.Len(t, m.sent, 2)
	assert.JSONEq(t, `{"error":{"class":"PanicError","message":"panic in \"panic\": of a test"}}`, string(m.sent[0].JSON))
	assert.JSONEq(t, `{"ok":true}`, string(m.sent[1].JSON))
	assert.Contains(t, said.String(), "refuse_linux_test.go", "the stack")
}

// Resources of a reply are closed after it was sent or failed.
func TestAReplyIsDoneWithWhetherItIsSentOrNot(t *testing.T) {
	done := make(chan bool, 1)
	c, ended := open(t, map[string]handler{"done": func(context.Context, *Conn, *Request) (*Reply, error) {
		return &Reply{Value: object{"large": strings.Repeat("x", 1<<20)}, Done: func() error { done <- true; return nil }}, nil
	}})
	c.hello()
	c.good("done", nil)
	<-done
	require.NoError(t, c.s.send(&Frame{JSON: []byte(`{"do":"done"}`)}))
	require.NoError(t, c.s.Close())
	<-done
	assert.NoError(t, <-ended)
}

// If the client is gone, the context of a waiting handler is cancelled.
func TestAHandlersContextEndsWithTheConnection(t *testing.T) {
	began := make(chan bool)
	c, ended := open(t, map[string]handler{"wait": func(ctx context.Context, _ *Conn, _ *Request) (*Reply, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	c.hello()
	require.NoError(t, c.s.send(&Frame{JSON: []byte(`{"do":"wait"}`)}))
	<-began
	require.NoError(t, c.s.Close())
	assert.NoError(t, <-ended)
}

// An arena takes the place of the one before, and nothing stays of a connection.
func TestNothingOfAConnectionStays(t *testing.T) {
	before := openFiles(t)
	c, ended := open(t, nil)
	c.hello()
	c.newArena(1)
	first := openFiles(t)
	for n := range 50 {
		c.newArena(n * 10_000)
		assert.GreaterOrEqual(t, len(c.arena), n*10_000)
	}
	assert.Equal(t, first, openFiles(t))
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(maps), "memfd:robocache"), "mapped here, by both sides")
	c.unmap()
	require.NoError(t, c.s.Close())
	require.NoError(t, <-ended)
	assert.Equal(t, before, openFiles(t))
	maps = filetest.Read(t, "/proc/self/maps")
	assert.NotContains(t, string(maps), "memfd:robocache")
}

// No request takes a descriptor. One that comes with a request is closed, whether that succeeds or not.
func TestADescriptorThatNobodyWantsIsClosed(t *testing.T) {
	c := connect(t)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	before := openFiles(t)
	for _, text := range []string{`{"do":"report"}`, `{"do":"stats","dtype":"i64"}`, `{`} {
		for range 10 {
			require.NoError(t, c.s.send(&Frame{JSON: []byte(text), File: null}))
			_, err := c.read()
			require.NoError(t, err)
		}
	}
	c.good("stats", object{"dtype": "i64"}) // that of the request before is closed after its reply
	assert.Equal(t, before, openFiles(t))
}

func TestEveryRequestIsInTheDocumentation(t *testing.T) {
	text := filetest.Read(t, "doc.go")
	for name := range handlers {
		assert.Contains(t, string(text), "\n//\t"+name+" ", name)
	}
}

// The helper takes no socket that a program could have reached by a name, and none of a network.
func TestASocketWithANameIsRefused(t *testing.T) {
	for network, address := range map[string]string{"unix": filepath.Join(t.TempDir(), "s"), "tcp": "127.0.0.1:0"} {
		listener, err := net.Listen(network, address)
		require.NoError(t, err)
		conn, err := net.Dial(network, listener.Addr().String())
		require.NoError(t, err)
		accepted, err := listener.Accept()
		require.NoError(t, err)
		for _, c := range []net.Conn{conn, accepted} {
			f, err := c.(interface{ File() (*os.File, error) }).File()
			require.NoError(t, err)
			_, err = newSocket(int(f.Fd()))
			var refused *SocketError
			assert.ErrorAs(t, err, &refused, network)
			require.NoError(t, f.Close())
			require.NoError(t, c.Close())
		}
		require.NoError(t, listener.Close())
	}
}
