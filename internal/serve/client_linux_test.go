package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/tensor"
)

// client is the other end of a connection. It does the Python package's part.
type client struct {
	t     testing.TB
	s     *socket
	arena []byte
	inode uint64 // the arena's inode
	used  int
}

// pair returns the two ends of a connection.
func pair(t testing.TB) (ours, theirs *socket) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, err = newSocket(fds[0])
	require.NoError(t, err)
	theirs, err = newSocket(fds[1])
	require.NoError(t, err)
	return ours, theirs
}

// connect serves a connection in this process until the test ends, and sends hello.
func connect(t testing.TB) *client {
	c, ended := open(t, nil)
	t.Cleanup(func() {
		c.s.shutdown()
		assert.NoError(t, <-ended)
		assert.NoError(t, c.s.Close())
	})
	c.hello()
	return c
}

// open is connect without hello. It also returns a channel that receives the connection's error when it ends. more has extra handlers.
func open(t testing.TB, more map[string]handler) (*client, chan error) {
	t.Helper()
	ours, theirs := pair(t)
	ended := make(chan error, 1)
	conn := newConn(theirs, "(devel)")
	if more != nil {
		conn.handlers = maps.Clone(handlers)
		maps.Copy(conn.handlers, more)
	}
	go func() {
		err := serveSocket(context.Background(), theirs, conn)
		_ = theirs.Close()
		ended <- err
		close(ended)
	}()
	t.Cleanup(func() {
		for range ended { // nothing from one test runs in the next
		}
	})
	c := &client{t: t, s: ours}
	t.Cleanup(c.unmap)
	return c, ended
}

type object = map[string]any

// answer is a received reply.
type answer struct {
	object
	blob []byte
	file *os.File
}

// error decodes the reply's error.
func (a answer) error() Failure {
	var f struct{ Error *Failure }
	text, _ := json.Marshal(a.object)
	_ = json.Unmarshal(text, &f)
	if f.Error == nil {
		return Failure{}
	}
	return *f.Error
}

// try sends a request and reads the reply.
func (c *client) try(do string, fields object, blob []byte) (a answer, err error) {
	request := object{"do": do}
	for k, v := range fields {
		request[k] = v
	}
	text, err := json.Marshal(request)
	if err != nil {
		return a, err
	}
	if err := c.s.send(&Frame{JSON: text, Blob: blob}); err != nil {
		return a, err
	}
	return c.read()
}

func (c *client) read() (a answer, err error) {
	f, err := readFrame(c.s)
	if err != nil {
		return a, err
	}
	d := json.NewDecoder(bytes.NewReader(f.JSON))
	d.UseNumber()
	return answer{blob: f.Blob, file: f.File, object: a.object}, func() error { err := d.Decode(&a.object); return err }()
}

// ask is try for a request that must not end the connection.
func (c *client) ask(do string, fields object) answer {
	c.t.Helper()
	a, err := c.try(do, fields, nil)
	require.NoError(c.t, err)
	return a
}

// good is ask for a request that must succeed.
func (c *client) good(do string, fields object) answer {
	c.t.Helper()
	a := c.ask(do, fields)
	require.Equal(c.t, true, a.object["ok"], a.object)
	return a
}

// bad is ask for a request that must fail.
func (c *client) bad(do string, fields object) Failure {
	c.t.Helper()
	a := c.ask(do, fields)
	require.NotContains(c.t, a.object, "ok")
	require.NotEmpty(c.t, a.error().Message)
	return a.error()
}

func (c *client) hello() answer {
	c.t.Helper()
	return c.good("hello", object{"protocol": Protocol, "version": "0.0.0.dev0"})
}

// newArena requests an arena and maps it.
func (c *client) newArena(n int) {
	c.t.Helper()
	a := c.good("arena", object{"bytes": n})
	require.NotNil(c.t, a.file)
	size, err := a.object["bytes"].(json.Number).Int64()
	require.NoError(c.t, err)
	c.unmap()
	c.arena, err = unix.Mmap(int(a.file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(c.t, err)
	var stat unix.Stat_t
	require.NoError(c.t, unix.Fstat(int(a.file.Fd()), &stat))
	c.inode, c.used = stat.Ino, 0
	require.NoError(c.t, a.file.Close())
}

func (c *client) unmap() {
	if c.arena != nil {
		_ = unix.Munmap(c.arena)
	}
	c.arena = nil
}

// put copies a contiguous tensor to the arena and returns its description there.
func (c *client) put(t *tensor.Tensor) object {
	c.t.Helper()
	data, err := raw.Of(t)
	require.NoError(c.t, err)
	o := c.place(t.DType(), t.Shape()...)
	copy(c.arena[o["at"].(int):], data)
	return o
}

// place returns the description of a tensor in an unused part of the arena.
func (c *client) place(dtype tensor.DType, shape ...int) object {
	c.t.Helper()
	n, err := tensor.NumElements(shape...)
	require.NoError(c.t, err)
	at := (c.used + arenaAlign - 1) / arenaAlign * arenaAlign
	c.used = at + n*dtype.Size()
	require.LessOrEqual(c.t, c.used, len(c.arena))
	return object{"dtype": dtype.String(), "shape": shape, "at": at}
}

// get returns a contiguous tensor's bytes.
func (c *client) get(o object) []byte {
	dtype, err := tensor.ParseDType(o["dtype"].(string))
	require.NoError(c.t, err)
	n, err := tensor.NumElements(o["shape"].([]int)...)
	require.NoError(c.t, err)
	at := o["at"].(int)
	return bytes.Clone(c.arena[at : at+n*dtype.Size()])
}
