package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// builder is an episode under construction.
type builder struct {
	*reader
	dataset.Episode
	names   map[string]bool
	several map[string]int // names in use, by topic and kind
}

// episode creates an episode from all joined messages.
func (r *reader) episode() (*dataset.Episode, error) {
	r.mu.Lock()
	r.meet()
	r.mu.Unlock()
	e := &builder{reader: r, names: map[string]bool{}, several: map[string]int{}}
	e.Notes = r.damage
	slices.SortFunc(r.topics, func(a, b *topic) int {
		return cmp.Or(dataset.CompareNames(a.name, b.name), cmp.Compare(uint(a.first), uint(b.first)), cmp.Compare(a.kind, b.kind))
	})
	for _, t := range r.topics {
		if err := e.add(t); err != nil {
			return nil, err
		}
	}
	e.headers()
	if r.task != "" {
		var names []string
		for _, t := range r.topics {
			if t.says() && !slices.Contains(names, t.name) {
				names = append(names, t.name)
			}
		}
		if err := e.TakeTask(r.task, names); err != nil {
			return nil, err
		}
	}
	return &e.Episode, nil
}

// note adds a note about a topic.
func (e *builder) note(code dataset.Code, topic string, count, of int) {
	e.Notes = append(e.Notes, dataset.Note{Code: code, Subject: topic, Count: count, Detail: dataset.Detail{Of: of}})
}

// unique returns a new name for a stream: the topic, with its type if the topic's name is taken.
func (e *builder) unique(topic, kind string) string {
	name := topic
	for key := topic + "\x00" + kind; e.names[name]; e.several[key]++ {
		n := e.several[key] + 1
		switch {
		case kind == "":
			name = fmt.Sprintf("%s (%d)", topic, n+1)
		case n == 1:
			name = fmt.Sprintf("%s (%s)", topic, kind)
		default:
			name = fmt.Sprintf("%s (%s, %d)", topic, kind, n)
		}
	}
	e.names[name] = true
	return name
}

func (e *builder) leave(n dataset.Note) { e.Notes = append(e.Notes, n) }

// add adds a topic's streams.
func (e *builder) add(t *topic) error {
	name := e.unique(t.name, t.kind)
	if t.refused.count > 0 && t.log.len() > 0 {
		e.leave(dataset.Note{Code: dataset.CodeUndecodedMessages, Subject: name, Count: t.refused.count, Detail: dataset.Detail{Of: t.count, Cause: short(t.refused.first)}})
	}
	if s := t.surplus; s.Count > 0 {
		e.leave(dataset.Note{Code: dataset.CodeMessageSurplus, Subject: name, Count: s.Count, Detail: dataset.Detail{Of: t.count, Bytes: int64(s.Bytes)}})
	}
	if t.empty > 0 && t.log.len() > 0 {
		e.note(dataset.CodeEmptyImages, name, t.empty, t.count)
	}
	note := dataset.Note{Subject: name, Count: t.count}
	var times []int64
	var order []int
	switch {
	case t.count == 0:
		note.Code = dataset.CodeNoMessages
		if t.shape != nil && t.shape.Media == message.NoMedia && len(t.shape.Columns) > 0 {
			e.Empty = append(e.Empty, dataset.EmptyStream{Name: name, Columns: t.shape.Columns, DType: dtype(t.shape.Wide)})
		}
	case t.why != nil:
		note.Code, note.Cause = dataset.CodeNoDecoder, short(t.why)
	case t.fault.Load() != nil:
		note.Code, note.Cause = dataset.CodeNoDecoder, short(t.fault.Load())
	case t.over.Load():
		note.Code, note.Want = dataset.CodeSparseMessages, strconv.Itoa(mostRoom)
	case t.log.len() == 0 && t.refused.count > 0:
		note.Code, note.Of, note.Cause = dataset.CodeUndecodedMessages, t.count, short(t.refused.first)
	case t.log.len() == 0 && t.empty > 0:
		note.Code = dataset.CodeEmptyImages
	case t.log.len() == 0:
		note.Code, note.Got = dataset.CodeNoFit, t.kind
	default:
		e.alternate(t)
		times, order = e.clockOf(t, name)
		if len(t.texts) == len(times) && t.says() && !slices.ContainsFunc(e.Texts, func(s dataset.TextStream) bool { return s.Name == t.name }) {
			if e.text(t, times, order); t.metadata[TextKey] != "" {
				return nil
			}
		}
	}
	if note.Code != "" {
		e.leave(note)
		return nil
	}
	if t.shape.Media != message.NoMedia {
		e.media(t, name, times, order)
		return nil
	}
	before := len(e.Streams)
	err := e.streams(t, name, times, order)
	for i := range e.Streams[before:] {
		e.Streams[before+i].Type = t.kind
	}
	return err
}

// says reports whether a topic's messages contain a text.
func (t *topic) says() bool {
	return t.shape != nil && t.shape.Media == message.NoMedia && slices.ContainsFunc(t.shape.Notes, func(n dataset.Note) bool {
		return n.Code == dataset.CodeTextFields && !strings.ContainsAny(n.Subject, ".[")
	})
}

// text adds a topic's texts, one for each change. If several messages have the same time, the last counts.
func (e *builder) text(t *topic, times []int64, order []int) {
	arrange(t.texts, 1, order)
	s := dataset.TextStream{Name: t.name, Task: t.metadata[TextKey] == "true", Later: t.metadata[LaterKey] != "false"}
	for i, text := range t.texts {
		n := len(s.Times)
		switch {
		case i+1 < len(times) && times[i+1] == times[i]:
		case n == 0 || s.Values[n-1] != text:
			s.Times, s.Values = append(s.Times, times[i]), append(s.Values, text)
		}
	}
	e.Texts = append(e.Texts, s)
}

// media adds a media stream or a cloud stream. The most common frame kind decides the stream's kind; frames of other kinds are left
// out.
func (e *builder) media(t *topic, name string, times []int64, order []int) {
	at := t.at.take()
	arrange(at, 1, order)
	if t.shape.Media == message.PointCloud {
		e.Clouds = append(e.Clouds, dataset.CloudStream{Name: name, Type: t.kind, Times: times, Source: &source{log: e.log, name: name, at: at}})
		return
	}
	most := 0
	for k := range t.frames.list {
		if t.frames.list[k].count > t.frames.list[most].count {
			most = k
		}
	}
	kind, all := t.frames.list[most], len(at)
	if others := all - kind.count; others > 0 {
		unlike := slices.IndexFunc(at, func(p place) bool { return int(p.kind) != most })
		e.leave(dataset.Note{Code: dataset.CodeFramesDiffer, Subject: name, Count: others, Row: dataset.At(unlike),
			Detail: dataset.Detail{Of: all, Got: t.frames.list[at[unlike].kind].String(), Want: kind.String()}})
		kept, own := at[:0], make([]int64, 0, kind.count) // times may be shared with other streams
		for i, p := range at {
			if int(p.kind) == most {
				kept, own = append(kept, p), append(own, times[i])
			}
		}
		at, times = kept, own
	}
	m := dataset.Media{Name: name, Type: t.kind, Times: times, Encoding: kind.encoding, Width: kind.width, Height: kind.height,
		Source: &images{source{log: e.log, name: name, at: at}, kind}}
	if scale := depthScale(name, kind.encoding); scale > 0 {
		m.Depth = &dataset.DepthCamera{Scale: scale, Frames: t.publishers.frames.sources}
	}
	if video.Decodes(kind.encoding) {
		m.Source = &video.Frames{FrameSource: m.Source, Name: name, Codec: kind.encoding, Count: len(at), Packet: func(_ context.Context, i int) (uint32, bool, error) {
			return at[i].size, at[i].begins, nil
		}}
		switch k := slices.IndexFunc(at, func(p place) bool { return p.begins }); {
		case k < 0:
			e.note(dataset.CodeFramesWithoutKey, name, len(at), 0)
		case k > 0:
			e.note(dataset.CodeFramesBeforeKey, name, k, len(at))
		}
	}
	e.Media = append(e.Media, m)
}

// depthScale returns the metres per unit of depth images, or 0 if the frames are no depth images. Infrared images are mono16 and colour
// images png too, so these are depth only if the topic's name says so. Sources: REP 118, compressed_depth_image_transport.
func depthScale(topic, encoding string) float64 {
	switch encoding {
	case "32FC1", "compresseddepth":
		return 1
	case "mono16", "png":
		if !strings.Contains(strings.ToLower(topic), "depth") {
			return 0
		}
		return 0.001
	case "16UC1":
		return 0.001
	}
	return 0
}

// streams adds the streams for a topic's numbers and for its lists.
func (e *builder) streams(t *topic, name string, times []int64, order []int) error {
	clock, err := tensor.Of(times, len(times))
	if err != nil {
		return err
	}
	stream := func(name string, rows table, inexact int) error {
		values, err := rows.rows(0, len(times))
		e.Streams = append(e.Streams, dataset.Stream{Name: name, Times: clock, Values: values, Columns: rows.columns, Inexact: inexact})
		return err
	}
	switch {
	case len(t.shape.Columns) == 0:
	case t.moving.several():
		which := t.moving.which.take()
		arrange(which, 1, order)
		if err := t.moving.split(e, name, times, which, t.take(t.shape.Wide, t.shape.Columns, order), t.inexact); err != nil {
			return err
		}
	default:
		t.moving.parents(e, name)
		if err := stream(name, t.take(t.shape.Wide, t.shape.Columns, order), t.inexact); err != nil {
			return err
		}
	}
	for i := range t.lists {
		l, shape := &t.lists[i], &t.shape.Lists[i]
		if shape.Keyed {
			if l.moving.which.len() == 0 {
				e.leave(dataset.Note{Code: dataset.CodeNoElements, Subject: name + "." + shape.Name, Count: t.count})
				continue
			}
			own, by := l.moving.elements(e, name, times, order)
			which := l.moving.which.take()
			arrange(which, 1, by)
			if err := l.moving.split(e, name, own, which, l.of(0).take(shape.Wide, shape.Columns, by), l.inexact); err != nil {
				return err
			}
			continue
		}
		if n := l.refused(t, shape); n.Code != "" {
			n.Subject, n.Count = name+"."+shape.Name, t.count
			e.leave(n)
			continue
		}
		var names []string
		switch {
		case l.byName() && (len(l.names) > 1 || l.names[0].Reordered || l.shortest == 0):
			if err := l.split(e, name, shape, times, order, l.inexact); err != nil {
				return err
			}
			continue
		case l.byName() && l.names[0].Distinct():
			names = l.names[0].List
		case l.byName():
			e.labels(dataset.CodeLabelsUnusable, name+"."+shape.Name, shape, 0)
		case len(l.names) > 0:
			e.labels(dataset.CodeLabelsPartial, name+"."+shape.Name, shape, 0)
		}
		called := e.unique(name+"."+shape.Name, "")
		if shape.Padded && l.shortest != l.longest {
			if err := stream(called, l.pad(e, called, shape, order), l.inexact); err != nil {
				return err
			}
			continue
		}
		if err := stream(called, l.of(0).take(shape.Wide, columns(shape, l.longest, names), order), l.inexact); err != nil {
			return err
		}
	}
	e.fields(t, name)
	return nil
}

// fields adds notes about a topic's fields without numbers: one for each code, with the field names.
func (e *builder) fields(t *topic, name string) {
	var list dataset.Notes
	for _, f := range t.shape.Notes {
		if len(t.texts) > 0 && f.Code == dataset.CodeTextFields {
			continue // the task
		}
		n := list.Find(f.Code)
		if n == nil {
			list = append(list, dataset.Note{Code: f.Code, Subject: name, Count: t.count})
			n = &list[len(list)-1]
		}
		n.Names = append(n.Names, f.Subject)
	}
	if len(list)+len(t.shape.Columns)+len(t.shape.Lists)+len(t.texts) == 0 {
		e.leave(dataset.Note{Code: dataset.CodeNoNumbers, Subject: name, Count: t.count})
	}
	e.Notes = append(e.Notes, list...)
}

func dtype(wide bool) tensor.DType {
	if wide {
		return tensor.F64
	}
	return tensor.F32
}

// short returns an error without the offset and without the common prefix of message errors.
func short(err error) error {
	var bad *dataset.FormatError
	if errors.As(err, &bad) {
		copied := *bad
		copied.Offset = -1
		return dataset.Bare(&copied)
	}
	return err
}
