package mcap

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/filetest"
)

// inMemory is a file.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func fileOf(b []byte) inMemory { return inMemory{bytes.NewReader(b)} }

// seen is a message of a log.
type seen struct {
	topic        string
	log, publish int64
	data         string
}

// readLog reads all messages of a log, part by part, and each again.
func readLog(t testing.TB, b []byte) (*fileLog, []seen, dataset.Notes) {
	t.Helper()
	ctx := context.Background()
	var damage dataset.Notes
	l, err := newLog(ctx, fileOf(b), "a.mcap", &damage)
	require.NoError(t, err)
	var list []seen
	for part := range l.Parts() {
		var at []topics.At
		from := len(list)
		require.NoError(t, l.Each(ctx, part, &damage, func(m topics.Message) error {
			list = append(list, seen{l.Channels()[m.Channel].Topic, m.Log, m.Publish, string(m.Data)})
			at = append(at, m.At)
			return nil
		}))
		for i, a := range at {
			data, err := l.Message(ctx, a)
			require.NoError(t, err)
			assert.Equal(t, list[from+i].data, string(data))
		}
	}
	return l, list, damage
}

// inOrder reads all messages by the record reader.
func inOrder(t testing.TB, b []byte) (list []seen) {
	topic := map[uint16]string{}
	records, err := readRecords(b)
	require.NoError(t, err)
	for _, record := range records {
		switch x := record.(type) {
		case *Channel:
			topic[x.ID] = x.Topic
		case *Message:
			list = append(list, seen{topic[x.ChannelID], int64(x.LogTime), int64(x.PublishTime), string(x.Data)})
		}
	}
	return list
}

func TestALogHasAllMessagesOfTheConformanceSet(t *testing.T) {
	for _, f := range conformanceSet(t) {
		l, got, damage := readLog(t, f.file)
		require.Empty(t, damage, f.name)
		require.Equal(t, inOrder(t, f.file), got, f.name)
		for _, c := range l.Channels() {
			require.Equal(t, "example", c.Topic, f.name)
		}
		if s := l.Statistics; s != nil {
			require.Equal(t, int(s.AttachmentCount), len(l.Attachments), f.name)
			require.Equal(t, int(s.MetadataCount), len(l.Metadata), f.name)
		}
		require.Equal(t, slices.Contains(f.features, "st"), l.Statistics != nil, f.name)
	}
}

func TestALogHasAllMessagesOfTheSharedRecordings(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"mcap_generated/*.mcap", "rosbag2_mcap/*.mcap", "rosbag2_mcap/*/*.mcap"} {
		list, err := filepath.Glob("../../../shared/data/" + pattern)
		require.NoError(t, err)
		paths = append(paths, list...)
	}
	if len(paths) == 0 {
		t.Skip("no shared recordings")
	}
	checked := 0
	for _, path := range paths {
		b := filetest.Read(t, path)
		l, got, damage := readLog(t, b)
		assert.Empty(t, damage, path)
		assert.Equal(t, inOrder(t, b), got, path)
		if s := l.Statistics; s != nil { // of who wrote the file
			checked++
			first, last := got[0].log, got[0].log
			for _, m := range got {
				first, last = min(first, m.log), max(last, m.log)
			}
			assert.Equal(t, []uint64{s.MessageCount, s.MessageStartTime, s.MessageEndTime}, []uint64{uint64(len(got)), uint64(first), uint64(last)}, path)
			assert.Equal(t, s.MessageCount, l.count(), path)
		}
	}
	assert.Len(t, paths, 11)
	assert.Equal(t, 11, checked)
}

// Two publishers of one channel are known by the sequences of their messages.
func TestTwoSequencesInTurnAreTwoPublishers(t *testing.T) {
	for apart, want := range map[int]bool{99: true, 0: false} {
		var file bytes.Buffer
		w, err := NewWriter(&file, WriterOptions{})
		require.NoError(t, err)
		channel, err := w.AddChannel("/cmd", "json", 0, nil)
		require.NoError(t, err)
		for i := range 40 {
			number, at := 1+i, uint64(1e18+i*1e7)
			if apart > 0 {
				number = 1 + i/2 + i%2*apart // 1, 100, 2, 101
			}
			require.NoError(t, w.Message(&Message{ChannelID: channel, Sequence: uint32(number), LogTime: at, PublishTime: at, Data: []byte(`{"x":1}`)}))
		}
		require.NoError(t, w.Close())
		path := filepath.Join(t.TempDir(), "run.mcap")
		require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
		d, err := Open(context.Background(), path, dataset.Options{})
		require.NoError(t, err)
		e, err := d.Episode(context.Background(), 0)
		require.NoError(t, err)
		n := e.Notes.Find(dataset.CodePublishersAlternate)
		assert.Equal(t, want, n != nil)
		if n != nil {
			assert.Equal(t, []any{"/cmd", 38, []string{"sequence from 1", "sequence from 100"}}, []any{n.Subject, n.Count, n.Names})
		}
		require.NoError(t, d.Close())
	}
}
