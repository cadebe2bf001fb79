package openpi_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/msgpack"
	"github.com/robocache/robocache/internal/openpi"
	"github.com/robocache/robocache/tensor"
)

// array is a "<f4" array as NumPy clients send it.
func array(shape []int, v ...float32) msgpack.Binary {
	data, _ := binary.Append(nil, binary.LittleEndian, v)
	return msgpack.Binary{"__ndarray__": true, "data": data, "dtype": "<f4", "shape": shape}
}

func request(streams map[string]any) []byte { return msgpack.Append(nil, streams) }

var errWindow = errors.New("no such window")

// doubled is a policy: its actions [1,A] are twice the last state row. A row that begins with -1 is an error.
func doubled(_ context.Context, streams map[string]*tensor.Tensor) ([]float64, error) {
	s := streams["state"]
	if s == nil || s.Rank() != 2 || s.Dim(0) == 0 {
		return nil, errWindow
	}
	list, err := tensor.Floats(s)
	if err != nil {
		return nil, err
	}
	row := list[len(list)-s.Dim(1):]
	out := make([]float64, len(row))
	for i := range row {
		out[i] = 2 * row[i]
	}
	if len(row) == 0 || row[0] == -1 {
		return nil, errWindow
	}
	return out, nil
}

func options() openpi.Options {
	return openpi.Options{Predict: doubled, Columns: 2, About: map[string]any{"chunk": 1}, MaxMessage: 1 << 16, MaxConnections: 1100, Timeout: 10 * time.Second,
		Metrics: func(c openpi.Counts) []byte { return fmt.Appendf(nil, "requests %d\n", c.Requests) }}
}

// started is a server that runs until the test ends, and its address.
func started(t testing.TB, o openpi.Options) (*openpi.Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := openpi.New(o)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-done)
		assert.Zero(t, s.Counts().Connections)
	})
	return s, l.Addr().String()
}

// dialled is a connection after its first message.
func dialled(t testing.TB, at string, header http.Header) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), "ws://"+at, &websocket.DialOptions{HTTPHeader: header})
	require.NoError(t, err)
	t.Cleanup(func() { c.CloseNow() })
	_, about := received(t, c)
	assert.Equal(t, map[string]any{"chunk": int64(1)}, about)
	return c
}

func received(t testing.TB, c *websocket.Conn) (kind websocket.MessageType, v any) {
	t.Helper()
	kind, b, err := c.Read(t.Context())
	require.NoError(t, err)
	if kind == websocket.MessageText {
		return kind, string(b)
	}
	v, err = msgpack.Decode(b)
	require.NoError(t, err)
	return kind, v
}

// asked sends a request and returns the actions.
func asked(t testing.TB, c *websocket.Conn, message []byte) []float64 {
	t.Helper()
	require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, message))
	_, v := received(t, c)
	return actionsOf(t, v)
}

func actionsOf(t testing.TB, v any) []float64 {
	t.Helper()
	m, _ := v.(map[string]any)
	require.NotNil(t, m, v)
	a := m["actions"].(map[string]any)
	assert.Equal(t, true, a["__ndarray__"])
	assert.Equal(t, "<f8", a["dtype"])
	assert.Equal(t, []any{int64(1), int64(2)}, a["shape"])
	out := make([]float64, 2)
	_, err := binary.Decode(a["data"].([]byte), binary.LittleEndian, out)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, m["server_timing"].(map[string]any)["infer_ms"], 0.0)
	return out
}

func TestARequestGetsItsActions(t *testing.T) {
	s, at := started(t, options())
	c := dialled(t, at, nil)
	message := request(map[string]any{"state": array([]int{2, 2}, 1, 2, 3, 4)})
	for i := range 3 {
		require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, message))
		_, v := received(t, c)
		assert.Equal(t, []float64{6, 8}, actionsOf(t, v))
		_, later := v.(map[string]any)["server_timing"].(map[string]any)["prev_total_ms"]
		assert.Equal(t, i > 0, later)
	}
	for dtype, data := range map[string][]byte{"<i2": {1, 0, 2, 0}, ">i2": {0, 1, 0, 2}, "|u1": {1, 2}, "<f2": {0, 0x3c, 0, 0x40}, "|b1": {1, 1}, "<f8": binary.LittleEndian.AppendUint64(make([]byte, 8), math.Float64bits(2))} {
		got := asked(t, c, request(map[string]any{"state": map[string]any{"__ndarray__": true, "data": data, "dtype": dtype, "shape": []int{1, 2}}}))
		assert.NotEqual(t, []float64{0, 0}, got, dtype)
	}
	require.NoError(t, c.Close(websocket.StatusNormalClosure, ""))
	assert.Equal(t, int64(9), s.Counts().Requests)
	assert.Zero(t, s.Counts().Errors)
}

// An error is a text message, and then the connection ends; others go on.
func TestAnErrorIsATextAndTheEnd(t *testing.T) {
	s, at := started(t, options())
	other := dialled(t, at, nil)
	good := request(map[string]any{"state": array([]int{1, 2}, 1, 2)})
	changed := func(key string, v any) []byte {
		a := array([]int{1, 2}, 1, 2)
		a[key] = v
		return request(map[string]any{"state": a})
	}
	cases := map[string][]byte{
		"msgpack: byte 0: got type 0xc1":                      {0xc1},
		"request: got []interface {}, want a map":             msgpack.Append(nil, []any{1}),
		`request: "state": got float64, want an array`:        request(map[string]any{"state": 1.5}),
		`request: "state": got -1 in shape`:                   changed("shape", []int{-1, 2}),
		`request: "state": got a in shape`:                    changed("shape", []string{"a"}),
		`request: "state": got 4 bytes after the array`:       changed("shape", []int{1, 1}),
		`request: "state": got map[string]interface {}, want`: changed("__ndarray__", 1),
		"Python objects": changed("dtype", "|O"),
		`"<U2"`:          changed("dtype", "<U2"),
		"too large":      changed("shape", []int{1 << 40, 1 << 40}),
		"truncated":      changed("shape", []int{1 << 40, 2}),
		"no such window": changed("data", []byte{0, 0, 0x80, 0xbf, 0, 0, 0, 0}),
		"request: got more than 65536 bytes, want fewer": make([]byte, 1<<20),
		"request: got a text message, want a binary one": nil,
	}
	for text, message := range cases {
		c := dialled(t, at, nil)
		kind := websocket.MessageBinary
		if message == nil {
			kind, message = websocket.MessageText, good
		}
		require.NoError(t, c.Write(t.Context(), kind, message))
		kind, got := received(t, c)
		assert.Equal(t, websocket.MessageText, kind)
		assert.Contains(t, got, text)
		_, _, err := c.Read(t.Context())
		assert.Equal(t, websocket.StatusInternalError, websocket.CloseStatus(err), text)
		assert.Equal(t, []float64{2, 4}, asked(t, other, good))
	}
	assert.Equal(t, int64(len(cases)), s.Counts().Errors)

	long := dialled(t, at, nil)
	require.NoError(t, long.Write(t.Context(), websocket.MessageBinary, request(map[string]any{strings.Repeat("\u00e4", 9999): 1})))
	_, got := received(t, long)
	assert.Less(t, len(got.(string)), 5000)
}

func TestOnlyClientsWithTheTokenAreServed(t *testing.T) {
	o := options()
	o.Token, o.MaxConnections = "secret", 1
	s, at := started(t, o)
	get := func(path string, header ...string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+path, nil)
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		a, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		require.NoError(t, err)
		return a.StatusCode, string(b)
	}
	check := func(want int, text, path string, header ...string) {
		t.Helper()
		code, body := get(path, header...)
		assert.Equal(t, want, code)
		assert.Contains(t, body, text)
	}
	key := []string{"Authorization", "Api-Key secret"}
	check(200, "OK\n", "/healthz")
	for _, path := range []string{"/", "/metrics", "/other"} {
		check(401, "no valid token", path)
		check(401, "no valid token", path, "Authorization", "Api-Key other")
		check(403, "a web page", path, append(key, "Origin", "http://"+at)...)
	}
	check(200, "requests 0\n", "/metrics", key...)
	check(404, "", "/other", key...)
	check(426, "", "/", key...)
	assert.Equal(t, int64(9), s.Counts().Refused)
	_, r, err := websocket.Dial(t.Context(), "ws://"+at, nil)
	require.Error(t, err)
	assert.Equal(t, 401, r.StatusCode)
	c := dialled(t, at, http.Header{"Authorization": {"Api-Key secret"}})
	check(503, "too many connections", "/", key...)
	check(200, "OK\n", "/healthz")
	require.NoError(t, c.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool { return s.Counts().Connections == 0 }, 10*time.Second, time.Millisecond)
	dialled(t, at, http.Header{"Authorization": {"Api-Key secret"}})
}

// raw is a connection after its handshake, without a library.
func raw(t testing.TB, at string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", at)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", at)
	require.NoError(t, err)
	r := bufio.NewReader(c)
	a, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, a.StatusCode)
	return c, r
}

// A client that stops within a message, does not read its replies, or breaks the protocol loses its connection, and others are served.
func TestSlowAndBrokenClientsAreLeft(t *testing.T) {
	o := options()
	o.Timeout = 300 * time.Millisecond
	s, at := started(t, o)
	good := request(map[string]any{"state": array([]int{1, 2}, 1, 2)})
	var open []net.Conn
	for _, begun := range [][]byte{
		{0x82, 0xfe, 0xff, 0xff, 1, 2, 3, 4, 0xde},                               // the first byte of a message
		{0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}, // one with 2^63 bytes
		{0x02, 0x81, 0, 0, 0, 0, 0x80},                                           // a fragment
		{0x82, 0x01, 0x80},                                                       // without a mask
		{0x83, 0x80, 0, 0, 0, 0},                                                 // an unknown opcode
		{0xf2, 0x80, 0, 0, 0, 0},                                                 // compressed, which was not agreed
		{0x88, 0x81, 0, 0, 0, 0, 0},                                              // a close with one byte
		[]byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		c, _ := raw(t, at)
		_, err := c.Write(begun)
		require.NoError(t, err)
		open = append(open, c)
	}
	deaf, _ := raw(t, at)
	go func() {
		frame := append([]byte{0x82, 0x80 | byte(len(good)), 0, 0, 0, 0}, good...)
		for err := error(nil); err == nil; {
			_, err = deaf.Write(frame) // until the server ends the connection
		}
	}()
	gone, _ := raw(t, at)
	require.NoError(t, gone.Close())
	header, err := net.Dial("tcp", at)
	require.NoError(t, err)
	defer header.Close()
	_, err = header.Write([]byte("GET / HT"))
	require.NoError(t, err)
	for _, c := range append(open, header) {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, err := io.Copy(io.Discard, c)
		assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	require.Eventually(t, func() bool { return s.Counts().Connections == 0 }, 20*time.Second, time.Millisecond)
	assert.Equal(t, []float64{2, 4}, asked(t, dialled(t, at, nil), good))
}

// A request that gets no turn in time is an error, and one that has its turn ends when Serve ends.
func TestARequestWaitsForItsTurn(t *testing.T) {
	o := options()
	o.Timeout = 100 * time.Millisecond
	hold, begun := make(chan struct{}), make(chan struct{})
	var first sync.Once
	o.Predict = func(ctx context.Context, streams map[string]*tensor.Tensor) ([]float64, error) {
		first.Do(func() { close(begun); <-hold })
		return doubled(ctx, streams)
	}
	s, at := started(t, o)
	good := request(map[string]any{"state": array([]int{1, 2}, 1, 2)})
	a, b := dialled(t, at, nil), dialled(t, at, nil)
	require.NoError(t, a.Write(t.Context(), websocket.MessageBinary, good))
	<-begun
	require.NoError(t, b.Write(t.Context(), websocket.MessageBinary, good))
	kind, text := received(t, b)
	assert.Equal(t, websocket.MessageText, kind)
	assert.Equal(t, "no turn within 100ms", text)
	close(hold)
	_, v := received(t, a)
	assert.Equal(t, []float64{2, 4}, actionsOf(t, v))
	assert.GreaterOrEqual(t, s.Counts().Predicting, 100*time.Millisecond)
}

// A panic in the policy ends the connection, and the server goes on.
func TestAPanicEndsItsConnection(t *testing.T) {
	o := options()
	o.Predict = func(ctx context.Context, streams map[string]*tensor.Tensor) ([]float64, error) {
		if streams["panic"] != nil {
			panic(http.ErrAbortHandler) // which net/http does not print
		}
		return doubled(ctx, streams)
	}
	_, at := started(t, o)
	c := dialled(t, at, nil)
	require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, request(map[string]any{"panic": array([]int{0})})))
	_, _, err := c.Read(t.Context())
	require.Error(t, err)
	assert.Equal(t, []float64{2, 4}, asked(t, dialled(t, at, nil), request(map[string]any{"state": array([]int{1, 2}, 1, 2)})))
}

// A thousand clients get their own actions, twice, and leave no memory and no goroutine.
func TestAThousandConnections(t *testing.T) {
	s, at := started(t, options())
	round := func() {
		var wait sync.WaitGroup
		var served atomic.Int64
		all := make(chan struct{})
		for i := range 1000 {
			wait.Go(func() {
				c, _, err := websocket.Dial(t.Context(), "ws://"+at, nil)
				if !assert.NoError(t, err) {
					return
				}
				defer c.CloseNow()
				received(t, c)
				if served.Add(1) == 1000 {
					close(all)
				}
				<-all // so that all are open at once
				for k := range 3 {
					assert.Equal(t, []float64{float64(2 * i), float64(2 * k)}, asked(t, c, request(map[string]any{"state": array([]int{1, 2}, float32(i), float32(k))})))
				}
			})
		}
		wait.Wait()
		require.Eventually(t, func() bool { return s.Counts().Connections == 0 }, 20*time.Second, time.Millisecond)
	}
	memory := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round()
	before, goroutines := memory(), runtime.NumGoroutine()
	round()
	assert.Less(t, memory(), before+2<<20)
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+20)
	assert.Equal(t, int64(6000), s.Counts().Requests)
	assert.Zero(t, s.Counts().Errors)
}

// pipe is a listener for connections within the process.
type pipe struct{ conns chan net.Conn }

func (p *pipe) Accept() (net.Conn, error) {
	if c := <-p.conns; c != nil {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p *pipe) Close() error   { return nil }
func (p *pipe) Addr() net.Addr { return &net.TCPAddr{} }

// FuzzMessage sends a message with any content. The answer is a reply or a text.
func FuzzMessage(f *testing.F) {
	f.Add(request(map[string]any{"state": array([]int{1, 2}, 1, 2)}))
	f.Add(request(map[string]any{"state": array([]int{1 << 40, 2}, 1, 2)}))
	f.Add(request(map[string]any{"state": map[string]any{"__ndarray__": true, "data": []byte{1, 2}, "dtype": ">f2", "shape": []int{1, 1}}, "action": nil}))
	f.Add([]byte{0xdf, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, message []byte) {
		streams, err := openpi.ReadRequest(message)
		if err == nil {
			for _, s := range streams {
				require.LessOrEqual(t, s.Len(), len(message))
			}
			_, _ = doubled(t.Context(), streams)
			return
		}
		var decode *msgpack.Error
		var bad *openpi.RequestError
		var format *dataset.FormatError
		require.True(t, errors.As(err, &decode) || errors.As(err, &bad) || errors.As(err, &format), "%T %v", err, err)
	})
}

// FuzzConnection sends any bytes after the handshake. The server ends the connection, or answers.
func FuzzConnection(f *testing.F) {
	good := request(map[string]any{"state": array([]int{1, 2}, 1, 2)})
	f.Add(append([]byte{0x82, 0x80 | byte(len(good)), 0, 0, 0, 0}, good...))
	f.Add([]byte{0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4})
	f.Add([]byte{0x02, 0x81, 0, 0, 0, 0, 0x80, 0x89, 0x80, 0, 0, 0, 0, 0x80, 0x80, 0, 0, 0, 0})
	f.Add([]byte{0x88, 0x82, 0, 0, 0, 0, 3, 0xe8})
	s := openpi.New(options())
	l := &pipe{make(chan net.Conn)}
	go s.Serve(context.Background(), l)
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, theirs := net.Pipe()
		l.conns <- theirs
		done := make(chan struct{})
		go func() {
			defer close(done)
			io.Copy(io.Discard, ours)
		}()
		fmt.Fprint(ours, "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		ours.Write(data) // fails if the server ends the connection
		ours.Close()
		<-done
		for end := time.Now().Add(10 * time.Second); s.Counts().Connections > 0; runtime.Gosched() {
			require.True(t, time.Now().Before(end))
		}
	})
}

// Without an upgrade header there is no session.
func TestAnOrdinaryRequestIsNoSession(t *testing.T) {
	w := httptest.NewRecorder()
	s := openpi.New(options())
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
	assert.Equal(t, http.StatusUpgradeRequired, w.Code)
	assert.Zero(t, s.Counts().Connections)
}
