package serve

import (
	"context"
	"runtime/debug"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/tensor"
)

// array is the dtype, shape and byte offset of a row-major tensor in a memfd.
type array struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	At    int64  `json:"at"`
}

// arrays are tensors to send in one memfd.
type arrays struct {
	list []*tensor.Tensor
	at   []int64
	size int64
}

// add adds a host tensor. The tensor must not change before memory is called.
func (a *arrays) add(t *tensor.Tensor) array {
	at := (a.size + arenaAlign - 1) / arenaAlign * arenaAlign
	a.list, a.at = append(a.list, t), append(a.at, at)
	a.size = at + int64(t.Len())*int64(t.DType().Size())
	return array{t.DType().String(), append([]int{}, t.Shape()...), at}
}

// memory writes all arrays to new memory. It returns nil if there is nothing to write.
func (a *arrays) memory(what string) (*Memory, error) {
	if a.size == 0 {
		return nil, nil
	}
	m, err := NewMemory(what, a.size)
	if err != nil {
		return nil, err
	}
	for i, t := range a.list {
		if t, err = t.Contiguous(); err != nil {
			break
		}
		var b []byte
		if b, err = raw.Of(t); err != nil {
			break
		}
		// The bytes are written to the file, because a copy to the mapping would fault on each page.
		if _, err = m.File().WriteAt(b, a.at[i]); err != nil {
			break
		}
	}
	if err != nil {
		_ = m.Close() // nothing else refers to it
		return nil, err
	}
	return m, nil
}

// reply returns a reply with the memory of all arrays. The memory is closed after the reply is sent.
func (a *arrays) reply(what string, value any) (*Reply, error) {
	m, err := a.memory(what)
	if err != nil || m == nil {
		return &Reply{Value: value}, err
	}
	size := a.size // so that the closure does not hold the arrays
	return &Reply{Value: value, File: m.File(), Done: func() error {
		err := m.Close()
		freed(size)
		return err
	}}, nil
}

// freed returns unused memory to the system if it is more than keptBytes, because the child shares the host with other processes and is
// mostly idle.
func freed(bytes int64) {
	if bytes > keptBytes {
		debug.FreeOSMemory()
	}
}

type episodeRequest struct {
	Do
	Handle  int `json:"handle"`
	Episode int `json:"episode"`
	Known   int `json:"known"` // how many of the recording's column lists the client has
}

// episodeReply is an episode. Its arrays are in the reply's memfd.
type episodeReply struct {
	Number     int               `json:"number"`
	Name       string            `json:"name"`
	Frames     int               `json:"frames"` // 0 for logs
	Steps      bool              `json:"steps"`  // timestamps count steps, one second each
	Source     string            `json:"source"`
	Task       string            `json:"task"`
	Success    *bool             `json:"success"`
	Attributes map[string]string `json:"attributes"`
	Streams    []sentStream      `json:"streams"`
	Media      []sentMedia       `json:"media"`
	Clouds     []sentClouds      `json:"clouds"`
	LeftOut    []sentLeftOut     `json:"left_out"`
	Dropouts   []sentDropout     `json:"dropouts"`
	Damage     []sentDamage      `json:"damage"`
	Notes      []notetext.Entry  `json:"notes"` // all notes from the reader
	// Columns are the recording's column lists after the first Known.
	Columns [][]inspection.Column `json:"columns"`
}

type sentStream struct {
	Name    string `json:"name"`
	Columns int    `json:"columns"` // the index of its list
	Inexact int    `json:"lossy_integers"`
	Times   array  `json:"times"`
	Values  array  `json:"values"`
}

type sentMedia struct {
	Name     string `json:"name"`
	Encoding string `json:"encoding"`
	Width    int    `json:"width"` // 0 if the file does not say
	Height   int    `json:"height"`
	Times    array  `json:"times"`
}

type sentClouds struct {
	Name  string `json:"name"`
	Times array  `json:"times"`
}

type sentLeftOut struct {
	Name    string   `json:"name"`
	Count   int      `json:"count"`
	Reason  string   `json:"reason"`
	Columns []string `json:"columns"`
}

type sentDropout struct {
	Time     int64 `json:"time_ns"`
	Duration int64 `json:"duration_ns"`
}

type sentDamage struct {
	What  string `json:"what"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
	First string `json:"first"`
}

func readEpisode(ctx context.Context, c *Conn, r *Request, q episodeRequest) (*Reply, error) {
	rec, e, err := c.recordings.episode(ctx, q.Handle, q.Episode)
	if err != nil {
		return nil, err
	}
	var a arrays
	out := episodeReply{Number: rec.info.Number(q.Episode), Name: e.Name, Frames: e.Frames, Steps: e.Steps, Source: e.Attributes.Source, Task: e.Attributes.Task,
		Success: e.Attributes.Success, Attributes: e.Attributes.Other, Streams: []sentStream{}, Media: []sentMedia{}, Clouds: []sentClouds{}, LeftOut: leftOutOf(e), Dropouts: []sentDropout{},
		Damage: []sentDamage{}, Notes: notetext.Entries(e.Notes),
		Columns: [][]inspection.Column{}}
	for i := range e.Streams {
		s := &e.Streams[i]
		out.Streams = append(out.Streams, sentStream{s.Name, rec.columns(s), s.Inexact, a.add(s.Times), a.add(s.Values)})
	}
	for _, list := range rec.sets[min(max(q.Known, 0), len(rec.sets)):] {
		out.Columns = append(out.Columns, inspection.Columns(list))
	}
	for _, m := range e.Media {
		times, err := tensor.Of(m.Times, m.Len())
		if err != nil {
			return nil, rec.fails(q.Episode, err)
		}
		out.Media = append(out.Media, sentMedia{m.Name, m.Encoding, m.Width, m.Height, a.add(times)})
	}
	for _, c := range e.Clouds {
		times, err := tensor.Of(c.Times, c.Len())
		if err != nil {
			return nil, rec.fails(q.Episode, err)
		}
		out.Clouds = append(out.Clouds, sentClouds{c.Name, a.add(times)})
	}
	for _, d := range e.Dropouts {
		out.Dropouts = append(out.Dropouts, sentDropout(d))
	}
	for _, d := range e.Notes.Damage() {
		sent := sentDamage{What: notetext.Text(dataset.Note{Code: d.Code, Detail: dataset.Detail{Got: d.Got}}), Count: d.Count, Bytes: d.Bytes}
		if d.Cause != nil {
			sent.First = d.Cause.Error()
		}
		out.Damage = append(out.Damage, sent)
	}
	return rec.reply(q.Episode, "episode "+e.Name, &a, out)
}

func leftOutOf(e *dataset.Episode) []sentLeftOut {
	list := []sentLeftOut{}
	for _, n := range e.Notes.Of(dataset.ClassLeftOut) {
		names := []string{}
		if s := e.EmptyStream(n.Subject); s != nil {
			names = columns.Names(s.Columns)
		}
		list = append(list, sentLeftOut{n.Subject, n.Count, notetext.Text(n), names})
	}
	return list
}
