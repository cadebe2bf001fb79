package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// omits is what a file of the conformance set lacks that does not have a feature.
var omits = map[string]Omit{"ch": OmitChunks, "mx": OmitMessageIndex, "chx": OmitChunkIndex, "st": OmitStatistics, "rsh": OmitSchemas, "rch": OmitChannels,
	"ax": OmitAttachmentIndex, "mdx": OmitMetadataIndex, "sum": OmitSummaryOffsets}

func TestTheWriterWritesTheBytesOfTheConformanceSet(t *testing.T) {
	same := 0
	for _, f := range conformanceSet(t) {
		if slices.Contains(f.features, "pad") {
			continue // bytes behind the fields that there are
		}
		opt := WriterOptions{Compression: NoCompression}
		for feature, omit := range omits {
			if !slices.Contains(f.features, feature) {
				opt.Omit |= omit
			}
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, opt)
		require.NoError(t, err)
		records, err := readRecords(f.file)
		require.NoError(t, err)
		for _, record := range records[:slices.IndexFunc(records, func(r Record) bool { return r.Opcode() == OpDataEnd })] {
			switch x := record.(type) {
			case *Schema:
				_, err = w.AddSchema(x.Name, x.Encoding, bytes.Clone(x.Data))
			case *Channel:
				_, err = w.AddChannel(x.Topic, x.MessageEncoding, x.SchemaID, x.Metadata)
			case *Message:
				err = w.Message(x)
			case *Attachment:
				err = w.Attachment(x)
			case *Metadata:
				err = w.Metadata(x)
			}
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		require.Equal(t, f.file, out.Bytes(), f.name)
		same++
	}
	assert.Equal(t, 208, same, "files, all without padding")
}

// written makes a file of messages of three topics, with an attachment and metadata, and returns it and the messages.
func written(t testing.TB, opt WriterOptions, messages int) ([]byte, []seen) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	w, err := NewWriter(&out, opt)
	require.NoError(t, err)
	schema, err := w.AddSchema("pkg/Type", "ros1msg", []byte("float64 x\n"))
	require.NoError(t, err)
	topics := []string{"/a", "/b", "/c"}
	for i, name := range topics {
		id, err := w.AddChannel(name, "ros1", []uint16{schema, schema, 0}[i], map[string]string{"n": fmt.Sprint(i)})
		require.NoError(t, err)
		require.Equal(t, uint16(i+1), id)
	}
	var list []seen
	for i := range messages {
		data := make([]byte, 8+rng.IntN(8))
		for k := range data {
			data[k] = byte(rng.IntN(4))
		}
		c, at := rng.IntN(3), int64(1_000_000*i+rng.IntN(5_000_000))
		require.NoError(t, w.Message(&Message{uint16(c + 1), uint32(i), uint64(at), uint64(at - 5 + 10), data}))
		list = append(list, seen{topics[c], at, at + 5, string(data)})
		if i == messages/2 {
			require.NoError(t, w.Attachment(&Attachment{LogTime: 1, Name: "a.yaml", MediaType: "text/yaml", Data: []byte("a: 1\n")}))
			require.NoError(t, w.Metadata(&Metadata{"site", map[string]string{"city": "Delft", "hall": "3"}}))
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes(), list
}

// variants are ways to write a file.
var variants = map[string]WriterOptions{
	"zstd": {Profile: "ros1", Library: "test", ChunkSize: 1000}, "lz4": {Compression: LZ4, ChunkSize: 1000}, "uncompressed": {Compression: NoCompression, ChunkSize: 1000},
	"unindexed": {ChunkSize: 1000, Omit: OmitSummary}, "unchunked": {Omit: OmitChunks}, "bare": {Omit: OmitChunks | OmitSummary | OmitCRC},
	"no repeats": {ChunkSize: 1000, Omit: OmitSchemas | OmitChannels | OmitCRC | OmitMessageIndex},
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for name, opt := range variants {
		t.Run(name, func(t *testing.T) {
			b, want := written(t, opt, 300)
			l, got, damage := readLog(t, b)
			assert.Empty(t, damage)
			assert.Equal(t, want, got)
			assert.Equal(t, want, inOrder(t, b))
			said := l.Said()
			assert.Equal(t, "Delft", said["site.city"])
			assert.Equal(t, "text/yaml, 5 bytes", said["attachment a.yaml"])
			assert.Equal(t, opt.Profile, said["profile"])
			if opt.Omit&OmitChunks == 0 {
				assert.Greater(t, l.Parts(), 5)
			}
			channels := l.Channels()
			require.Len(t, channels, 3)
			for _, c := range channels {
				assert.Equal(t, c.Topic != "/c", c.Schema.Name == "pkg/Type")
			}
		})
	}
}

// full is an output that has no more room.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.left)
	f.left -= n
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func TestAFailedWriteIsTheErrorOfAllThatFollows(t *testing.T) {
	for _, room := range []int{0, 70_000, 200_000} {
		w, err := NewWriter(&full{room}, WriterOptions{Compression: NoCompression, ChunkSize: 50_000})
		require.NoError(t, err)
		id, err := w.AddChannel("/a", "json", 0, nil)
		require.NoError(t, err)
		for range 100 {
			if err = w.Message(&Message{ChannelID: id, Data: make([]byte, 10_000)}); err != nil {
				break
			}
		}
		require.ErrorIs(t, err, io.ErrShortWrite)
		require.ErrorIs(t, w.Metadata(&Metadata{}), io.ErrShortWrite)
		require.ErrorIs(t, w.Close(), io.ErrShortWrite)
	}
}

func TestTheWriterRefusesWhatCannotBe(t *testing.T) {
	w, err := NewWriter(io.Discard, WriterOptions{})
	require.NoError(t, err)
	_, err = w.AddChannel("/a", "json", 1, nil)
	require.ErrorIs(t, err, dataset.ErrOption)
	require.EqualError(t, err, "mcap: channel /a: got schema 1, want one of AddSchema, or 0")
	require.ErrorIs(t, w.Message(&Message{ChannelID: 1}), dataset.ErrOption)
	require.ErrorIs(t, w.Message(&Message{}), dataset.ErrOption)
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Metadata(&Metadata{}), dataset.ErrClosed)
	_, err = NewWriter(io.Discard, WriterOptions{Compression: 9})
	require.ErrorIs(t, err, dataset.ErrOption)
	_, err = NewWriter(io.Discard, WriterOptions{ChunkSize: -1})
	require.ErrorIs(t, err, dataset.ErrOption)
}

func TestAFileIsThereWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mcap")
	stop := errors.New("stop")
	require.ErrorIs(t, WriteFile(path, WriterOptions{}, func(*Writer) error { return stop }), stop)
	require.NoFileExists(t, path)
	require.NoError(t, WriteFile(path, WriterOptions{}, func(w *Writer) error { return w.Metadata(&Metadata{"a", nil}) }))
	b := filetest.Read(t, path)
	l, _, damage := readLog(t, b)
	assert.Empty(t, damage)
	assert.Len(t, l.Metadata, 1)
}
