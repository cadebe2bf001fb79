package topics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/tensor"
)

// fakeLog has messages in memory, in parts. New channels appear when a message of theirs is read.
type fakeLog struct {
	channels []Channel
	parts    [][]Message
	damage   []dataset.Notes
	err      error
}

func (l *fakeLog) Channels() []Channel { return l.channels }
func (l *fakeLog) Parts() int          { return len(l.parts) }

func (l *fakeLog) Each(ctx context.Context, part int, damage *dataset.Notes, use func(m Message) error) error {
	if part < len(l.damage) {
		*damage = append(*damage, l.damage[part]...)
	}
	buffer := make([]byte, 0, 64)
	for i, m := range l.parts[part] {
		if i%7 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		m.At = At{part, int64(i)}
		buffer = append(buffer[:0], m.Data...) // what is kept of it beyond use will be another's
		m.Data = buffer
		if err := use(m); err != nil {
			return err
		}
		for k := range buffer {
			buffer[k] = 0xee
		}
	}
	return l.err
}

func (l *fakeLog) Message(_ context.Context, at At) ([]byte, error) {
	return slices.Clone(l.parts[at.Part][at.Offset].Data), nil
}

func TestAnUnknownClockIsAnOptionThatCannotBe(t *testing.T) {
	for _, name := range []string{"", "log", "publish", "header"} {
		info, _, err := Check(context.Background(), dataset.Options{Clock: name})
		require.NoError(t, err)
		assert.Equal(t, dataset.Info{Clock: cmp.Or(name, "log"), Clocks: []string{"log", "publish", "header"}}, info)
		info.Clocks[0] = "the caller's own"
	}
	_, _, err := Check(context.Background(), dataset.Options{Clock: "Log"})
	assert.Equal(t, &dataset.OptionError{Arg: "Clock", Got: "Log", Want: "log or publish or header"}, err)
}

// fakeDecoder has messages of bytes: a byte 0xff breaks one, 0xfe is not supported. Their kind is the schema's name:
//
//	pair   two float32 columns
//	list   a list of all bytes but the first, which is its label
//	image  encoding by the first byte, size by the second
//	cloud  one point
type fakeDecoder struct {
	shape message.Shape
}

func open(encoding string, schema message.Schema, _ func(string) string) (message.Decoder, error) {
	d := &fakeDecoder{shape: message.Shape{Type: schema.Name, Stamp: encoding == "cdr"}}
	switch schema.Name {
	case "pair":
		d.shape.Columns = []dataset.Column{{Name: "a"}, {Name: "b"}}
	case "vast": // of which messages have one field
		d.shape.Columns = make([]dataset.Column, 4096)
	case "wide":
		d.shape.Columns, d.shape.Wide = []dataset.Column{{Name: "w"}}, true
	case "list":
		d.shape.Lists = []message.ListShape{{Name: "data", Columns: []dataset.Column{{Type: "float32"}}, Labels: "name"}}
		d.shape.Notes = dataset.Notes{{Code: dataset.CodeTextFields, Subject: "name"}}
	case "nothing":
	case "bytes":
		d.shape.Lists = []message.ListShape{{Name: "data", Columns: []dataset.Column{{Type: "uint8"}}, Bytes: true}}
	case "image":
		d.shape.Media = message.RawImage
	case "tf": // elements of a child's letter and a number, in the frame "w"
		d.shape.Lists = []message.ListShape{{Name: "transforms", Columns: []dataset.Column{{Name: "x"}}, Keyed: true, Stamp: true}}
	case "odom": // a child's letter, that of its parent, and a number
		d.shape.Columns, d.shape.Keyed = []dataset.Column{{Name: "x"}}, true
	case "cloud":
		d.shape.Media = message.PointCloud
	case "learned":
		return &fakeLearner{fakeDecoder: *d}, nil
	default:
		return nil, &dataset.FormatError{Format: "message", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "schema", Got: schema.Name, Want: "one of the test"}
	}
	return d, nil
}

func (d *fakeDecoder) Shape() *message.Shape { return &d.shape }

func (d *fakeDecoder) check(data []byte) error {
	switch {
	case slices.Contains(data, 0xfd):
		panic("byte 253")
	case slices.Contains(data, 0xff):
		return &dataset.FormatError{Format: "message", Offset: int64(slices.Index(data, 0xff)), Kind: dataset.ErrCorrupt, Msg: "byte", Got: "255", Want: "less"}
	case slices.Contains(data, 0xfe):
		return &dataset.FormatError{Format: "message", Kind: dataset.ErrUnsupported, Msg: "byte", Got: "254", Want: "less"}
	}
	return nil
}

func (d *fakeDecoder) Append(rows *message.Rows, data []byte) error {
	if err := d.check(data); err != nil {
		return err
	}
	rows.Count++
	if d.shape.Stamp {
		rows.Stamps = append(rows.Stamps, int64(data[0])*1000)
	}
	for len(rows.Lists) < len(d.shape.Lists) {
		rows.Lists = append(rows.Lists, message.ListRows{})
	}
	frame := func(b byte) int32 {
		if i := slices.Index(rows.Frames, string(b)); i >= 0 {
			return int32(i)
		}
		rows.Frames = append(rows.Frames, string(b))
		return int32(len(rows.Frames) - 1)
	}
	if rows.Count == 1 {
		rows.Frames, rows.Keys, rows.Parents = nil, nil, nil
	}
	switch {
	case d.shape.Keyed:
		rows.Keys, rows.Parents, rows.F32 = append(rows.Keys, frame(data[0])), append(rows.Parents, frame(data[1])), append(rows.F32, float32(data[2]))
	case len(d.shape.Lists) > 0 && d.shape.Lists[0].Keyed:
		l := &rows.Lists[0]
		l.Lengths = append(l.Lengths, int32(len(data)/2))
		for i := 0; i < len(data); i += 2 {
			l.Keys, l.Parents, l.Stamps = append(l.Keys, frame(data[i])), append(l.Parents, frame('w')), append(l.Stamps, 100*int64(data[i+1]))
			l.F32 = append(l.F32, float32(data[i+1]))
		}
	case d.shape.Media != message.NoMedia:
	case len(d.shape.Lists) > 0:
		l := &rows.Lists[0]
		l.Lengths = append(l.Lengths, int32(len(data)-1))
		l.Dropped = d.shape.Lists[0].Bytes && len(data) > 65
		var labels []string
		for i, b := range data[1:] {
			l.F32 = append(l.F32, float32(b))
			if data[0] != 'u' {
				labels = append(labels, fmt.Sprintf("%c%d", data[0], i))
			}
		}
		l.Unnamed = l.Unnamed || len(labels) == 0 && len(data) > 1
		which := slices.IndexFunc(l.Names, func(n message.Names) bool { return slices.Equal(n.List, labels) })
		if which < 0 && len(labels) > 0 {
			which = len(l.Names)
			l.Names = append(l.Names, message.NewNames(labels))
		}
		l.Named = append(l.Named, int32(which))
	case d.shape.Wide:
		rows.F64 = append(rows.F64, float64(data[0]))
		rows.Inexact++
	default:
		for i := range d.shape.Columns {
			rows.F32 = append(rows.F32, float32(data[i%len(data)]))
		}
	}
	return nil
}

func (d *fakeDecoder) Frame(data []byte) (message.Frame, error) {
	return message.Frame{Encoding: string(data[:1]), Width: int(data[1]), Height: 2, Data: data[2:], Stamp: 5}, d.check(data)
}

func (d *fakeDecoder) Cloud(data []byte) (*dataset.Cloud, error) {
	if err := d.check(data); err != nil {
		return nil, err
	}
	return dataset.NewCloud([]float32{float32(data[0]), 0, 0}, nil, nil)
}

// fakeLearner has as many columns as the longest message.
type fakeLearner struct {
	fakeDecoder
}

func (d *fakeLearner) Learn(data []byte) error {
	lock.Lock()
	defer lock.Unlock()
	for len(d.shape.Columns) < len(data) {
		d.shape.Columns = append(d.shape.Columns, dataset.Column{Name: fmt.Sprint(len(d.shape.Columns))})
	}
	return nil
}

func (d *fakeLearner) Append(rows *message.Rows, data []byte) error {
	return d.fakeDecoder.Append(rows, append(slices.Clone(data), make([]byte, len(d.shape.Columns)-len(data))...))
}

func channelsOf(list ...string) (out []Channel) {
	for i := 0; i < len(list); i += 3 {
		out = append(out, Channel{Topic: list[i], Encoding: list[i+1], Schema: message.Schema{Name: list[i+2]}})
	}
	return out
}

func values(t *testing.T, s *dataset.Stream) []float32 {
	t.Helper()
	require.NotNil(t, s)
	require.NoError(t, s.Check())
	list, err := tensor.Data[float32](s.Values)
	require.NoError(t, err)
	return list
}

func readAll(t *testing.T, log *fakeLog, opt dataset.Options) *dataset.Episode {
	t.Helper()
	e, err := read(context.Background(), log, opt, open)
	require.NoError(t, err)
	return e
}

func at(channel int, log int64, data ...byte) Message {
	return Message{Channel: channel, Log: log, Publish: log - 1, Data: data}
}

// hurried is a log that counts, each of whose parts brings a channel more of the same topic.
type hurried struct {
	fakeLog
	mu sync.Mutex
}

func (l *hurried) Count(int) int { return 100 }

func (l *hurried) Channels() []Channel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.channels)
}

func (l *hurried) Each(ctx context.Context, part int, damage *dataset.Notes, use func(m Message) error) error {
	l.mu.Lock()
	mine := len(l.channels)
	l.channels = append(l.channels, Channel{Topic: "/t", Schema: message.Schema{Name: "pair", Data: []byte{byte(part)}}})
	l.mu.Unlock()
	return l.fakeLog.Each(ctx, part, damage, func(m Message) error {
		m.Channel = mine
		return use(m)
	})
}

// TestChannelsMayComeLate is of most interest with -race.
func TestChannelsMayComeLate(t *testing.T) {
	l := &hurried{}
	for part := range 64 {
		l.parts = append(l.parts, []Message{{Log: int64(part), Data: []byte{1, 2}}, {Log: int64(part), Data: []byte{3, 4}}})
	}
	e, err := read(t.Context(), l, dataset.Options{}, open)
	require.NoError(t, err)
	require.Len(t, e.Streams, 1)
	require.Equal(t, 128, e.Streams[0].Len())
}
