package rosbag

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
)

// build makes a bag. Its methods append to the chunk that is being made.
type build struct {
	b       []byte
	chunk   []byte
	counts  map[uint32]uint32 // messages of the chunk
	defined []byte            // connections, for the index
	conns   uint32
	infos   []byte
	chunks  uint32
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// fields are a record's header: names and values in turn.
func fields(pairs ...any) (b []byte) {
	for i := 0; i < len(pairs); i += 2 {
		var v []byte
		switch p := pairs[i+1].(type) {
		case int: // an op
			v = []byte{byte(p)}
		case uint32:
			v = le32(p)
		case uint64:
			v = le64(p)
		case string:
			v = []byte(p)
		case []byte:
			v = p
		}
		name := pairs[i].(string)
		b = append(append(append(b, le32(uint32(len(name)+1+len(v)))...), name+"="...), v...)
	}
	return b
}

func recordOf(data []byte, pairs ...any) []byte {
	head := fields(pairs...)
	b := append(le32(uint32(len(head))), head...)
	return append(append(b, le32(uint32(len(data)))...), data...)
}

// bagHeader is the record at a bag's beginning, 4096 bytes long.
func bagHeader(pairs ...any) []byte {
	pad := 4096 - 8 - len(fields(pairs...))
	return recordOf(bytes.Repeat([]byte(" "), pad), pairs...)
}

func newBuild() *build {
	w := &build{counts: map[uint32]uint32{}}
	w.b = append([]byte(magic), bagHeader("op", opHeader, "index_pos", uint64(0), "conn_count", uint32(0), "chunk_count", uint32(0))...)
	return w
}

func connectionOf(conn uint32, topic, kind, definition string) []byte {
	return recordOf(fields("topic", topic, "type", kind, "md5sum", "*", "message_definition", definition, "callerid", "/node"), "op", opConnection, "conn", conn, "topic", topic)
}

// connection defines one, in the chunk and in the index.
func (w *build) connection(conn uint32, topic, kind, definition string) *build {
	return w.hidden(conn, topic, kind, definition).indexed(conn, topic, kind, definition)
}

// hidden defines a connection in the chunk only, and indexed in the index only.
func (w *build) hidden(conn uint32, topic, kind, definition string) *build {
	return w.put(connectionOf(conn, topic, kind, definition))
}

func (w *build) indexed(conn uint32, topic, kind, definition string) *build {
	w.defined = append(w.defined, connectionOf(conn, topic, kind, definition)...)
	w.conns++
	return w
}

func messageOf(conn uint32, t int64, data []byte) []byte {
	return recordOf(data, "op", opMessage, "conn", conn, "time", append(le32(uint32(t/1e9)), le32(uint32(t%1e9))...))
}

func (w *build) message(conn uint32, t int64, data []byte) *build {
	w.counts[conn]++
	return w.put(messageOf(conn, t, data))
}

// put adds bytes to the chunk.
func (w *build) put(b []byte) *build {
	w.chunk = append(w.chunk, b...)
	return w
}

func pack(compression string, plain []byte) []byte {
	if compression != "lz4" {
		return plain
	}
	var b bytes.Buffer
	z := lz4.NewWriter(&b)
	if err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
		panic(err)
	}
	if _, err := z.Write(plain); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// end writes the chunk, and an index of its messages whose places are not right.
func (w *build) end(compression string) *build {
	at := len(w.b)
	w.b = append(w.b, recordOf(pack(compression, w.chunk), "op", opChunk, "compression", compression, "size", uint32(len(w.chunk)))...)
	var counts []byte
	for _, conn := range slices.Sorted(maps.Keys(w.counts)) {
		n := w.counts[conn]
		w.b = append(w.b, recordOf(make([]byte, 12*n), "op", opIndex, "ver", uint32(1), "conn", conn, "count", n)...)
		counts = append(append(counts, le32(conn)...), le32(n)...)
	}
	w.infos = append(w.infos, recordOf(counts, "op", opChunkInfo, "ver", uint32(1), "chunk_pos", uint64(at), "start_time", uint64(0), "end_time", uint64(0), "count", uint32(len(w.counts)))...)
	w.chunks++
	w.chunk = nil
	clear(w.counts)
	return w
}

// close writes the index, and returns the bag.
func (w *build) close() []byte {
	head := bagHeader("op", opHeader, "index_pos", uint64(len(w.b)), "conn_count", w.conns, "chunk_count", w.chunks)
	copy(w.b[len(magic):], head)
	w.b = append(append(w.b, w.defined...), w.infos...)
	return w.b
}

// memory is a file in memory.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

func inMemory(data []byte) memory { return memory{bytes.NewReader(data)} }

// told is a message with what its connection says.
type told struct {
	topic, kind string
	time        int64
	data        string
}

// parse reads a bag's messages, in the order of the file, and its damage. Each message is read again too.
func parse(t *testing.T, data []byte) (list []told, damage dataset.Notes) {
	t.Helper()
	list, damage = read(t, data)
	b, err := open(context.Background(), inMemory(data), "test.bag")
	require.NoError(t, err)
	n := 0
	for i := range b.Parts() {
		var ignored dataset.Notes
		require.NoError(t, b.Each(context.Background(), i, &ignored, func(m topics.Message) error {
			again, err := b.Message(context.Background(), m.At)
			require.NoError(t, err)
			require.Equal(t, list[n].data, string(again))
			n++
			return nil
		}))
	}
	return list, damage
}

func read(t *testing.T, data []byte) (list []told, damage dataset.Notes) {
	t.Helper()
	b, err := open(context.Background(), inMemory(data), "test.bag")
	require.NoError(t, err)
	damage = slices.Clone(b.damage)
	for i := range b.Parts() {
		require.NoError(t, b.Each(context.Background(), i, &damage, func(m topics.Message) error {
			c := b.Channels()[m.Channel]
			list = append(list, told{c.Topic, c.Schema.Name, m.Log, string(m.Data)})
			return nil
		}))
	}
	return list, damage
}
