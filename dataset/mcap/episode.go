package mcap

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Encoding is the message encoding that Writer.Episode uses.
type Encoding uint8

// Encodings. Protobuf keeps every number bit for bit. JSON keeps every number as the shortest text that reads back as the same
// number; NaN and infinities are the texts "NaN", "Infinity" and "-Infinity", so a NaN loses its payload bits.
const (
	Protobuf Encoding = iota
	JSON
)

// String returns the format's name for the encoding: "protobuf", "json".
func (e Encoding) String() string {
	if e == JSON {
		return "json"
	}
	return "protobuf"
}

// Names for an episode's properties outside messages: in a channel's metadata, and in metadata records.
const (
	columnsKey     = "robocache.columns"
	dtypeKey       = "robocache.dtype"
	episodeName    = "robocache.episode"
	attributesName = "robocache.attributes"
	maxColumns     = 4096
	maskSuffix     = ".valid"
)

// writtenColumn is a dataset.Column in the JSON of a channel's metadata.
type writtenColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type,omitempty"`
	Integer  bool   `json:"integer,omitempty"`
	Rotation string `json:"rotation,omitempty"`
}

// track is a stream while its messages are written.
type track struct {
	channel uint16
	number  int // of all tracks
	times   []int64
	order   []int // of the samples by time, nil if they are in order
	next    int
	// encode appends the message of a sample.
	encode func(ctx context.Context, b []byte, i int) ([]byte, error)
}

// sample returns the index and the time, ns, of the next sample.
func (t *track) sample() (int, int64) {
	i := t.next
	if t.order != nil {
		i = t.order[i]
	}
	return i, t.times[i]
}

// tracks is a heap of streams, by the time of their next sample, then by number.
type tracks []*track

func (h tracks) Len() int { return len(h) }
func (h tracks) Less(a, b int) bool {
	_, ta := h[a].sample()
	_, tb := h[b].sample()
	return cmp.Or(cmp.Compare(ta, tb), cmp.Compare(h[a].number, h[b].number)) < 0
}
func (h tracks) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *tracks) Push(any)     {} // nothing is added once the heap is there
func (h *tracks) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Episode writes an episode. Each stream becomes a channel with its name and one message field per column. Poses with a quaternion
// x, y, z, w become foxglove.FrameTransform, in the frames that the episode's notes name, or in the frame world. Images and video
// become foxglove.RawImage, foxglove.CompressedImage or foxglove.CompressedVideo, clouds become foxglove.PointCloud, and texts
// become foxglove.Log. Messages are sorted by time, which is both their log time and publish time.
//
// Columns and attributes are also written as metadata, so reading the file returns the same episode, with these exceptions:
// timestamps in seconds are rounded to nanoseconds; samples out of order are sorted; float16 and bfloat16 become float32; streams
// without samples are lost. A stream NAME.valid with the columns valid and age next to a stream NAME is a mask: readers skip the
// samples that it marks invalid.
//
// If MCAP cannot hold something, such as times before 1970, Episode returns an *Error about "stream NAME", "media NAME", "clouds NAME"
// or "text NAME" before it writes anything.
func (w *Writer) Episode(ctx context.Context, e *dataset.Episode, encoding Encoding) error {
	if encoding > JSON {
		return &Error{"episode", dataset.ErrOption, fmt.Sprintf("encoding %d", encoding), "Protobuf or JSON"}
	}
	if err := w.ready("episode"); err != nil {
		return err
	}
	list, err := w.tracks(e, encoding)
	if err != nil {
		return err
	}
	said := map[string]string{"name": e.Name, "task": e.Attributes.Task}
	if s := e.Attributes.Success; s != nil {
		said["success"] = strconv.FormatBool(*s)
	}
	maps.DeleteFunc(said, func(_, value string) bool { return value == "" })
	for _, m := range []*Metadata{{episodeName, said}, {attributesName, e.Attributes.Other}} {
		if len(m.Metadata) == 0 {
			continue
		}
		if err := w.Metadata(m); err != nil {
			return err
		}
	}
	return w.merge(ctx, list)
}

// merge writes the tracks' messages by time.
func (w *Writer) merge(ctx context.Context, list []*track) error {
	h := slices.DeleteFunc(tracks(list), func(t *track) bool { return len(t.times) == 0 })
	heap.Init(&h)
	var room []byte
	for n := 0; len(h) > 0; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t := h[0]
		i, at := t.sample()
		var err error
		if room, err = t.encode(ctx, room[:0], i); err != nil {
			return err
		}
		if err := w.Message(&Message{t.channel, uint32(t.next), uint64(at), uint64(at), room}); err != nil {
			return err
		}
		if t.next++; t.next == len(t.times) {
			heap.Pop(&h)
		} else {
			heap.Fix(&h, 0)
		}
	}
	return nil
}

// tracks adds a channel for each stream.
func (w *Writer) tracks(e *dataset.Episode, encoding Encoding) (list []*track, err error) {
	names, schemas := map[string]bool{}, map[string]uint16{}
	var announce []func() error // once all are known to be taken, so that an episode that is refused leaves nothing
	add := func(what, name string, times []int64, schema schemaText, metadata map[string]string, encode func(context.Context, []byte, int) ([]byte, error)) error {
		if names[name] {
			return &Error{what + " " + name, dataset.ErrOption, "the name twice", "each once"}
		}
		names[name] = true
		t := &track{number: len(list), times: times, order: dataset.InOrder(times), encode: encode}
		if i := slices.IndexFunc(times, func(ns int64) bool { return ns < 0 }); i >= 0 {
			return &Error{what + " " + name, dataset.ErrOption, fmt.Sprintf("a timestamp of %d ns", times[i]), "0 or more"}
		}
		list = append(list, t)
		announce = append(announce, func() (err error) {
			key := schema.name + "\x00" + string(schema.data)
			id, there := schemas[key]
			if !there {
				if id, err = w.AddSchema(schema.name, schema.encoding, schema.data); err != nil {
					return err
				}
				schemas[key] = id
			}
			t.channel, err = w.AddChannel(name, encoding.String(), id, metadata)
			return err
		})
		return nil
	}
	for i := range e.Streams {
		s := &e.Streams[i]
		if err := s.Check(); err != nil {
			return nil, err
		}
		n, err := newNumbers(e, s, encoding)
		if err != nil {
			return nil, err
		}
		if err := add("stream", s.Name, s.Nanoseconds(), n.schema, n.metadata, n.encode); err != nil {
			return nil, err
		}
	}
	for i := range e.Media {
		m := &e.Media[i]
		v, err := newImages(m, encoding)
		if err != nil {
			return nil, err
		}
		if err := add("media", m.Name, m.Times, v.schema, nil, v.encode); err != nil {
			return nil, err
		}
	}
	for i := range e.Clouds {
		c := &clouds{stream: &e.Clouds[i], encoding: encoding}
		if err := add("clouds", c.stream.Name, c.stream.Times, foxgloveSchema("PointCloud", encoding), nil, c.encode); err != nil {
			return nil, err
		}
	}
	for i := range e.Texts {
		t := &e.Texts[i]
		metadata, encode := logs(t, encoding)
		if err := add("text", t.Name, t.Times, foxgloveSchema("Log", encoding), metadata, encode); err != nil {
			return nil, err
		}
	}
	for _, tell := range announce {
		if err := tell(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// columnsText returns columns as JSON for a channel's metadata.
func columnsText(columns []dataset.Column) (string, error) {
	list := make([]writtenColumn, len(columns))
	for i, c := range columns {
		list[i] = writtenColumn{c.Name, c.Type, c.Integer, c.Rotation.String()}
	}
	b, err := json.Marshal(list)
	return string(b), err
}

// restore sets the original columns and dtypes of streams that Writer.Episode wrote, and the episode's attributes, from the file's
// metadata.
func (l *fileLog) restore(e *dataset.Episode) error {
	streams := map[string]*dataset.Stream{}
	for i := range e.Streams {
		streams[e.Streams[i].Name] = &e.Streams[i]
	}
	for _, c := range l.Channels() {
		text, s := c.Metadata[columnsKey], streams[c.Topic]
		if text == "" || s == nil {
			continue
		}
		var list []writtenColumn
		if json.Unmarshal([]byte(text), &list) != nil || len(list) != len(s.Columns) {
			continue // of another program, to which it means something else
		}
		s.Type, s.Columns = "", make([]dataset.Column, len(list))
		for i, c := range list {
			s.Columns[i] = dataset.Column{Name: c.Name, Type: c.Type, Integer: c.Integer}
			for _, r := range []dataset.Rotation{dataset.RotationXYZW, dataset.RotationWXYZ} {
				if c.Rotation == r.String() {
					s.Columns[i].Rotation = r
				}
			}
		}
		if c.Metadata[dtypeKey] != tensor.F64.String() && s.Values.DType() == tensor.F64 {
			if err := narrow(s); err != nil {
				return err
			}
		}
	}
	if err := l.mask(e, streams); err != nil {
		return err
	}
	e.Notes = slices.DeleteFunc(e.Notes, func(n dataset.Note) bool { // of poses without a known frame
		return n.Code == dataset.CodeFrameParents && slices.Equal(n.Names, []string{n.Subject + " in " + world})
	})
	for _, m := range l.Metadata {
		if m.Name != episodeName {
			continue
		}
		e.Attributes.Task = cmp.Or(e.Attributes.Task, m.Metadata["task"])
		if success, err := strconv.ParseBool(m.Metadata["success"]); err == nil {
			e.Attributes.Success = &success
		}
	}
	return nil
}

// narrow converts a stream's values to float32, because JSON text was decoded to float64 although float32 numbers were written.
func narrow(s *dataset.Stream) error {
	data, err := tensor.Data[float64](s.Values)
	if err != nil {
		return err
	}
	s.Values, err = tensor.Of(tensor.Cast[float32](data), s.Values.Shape()...)
	return err
}

// mask uses the streams NAME.valid, with the columns valid and age, as masks for the streams NAME that were written with them.
// Samples that are not valid, or have no flag, are left out and counted.
func (l *fileLog) mask(e *dataset.Episode, streams map[string]*dataset.Stream) error {
	masks := map[string]bool{}
	for _, c := range l.Channels() {
		name, is := strings.CutSuffix(c.Topic, maskSuffix)
		s, m := streams[name], streams[c.Topic]
		if !is || s == nil || m == nil || c.Metadata[columnsKey] == "" || !slices.Equal(m.ColumnNames(), []string{"valid", "age"}) {
			continue
		}
		said, err := tensor.Floats(m.Values)
		if err != nil {
			return err
		}
		times, at, k := s.Nanoseconds(), m.Nanoseconds(), 0
		flags := make([]uint8, len(times))
		for i, t := range times { // both are in order
			for k < len(at) && at[k] < t {
				k++
			}
			if k < len(at) && at[k] == t {
				if said[2*k] != 0 {
					flags[i] = 1
				}
				k++
			}
		}
		lost, err := s.OnlyValid(flags)
		if err != nil {
			return err
		}
		if lost > 0 {
			e.Notes.Add(dataset.Note{Code: dataset.CodeRowsNotValid, Subject: name, Count: lost})
		}
		masks[c.Topic] = true
	}
	e.Streams = slices.DeleteFunc(e.Streams, func(s dataset.Stream) bool {
		if masks[s.Name] {
			e.Notes.Add(dataset.Note{Code: dataset.CodeMaskApplied, Subject: s.Name, Count: s.Len(), Detail: dataset.Detail{Got: strings.TrimSuffix(s.Name, maskSuffix)}})
		}
		return masks[s.Name]
	})
	return nil
}
