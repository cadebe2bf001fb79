package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// windowBytes is the size of the window for uploads.
const windowBytes = 32 << 20

// recorded is a loader on a recording device. Its uploads to the device are sent in pieces through a window. Then the plan for a batch is
// sent.
type recorded struct {
	*loading
	target record.Target
	window *Memory

	pieces  chan piece    // the piece in the window
	taken   chan struct{} // signals that the window may be written again
	stop    context.CancelFunc
	done    chan struct{} // closed when the recording has ended; nil if it was not started
	err     error         // the recording's error
	session *record.Session
	export  *record.Plan
	bytes   int64          // the datasets' approximate device memory
	batch   *residentReply // nil until the recording has ended and the datasets are closed
}

// piece is a part of an upload: a byte range in a numbered buffer.
type piece struct {
	Buffer int   `json:"buffer"`
	Size   int64 `json:"size"`
	At     int64 `json:"at"`
	Bytes  int   `json:"bytes"`
}

// openResident handles "resident": it opens datasets, or takes those of "filling". The reply has the approximate bytes on the device, and
// its file is the window.
func openResident(ctx context.Context, c *Conn, r *Request) (*Reply, error) {
	var ask struct {
		loaderRequest
		Target int `json:"target"`
	}
	if err := r.decodeLoader(&ask); err != nil {
		return nil, err
	}
	target, err := c.target(ask.Target)
	if err != nil {
		return nil, err
	}
	if ask.Streaming || len(ask.Cameras) > 0 && c.filling == nil {
		return nil, &loaderError{&dataset.OptionError{
			Arg: "streaming", Got: "it, or cameras that nothing fills, for a loader that keeps datasets on a GPU", Want: "neither",
		}}
	}
	var l *loading
	if f := c.filling; f != nil {
		l = &loading{source: f.source, borrowed: true, plan: f.plan, notes: f.notes, decoder: f.decoder}
		l.source.Unfilled, l.source.FrameLevel = true, loader.FramesOnDevice
	} else if l, err = openLoading(ctx, c, &ask.loaderRequest); err != nil {
		return nil, err
	}
	l.source.Apart = false // streams with the same window are one launch
	s := &recorded{loading: l, pieces: make(chan piece), taken: make(chan struct{}), bytes: l.source.Bytes(l.plan)}
	if err := json.Unmarshal([]byte(target.text), &s.target); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if s.window, err = NewMemory("a window for uploads", windowBytes); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	c.resident = s
	c.closing(s.Close)
	bytes := s.bytes
	if c.filling != nil {
		bytes += c.filling.bytes()
	}
	return &Reply{Value: map[string]any{"bytes": bytes, "window": windowBytes}, File: s.window.File()}, nil
}

// uploadReply has the piece in the window, or at the end the batch. Then the blob is the plan's payload.
type uploadReply struct {
	Piece *piece         `json:"piece,omitempty"`
	Batch *residentReply `json:"batch,omitempty"`
}

// residentReply describes a batch that the client replays.
type residentReply struct {
	loaderReply
	Plan   json.RawMessage `json:"plan"`
	Arrays []planArray     `json:"arrays"`
	// Cursors are pairs of a buffer's number in the plan and a byte offset, where the position is stored. See loader.Loader.Cursors.
	Cursors [][2]int64 `json:"cursors"`
	Stores  []storeAt  `json:"stores,omitempty"` // one for each camera
	// Episodes and Datasets map an episode in a batch to its number in its dataset, and to the dataset's number.
	Episodes []int64 `json:"episodes"`
	Datasets []int64 `json:"datasets,omitempty"` // nil for one dataset
}

// storeAt is the place of a camera's frames and of their places, for "fill", as for Cursors. See loader.Loader.FrameStore.
type storeAt struct {
	Frames [2]int64 `json:"frames"`
	Places [2]int64 `json:"places"`
}

// planArray is a batch array inside an argument of the plan. Arrays may share an argument: strides are in elements, At is in bytes.
type planArray struct {
	Name     string `json:"name"`
	Part     string `json:"part"` // as in slotArray
	DType    string `json:"dtype"`
	Shape    []int  `json:"shape"`
	Strides  []int  `json:"strides"`
	Argument int    `json:"argument"`
	At       int64  `json:"at"`
}

// upload handles "upload": it frees the window and returns the next piece, or the batch at the end.
func upload(ctx context.Context, c *Conn, r *Request, _ Do) (*Reply, error) {
	s := c.resident
	if s == nil {
		return nil, noLoader(r)
	}
	if s.done == nil {
		s.start()
	} else {
		select {
		case s.taken <- struct{}{}:
		case <-s.done:
		}
	}
	select {
	case p := <-s.pieces:
		return &Reply{Value: uploadReply{Piece: &p}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
	}
	if s.err != nil {
		return nil, &loaderError{s.err}
	}
	if s.batch == nil {
		var err error
		if s.batch, err = s.reply(); err != nil {
			return nil, err
		}
		if !s.borrowed {
			if err := s.source.Close(); err != nil { // because all data is on the device
				return nil, err
			}
		}
		freed(s.bytes)
	}
	return &Reply{Value: uploadReply{Batch: s.batch}, Blob: s.export.Payload}, nil
}

// ready reports whether the recording has ended without an error.
func (s *recorded) ready() bool {
	select {
	case <-s.done: // done is nil, and so never ready, if the recording was not started
		return s.err == nil
	default:
		return false
	}
}

// start records the loader.
func (s *recorded) start() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.done = stop, make(chan struct{})
	go func() {
		defer close(s.done)
		s.err = caught.Do(func() (err error) {
			s.session, s.export, err = record.NewSession(s.target, "loader", func(buffer int, size, at int64, data []byte) error {
				return s.hand(ctx, buffer, size, at, data)
			}, func(device *ops.Device) (*record.Work, error) { return s.work(ctx, device) })
			return err
		})
		if s.err == nil {
			s.err = ctx.Err()
		}
	}()
}

// work opens the loader on a recording device. The first one is kept.
func (s *recorded) work(ctx context.Context, device *ops.Device) (*record.Work, error) {
	l, err := s.source.MakeOn(ctx, device, s.plan)
	if err != nil {
		return nil, err
	}
	if s.loader == nil {
		s.loader = l
	}
	w := &record.Work{Run: l.Run, Close: l.Close}
	seen := map[any]bool{}
	for _, o := range outputs(l.Batch()) {
		if memory, _, _ := o.tensor.Extent(); !seen[memory] {
			seen[memory] = true
			w.Arguments = append(w.Arguments, record.Output{Name: fmt.Sprintf("%s.%s", o.Name, o.Part), Tensor: o.tensor})
		}
	}
	return w, nil
}

// hand sends an upload to the client in pieces: it copies each to the window, and waits until the client has read it.
func (s *recorded) hand(ctx context.Context, buffer int, size, at int64, data []byte) error {
	for len(data) > 0 {
		n := copy(s.window.Bytes(), data)
		select {
		case s.pieces <- piece{buffer, size, at, n}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-s.taken:
		case <-ctx.Done():
			return ctx.Err()
		}
		data, at = data[n:], at+int64(n)
	}
	return nil
}

// output is a tensor in a batch.
type output struct {
	planArray
	tensor *tensor.Tensor
}

// outputs returns a batch's tensors in the order of a slot's arrays.
func outputs(b *loader.Batch) (list []output) {
	add := func(name, part string, t *tensor.Tensor) {
		if t != nil {
			list = append(list, output{planArray{Name: name, Part: part, DType: t.DType().String(), Shape: t.Shape(), Strides: t.Strides()}, t})
		}
	}
	for _, s := range b.Streams {
		add(s.Name, "values", s.Values)
		add(s.Name, "pad", s.Pad)
		add(s.Name, "valid", s.Valid)
		add(s.Name, "age", s.Age)
		add(s.Name, "grid", s.Grid)
	}
	for _, c := range b.Cameras {
		add(c.Name, "frames", c.Frames)
		add(c.Name, "pad", c.Pad)
		add(c.Name, "valid", c.Valid)
		add(c.Name, "age", c.Age)
	}
	add("", "episode", b.Episodes)
	add("", "tick", b.Ticks)
	add("", "anchor", b.Anchors)
	return list
}

// reply describes the batches.
func (s *recorded) reply() (*residentReply, error) {
	out := &residentReply{loaderReply: s.describe(), Plan: s.export.Header()}
	for _, o := range outputs(s.loader.Batch()) {
		buffer, at, ok := s.session.Find(o.tensor)
		if !ok || buffer >= len(s.export.Arguments) {
			return nil, fmt.Errorf("serve: %s.%s is in no argument of the plan", o.Name, o.Part)
		}
		o.Argument, o.At = buffer, at
		out.Arrays = append(out.Arrays, o.planArray)
	}
	find := func(t *tensor.Tensor) ([2]int64, error) {
		buffer, at, ok := s.session.Find(t)
		if !ok {
			return [2]int64{}, errors.New("serve: a cursor or a camera's frames are in no buffer of the plan")
		}
		return [2]int64{int64(buffer), at}, nil
	}
	for _, cursor := range s.loader.Cursors() {
		at, err := find(cursor)
		if err != nil {
			return nil, err
		}
		out.Cursors = append(out.Cursors, at)
	}
	for i := range s.loader.Batch().Cameras {
		var store storeAt
		var errs [2]error
		frames, places := s.loader.FrameStore(i)
		store.Frames, errs[0] = find(frames)
		store.Places, errs[1] = find(places)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		out.Stores = append(out.Stores, store)
	}
	several := len(s.source.Paths) > 1
	for e := range s.loader.Report().Episodes {
		dataset, _ := s.loader.StoreOf(int64(e))
		_, number := s.loader.Known(int64(e))
		out.Episodes = append(out.Episodes, int64(number))
		if several {
			out.Datasets = append(out.Datasets, int64(dataset))
		}
	}
	return out, nil
}

// Close stops the recording and closes the session and the datasets.
func (s *recorded) Close() error {
	var errs []error
	if s.done != nil {
		s.stop()
		<-s.done
	}
	if s.session != nil {
		errs = append(errs, s.session.Close()) // and the loader
	}
	s.loader = nil
	return errors.Join(append(errs, s.loading.Close(), s.window.Close())...)
}
