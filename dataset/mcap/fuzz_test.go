package mcap

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
)

// seedlings are files of all kinds of records, most without CRCs, which would find most faults at once.
func seedlings(t testing.TB) (list []mutate.Seed) {
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		opt := variants[name]
		if opt.ChunkSize > 0 {
			opt.ChunkSize = 300
		}
		b, _ := written(t, opt, 12)
		list = append(list, mutate.Seed{Name: name, Data: b})
		opt.Omit |= OmitCRC
		b, _ = written(t, opt, 12)
		list = append(list, mutate.Seed{Name: name + " without CRCs", Data: b})
	}
	for _, encoding := range []Encoding{Protobuf, JSON} {
		for _, omit := range []Omit{OmitCRC, OmitCRC | OmitChunks} {
			var out bytes.Buffer
			w, err := NewWriter(&out, WriterOptions{Compression: NoCompression, Omit: omit | OmitSchemas | OmitChannels})
			require.NoError(t, err)
			require.NoError(t, w.Episode(context.Background(), recorded(t), encoding))
			require.NoError(t, w.Close())
			list = append(list, mutate.Seed{Name: "an episode of " + encoding.String(), Data: out.Bytes()})
		}
	}
	return list
}

func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	mutate.Run(t, mutate.Plan{Seeds: seedlings(t), Few: 1000, Most: 64 << 20, Try: func(m mutate.Mutant) { exercise(t, m.Data) }})
}

func FuzzRead(f *testing.F) {
	for _, s := range seedlings(f) {
		f.Add(s.Data)
	}
	f.Fuzz(exercise)
}

// Whatever a file holds: no panic, errors that are typed, streams that are sound, and the two readers agree on what is not damaged.
func exercise(t *testing.T, data []byte) {
	open := func(opt dataset.Options) (dataset.Dataset, error) {
		return &recording{file: fileOf(data), path: "a.mcap", opt: opt}, nil
	}
	for _, opt := range []dataset.Options{{Strict: true}, {Clock: "header"}} {
		if _, wrong := mutate.Read(open, opt); wrong != nil {
			t.Fatal(wrong)
		}
	}
	inOrder, err := count(data)
	ctx := context.Background()
	var damage dataset.Notes
	l, failed := newLog(ctx, fileOf(data), "a.mcap", &damage)
	if failed != nil {
		return
	}
	messages := 0
	for part := range l.Parts() {
		if err := l.Each(ctx, part, &damage, func(topics.Message) error { messages++; return nil }); err != nil {
			if !errors.Is(err, dataset.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
	}
	// What is in a place that an index explains as something else's is nothing to a log.
	scanned := len(data) > footerSize && le.Uint64(data[len(data)-len(Magic)-20:]) == 0
	if err == nil && damage == nil && scanned && messages != inOrder {
		t.Fatalf("%d messages of a log, and %d records", messages, inOrder)
	}
}

// count returns how many messages the data section has.
func count(file []byte) (messages int, err error) {
	list, err := readRecords(file)
	for _, r := range list {
		switch r.Opcode() {
		case OpMessage:
			messages++
		case OpDataEnd:
			return messages, err
		}
	}
	return messages, err
}
