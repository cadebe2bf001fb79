package serve

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// tape is a connection that returns bytes a few at a time.
type tape struct {
	*bytes.Reader
	piece int
}

func newTape(b []byte) *tape { return &tape{bytes.NewReader(b), 7} }

func (t *tape) Read(p []byte) (int, error) { return t.Reader.Read(p[:min(len(p), t.piece)]) }

func (t *tape) receive(p []byte) (int, []*os.File, error) {
	n, err := t.Read(p)
	return n, nil, err
}

// bytesOf returns a frame's bytes on the wire.
func bytesOf(t testing.TB, f *Frame) []byte {
	head, err := f.header()
	require.NoError(t, err)
	return append(append(head, f.JSON...), f.Blob...)
}

// records returns frames of each kind.
func records() map[string]*Frame {
	return map[string]*Frame{
		"a request":         {JSON: []byte(`{"do":"hello","protocol":1,"version":"1"}`)},
		"one with a blob":   {JSON: []byte(`{"do":"counts","target":0,"request":{}}`), Blob: []byte("0123456789abcdef")},
		"a reply":           {JSON: []byte(`{"ok":true}`)},
		"one with a blob, ": {JSON: []byte(`{"ok":true,"plan":{}}`), Blob: make([]byte, 100)},
		"an error":          {JSON: []byte(`{"error":{"class":"ArgError","message":"no"}}`)},
		"nothing":           {},
		"a blob alone":      {Blob: []byte{1}},
	}
}

func TestAFrameCutAtAnyByteIsAnError(t *testing.T) {
	for name, f := range records() {
		whole := bytesOf(t, f)
		for n := range whole {
			_, err := readFrame(newTape(whole[:n]))
			if n == 0 {
				assert.Equal(t, io.EOF, err, name)
				continue
			}
			assert.Equal(t, io.ErrUnexpectedEOF, err, "%s, cut at byte %d", name, n)
		}
		got, err := readFrame(newTape(append(whole, "more"...)))
		require.NoError(t, err, name)
		assert.Equal(t, string(f.JSON), string(got.JSON), name)
		assert.Equal(t, string(f.Blob), string(got.Blob), name)
	}
}

func TestWhatIsNoFrameIsRefused(t *testing.T) {
	head := func(magic string, words ...uint32) []byte {
		b := []byte(magic)
		for _, w := range words {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		return b
	}
	for want, b := range map[string][]byte{
		`"RCF2" first`:                                 head("RCF2", 2, 0, 0),
		"67108865 bytes of JSON and 0 of blob":         head(magic, MaxJSON+1, 0, 0),
		"0 bytes of JSON and 1073741825 of blob":       head(magic, 0, MaxBlob+1, 0),
		"4294967295 bytes of JSON and 4294967295 of b": head(magic, 1<<32-1, 1<<32-1, 0),
		"0 descriptors, and 1 in the header":           head(magic, 0, 0, 1),
		"0 descriptors, and 4294967295 in the header":  head(magic, 0, 0, 1<<32-1),
	} {
		_, err := readFrame(newTape(b))
		require.ErrorAs(t, err, new(*FrameError), want)
		assert.ErrorContains(t, err, want)
	}
	_, err := (&Frame{JSON: make([]byte, MaxJSON+1)}).header()
	assert.ErrorAs(t, err, new(*FrameError))
}

// A header that announces a gigabyte, with little data after it, costs little memory.
func TestAFrameTakesNoMoreMemoryThanArrives(t *testing.T) {
	b := append([]byte(magic), 0, 0, 0, 4, 0, 0, 0, 64, 0, 0, 0, 0) // the largest JSON and blob
	for arrives, most := range map[int]uint64{100: 1 << 17, 1 << 20: 5 << 20} {
		var before, after runtime.MemStats
		frame := append(bytes.Clone(b), make([]byte, arrives)...)
		r := &tape{bytes.NewReader(frame), 1 << 20}
		runtime.ReadMemStats(&before)
		_, err := readFrame(r)
		runtime.ReadMemStats(&after)
		assert.Equal(t, io.ErrUnexpectedEOF, err)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, most, "bytes allocated where %d arrived", arrives)
	}
}

func TestDescriptorsArriveAndNoneIsLeft(t *testing.T) {
	ours, theirs := pair(t)
	defer ours.Close()
	defer theirs.Close()
	before := openFiles(t)
	m, err := NewMemory("a test", 1)
	require.NoError(t, err)
	m.Bytes()[0] = 42
	require.NoError(t, ours.send(&Frame{JSON: []byte("{}"), File: m.File()}))
	f, err := readFrame(theirs)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	var b [1]byte
	_, err = f.File.ReadAt(b[:], 0)
	require.NoError(t, err)
	assert.Equal(t, byte(42), b[0])
	flags, err := unix.FcntlInt(f.File.Fd(), unix.F_GETFD, 0)
	require.NoError(t, err)
	assert.Equal(t, unix.FD_CLOEXEC, flags&unix.FD_CLOEXEC, "another program would get it")
	assert.Error(t, f.File.Truncate(0), "a memory that can be cut takes the process with it")
	assert.Error(t, f.File.Truncate(1<<30))
	require.NoError(t, f.File.Close())

	// Two descriptors if the header has one, and one if the header has none.
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	for says, sent := range map[byte][]int{1: {int(null.Fd()), int(null.Fd())}, 0: {int(null.Fd())}} {
		head := append([]byte(magic), 0, 0, 0, 0, 0, 0, 0, 0, says, 0, 0, 0)
		require.NoError(t, unix.Sendmsg(ours.fd, head, unix.UnixRights(sent...), nil, 0))
		_, err = readFrame(theirs)
		require.ErrorAs(t, err, new(*FrameError))
	}
	require.NoError(t, null.Close())
	assert.Equal(t, before, openFiles(t))
}

// openFiles returns the number of descriptors in this process.
func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

func FuzzFrame(f *testing.F) {
	for _, r := range records() {
		f.Add(bytesOf(f, r))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readFrame(newTape(b))
		if err != nil {
			return
		}
		assert.Equal(t, b[:headerBytes+len(got.JSON)+len(got.Blob)], bytesOf(t, got), "what was read is what is written")
	})
}
