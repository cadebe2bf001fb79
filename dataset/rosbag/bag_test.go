package rosbag

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

const float = "float64 data\n"

// two is a bag of two chunks, and what is in it: /a with two publishers, /b with one that the first chunk does not define.
func two(compression string) (*build, []told) {
	w := newBuild()
	w.connection(0, "/a", "p/F", float).message(0, 10, []byte("one")).connection(1, "/a", "p/F", float).message(1, 20, []byte("two")).message(0, 30, nil).end(compression)
	w.message(0, 40, []byte("four")).connection(2, "/b", "p/G", float).message(2, 50, []byte("five")).end(compression)
	return w, []told{{"/a", "p/F", 10, "one"}, {"/a", "p/F", 20, "two"}, {"/a", "p/F", 30, ""}, {"/a", "p/F", 40, "four"}, {"/b", "p/G", 50, "five"}}
}

func TestMessagesComeInFileOrderByTheIndexOrAScan(t *testing.T) {
	for _, compression := range []string{"none", "lz4"} {
		w, want := two(compression)
		open := slices.Clone(w.b)
		list, damage := parse(t, w.close())
		assert.Equal(t, want, list, compression)
		assert.Empty(t, damage, compression)
		list, damage = parse(t, open)
		assert.Equal(t, want, list, compression)
		require.Len(t, damage, 1)
		assert.Equal(t, dataset.CodeNotClosed, damage[0].Code)
		assert.Contains(t, damage[0].String(), "the bag was not closed")
	}
}

func TestChunksNeedNotBeInTheOrderOfTime(t *testing.T) {
	w := newBuild().connection(0, "/a", "p/F", float).message(0, 5e9, nil).end("none")
	w.message(0, 1e9, nil).end("lz4").message(0, 3e9, nil).end("none")
	list, damage := parse(t, w.close())
	assert.Empty(t, damage)
	assert.Equal(t, []told{{"/a", "p/F", 5e9, ""}, {"/a", "p/F", 1e9, ""}, {"/a", "p/F", 3e9, ""}}, list)
}

// The index should have them all; where it has not, chunks are looked through.
func TestConnectionsMayBeInChunksOnlyAndAfterTheirMessages(t *testing.T) {
	for name, w := range map[string]*build{
		"in a later chunk": newBuild().message(3, 10, []byte("x")).end("lz4").hidden(3, "/a", "p/F", float).end("lz4"),
		"after it":         newBuild().message(3, 10, []byte("x")).hidden(3, "/a", "p/F", float).end("none"),
		"in the index":     newBuild().message(3, 10, []byte("x")).indexed(3, "/a", "p/F", float).end("none"),
	} {
		open := slices.Clone(w.b)
		list, damage := parse(t, w.close())
		assert.Equal(t, []told{{"/a", "p/F", 10, "x"}}, list, name)
		assert.Empty(t, damage, name)
		if name != "in the index" {
			list, _ = parse(t, open)
			assert.Equal(t, []told{{"/a", "p/F", 10, "x"}}, list, name)
		}
	}
}

func TestChannelsComeInTheOrderOfTheirConnectionsAndSayWhoPublished(t *testing.T) {
	w := newBuild().connection(7, "/b", "p/F", float).connection(2, "/a", "p/G", float).message(2, 1, nil).end("none")
	for _, data := range [][]byte{slices.Clone(w.b), w.close()} {
		b, err := open(context.Background(), inMemory(data), "")
		require.NoError(t, err)
		require.Len(t, b.Channels(), 2)
		assert.Equal(t, "/a", b.Channels()[0].Topic)
		assert.Equal(t, map[string]string{"callerid": "/node", "md5sum": "*"}, b.Channels()[1].Metadata)
		assert.Equal(t, float, string(b.Channels()[1].Schema.Data))
	}
}

func TestRecordsAndFieldsOfUnknownKindsArePassedOver(t *testing.T) {
	later := recordOf([]byte("something"), "op", 9, "what", "ever")
	w := newBuild()
	w.b = append(w.b, later...)
	w.connection(0, "/a", "p/F", float).put(later).message(0, 10, []byte("x"))
	w.counts[0]++
	w.put(recordOf([]byte("y"), "later", "field", "time", append(le32(0), le32(20)...), "op", opMessage, "conn", uint32(0))).end("lz4")
	w.b = append(w.b, later...)
	want := []told{{"/a", "p/F", 10, "x"}, {"/a", "p/F", 20, "y"}}
	list, damage := parse(t, slices.Clone(w.b))
	assert.Equal(t, want, list)
	assert.Len(t, damage, 1, "that it is not closed")
	list, damage = parse(t, w.close())
	assert.Equal(t, want, list)
	assert.Empty(t, damage)
}

// The recorder writes the size of a chunk when that is full.
func TestTheChunkThatWasBeingWrittenIsRead(t *testing.T) {
	w, want := two("lz4")
	closed := len(w.b)
	w.message(0, 60, []byte("six")).message(2, 70, []byte("seven"))
	want = append(want, told{"/a", "p/F", 60, "six"}, told{"/b", "p/G", 70, "seven"})
	for _, compression := range []string{"none", "lz4"} {
		data := append(slices.Clone(w.b), recordOf(nil, "op", opChunk, "compression", compression, "size", uint32(0))...)
		list, damage := parse(t, append(data, pack(compression, w.chunk)...))
		assert.Equal(t, want, list, compression)
		assert.LessOrEqual(t, len(damage), 2, "%v", damage)
		list, _ = parse(t, data)
		assert.Equal(t, want[:5], list, compression)
	}
	assert.Len(t, w.b, closed)
}

func TestVersionsAndEncryptionThatAreNotReadAreNamed(t *testing.T) {
	for text, says := range map[string]string{
		"#ROSBAG V1.2\n# and more": `"1.2"`,
		"#ROSRECORD V1.1\n":        `"1.1"`,
		"#ROSBAG V3.0\n":           `"3.0"`,
		magic + string(bagHeader("op", opHeader, "index_pos", uint64(0), "encryptor", "rosbag/AesCbcEncryptor")): "AesCbcEncryptor",
	} {
		_, err := open(context.Background(), inMemory([]byte(text)), "x.bag")
		assert.ErrorIs(t, err, dataset.ErrUnsupported, text)
		assert.ErrorContains(t, err, says)
		assert.ErrorContains(t, err, "x.bag")
	}
	for _, text := range []string{"", "#ROS", "something else"} {
		_, err := open(context.Background(), inMemory([]byte(text)), "x.bag")
		assert.ErrorIs(t, err, dataset.ErrCorrupt, text)
	}
	plain := append([]byte(magic), bagHeader("op", opHeader, "index_pos", uint64(4109), "conn_count", uint32(0), "chunk_count", uint32(0), "encryptor", "rosbag/NoEncryptor")...)
	list, damage := parse(t, plain)
	assert.Empty(t, list)
	assert.Empty(t, damage)
}

func TestMessagesAreReadAgainFromManyGoroutines(t *testing.T) {
	data := filetest.Read(t, "testdata/small-bz2.bag")
	b, err := open(context.Background(), inMemory(data), "")
	require.NoError(t, err)
	b.cache.most = 4000 // of some chunks
	type place struct {
		at   topics.At
		data string
	}
	var places []place
	var damage dataset.Notes
	for i := range b.Parts() {
		require.NoError(t, b.Each(context.Background(), i, &damage, func(m topics.Message) error {
			places = append(places, place{m.At, string(m.Data)})
			return nil
		}))
	}
	require.Len(t, places, 80)
	require.Greater(t, b.Parts(), 5)
	var working sync.WaitGroup
	for g := range 8 {
		working.Go(func() {
			for i := range places {
				p := places[(i*7+g*13)%len(places)]
				got, err := b.Message(context.Background(), p.at)
				assert.NoError(t, err)
				assert.Equal(t, p.data, string(got))
			}
		})
	}
	working.Wait()
	sum := 0
	for _, e := range b.cache.list {
		sum += len(e.data)
	}
	assert.LessOrEqual(t, sum, 4000)
	assert.Positive(t, sum)
	for _, at := range []topics.At{{Part: -1}, {Part: 99}, {Offset: -1}, {Offset: 1 << 40}, {Offset: 3}} {
		_, err := b.Message(context.Background(), at)
		assert.Error(t, err)
	}
}

// A chunk that says it is larger than its bytes can become gets no memory for that.
func TestSizesThatCannotBeTakeNoMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	w := newBuild().connection(0, "/a", "p/F", float).message(0, 10, []byte("x")).end("lz4")
	size := strings.Index(string(w.b), "size=") + len("size=")
	data := slices.Clone(w.close())
	binary.LittleEndian.PutUint32(data[size:], 0xffffffff)
	var list []told
	var damage dataset.Notes
	took := testing.AllocsPerRun(1, func() { list, damage = parse(t, data) })
	assert.Less(t, took, 10000.0)
	assert.Equal(t, []told{{"/a", "p/F", 10, "x"}}, list)
	require.Len(t, damage, 1)
	assert.Contains(t, damage[0].String(), dataset.CodeChunkSize.String())
	b := buffers{}
	require.NoError(t, b.unpack(pack("lz4", []byte("text")), "lz4", 0xffffffff, 1<<20))
	assert.Less(t, cap(b.plain), 10000)
}
