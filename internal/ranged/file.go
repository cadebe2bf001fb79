package ranged

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/storage"
)

const (
	least    = 64 << 10 // bytes in a request that does not follow another one
	most     = 4 << 20  // maximum bytes in a request that is read ahead
	ahead    = 3        // number of extents that are requested ahead
	kept     = 32 << 20 // maximum bytes of a file that stay in memory
	large    = 1 << 20  // a read of more bytes is not kept in memory
	part     = 8 << 20  // maximum bytes in a part of a large read; several parts are requested at the same time
	parallel = 4
	gap      = 64 << 10 // a read at most this many bytes after the previous extent still follows it
)

// File is an open object, a [storage.File]. A read fetches little more than the requested bytes; if reads follow each other, it fetches
// larger parts ahead. Large reads are not kept in memory and run in parallel parts.
type File struct {
	source Source
	size   int64

	ctx    context.Context // for all requests; Close ends it
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	extents []*extent // the one used last at the end
	held    int64     // bytes in extents
}

// New opens an object of size bytes. head is its beginning, or nil if nothing is read yet.
func New(s Source, size int64, head []byte) *File {
	f := &File{source: s, size: size}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if len(head) > 0 {
		f.keep(&extent{from: 0, to: int64(len(head)), window: least, data: slices.Clip(head), done: done})
	}
	return f
}

// done is a closed channel.
var done = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// extent is a part of the object that is in memory or requested.
type extent struct {
	from, to int64
	window   int64 // size of the requests without reading ahead: it grows if reads follow each other
	used     bool  // it was read to its end
	data     []byte
	err      error
	done     chan struct{} // closed when data or err is there
}

// Size returns the object's size, bytes.
func (f *File) Size() int64 { return f.size }

// Close ends all requests.
func (f *File) Close() error {
	f.mu.Lock()
	f.closed, f.extents, f.held = true, nil, 0
	f.mu.Unlock()
	f.cancel()
	f.tasks.Wait()
	return nil
}

func (f *File) closedError() error {
	return &fs.PathError{Op: "read", Path: f.source.URL, Err: fs.ErrClosed}
}

// fill fills b from offset off on, until ctx ends or the file is closed.
func (f *File) fill(outer context.Context, b []byte, off int64) error {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	_, _, err := f.source.Fill(ctx, "read", b, off)
	switch {
	case err == nil:
		return nil
	case outer.Err() != nil:
		return outer.Err()
	case f.ctx.Err() != nil:
		return f.closedError()
	}
	return err
}

// ReadAt reads as ReadAtContext does, without a context. Only Close ends the read early.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	return f.ReadAtContext(context.Background(), b, off)
}

// ReadAtContext reads, as io.ReaderAt does, until ctx ends.
func (f *File) ReadAtContext(ctx context.Context, b []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.source.URL, Err: &storage.RequestError{Got: "a negative offset", Want: "0 or more"}}
	}
	if len(b) == 0 {
		return 0, nil
	}
	short := int64(len(b)) > f.size-off
	if short {
		b = b[:max(0, min(int64(len(b)), f.size-off))]
	}
	for n < len(b) {
		got, err := f.some(ctx, b[n:], off+int64(n))
		n += got
		if err != nil {
			return n, err
		}
	}
	switch {
	case ctx.Err() != nil:
		return n, ctx.Err()
	case short:
		return n, io.EOF
	}
	return n, nil
}

// some reads at least one byte into b, from offset off on, and returns how many.
func (f *File) some(ctx context.Context, b []byte, off int64) (int, error) {
	e, until, err := f.reserve(b, off)
	if err != nil {
		return 0, err
	}
	if e == nil {
		return f.past(ctx, b[:min(int64(len(b)), until-off)], off)
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if e.err != nil {
		return 0, e.err
	}
	return copy(b, e.data[off-e.from:]), nil
}

// reserve returns the extent that contains a byte, and requests it if necessary. For a large read it returns nil if there is no
// such extent, and until is the beginning of the next one.
func (f *File) reserve(b []byte, off int64) (e *extent, until int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, 0, f.closedError()
	}
	for i, o := range f.extents {
		if o.from <= off && off < o.to {
			f.extents = append(slices.Delete(f.extents, i, i+1), o)
			o.used = o.used || off+int64(len(b)) >= o.to
			f.readAhead(o)
			return o, 0, nil
		}
	}
	until = f.next(off)
	if len(b) > large {
		return nil, until, nil
	}
	window, from := int64(least), off
	end, before := f.before(off)
	switch {
	case before > 0 && off-end <= gap:
		window, from = min(2*before, most), end
	case off > f.size-least: // the end of a file is read backwards
		from = max(f.size-least, end)
	}
	e = f.request(from, min(max(from+window, off+int64(len(b))), until), window)
	f.readAhead(e)
	return e, 0, nil
}

// next returns the offset at which the first extent after offset off begins, or the object's size if there is none.
func (f *File) next(off int64) int64 {
	until := f.size
	for _, o := range f.extents {
		if o.from > off {
			until = min(until, o.from)
		}
	}
	return until
}

// before returns the end and the window of the last extent that ends at or before offset off; 0 and 0 if there is none.
func (f *File) before(off int64) (end, window int64) {
	for _, o := range f.extents {
		if o.to <= off && o.to > end {
			end, window = o.to, o.window
		}
	}
	return end, window
}

// readAhead requests the data after an extent that was read in sequence.
func (f *File) readAhead(e *extent) {
	if e.window <= 2*least {
		return
	}
	count := 1
	if e.window == most {
		count = ahead
	}
	at, window := e.to, e.window
	for range count {
		if at >= f.size {
			return
		}
		if i := slices.IndexFunc(f.extents, func(o *extent) bool { return o.from <= at && at < o.to }); i >= 0 {
			at, window = f.extents[i].to, f.extents[i].window
			continue
		}
		window = min(2*window, most)
		at = f.request(at, min(at+window, f.next(at)), window).to
	}
}

// request adds an extent with the bytes from to to-1, and requests them in the background.
func (f *File) request(from, to, window int64) *extent {
	e := &extent{from: from, to: to, window: window, done: make(chan struct{})}
	f.keep(e)
	f.tasks.Go(func() {
		defer close(e.done)
		e.err = caught.Do(func() error {
			e.data = make([]byte, to-from)
			return f.fill(context.Background(), e.data, from)
		})
		if e.err != nil { // the next reader requests it again
			f.mu.Lock()
			defer f.mu.Unlock()
			f.drop(e)
		}
	})
	return e
}

// keep adds an extent and drops others: first the ones that were read to their end, and among these the least recently used.
func (f *File) keep(e *extent) {
	f.extents = append(f.extents, e)
	f.held += e.to - e.from
	for _, all := range []bool{false, true} {
		for i := 0; f.held > kept && i < len(f.extents)-1; {
			o := f.extents[i]
			select {
			case <-o.done:
				if all || o.used {
					f.drop(o)
					continue
				}
			default:
			}
			i++
		}
	}
}

func (f *File) drop(e *extent) {
	if i := slices.Index(f.extents, e); i >= 0 {
		f.extents = slices.Delete(f.extents, i, i+1)
		f.held -= e.to - e.from
	}
}

// past fills b from offset off on, without the cache, in parallel parts.
func (f *File) past(ctx context.Context, b []byte, off int64) (int, error) {
	size := min(max((len(b)+parallel-1)/parallel, large), part)
	var tasks sync.WaitGroup
	room := make(chan struct{}, parallel)
	errs := make([]error, (len(b)+size-1)/size)
	for i := range errs {
		at := i * size
		piece := b[at:min(at+size, len(b))]
		room <- struct{}{}
		tasks.Go(func() {
			defer func() { <-room }()
			errs[i] = caught.Do(func() error { return f.fill(ctx, piece, off+int64(at)) })
		})
	}
	tasks.Wait()
	for i, err := range errs {
		if err != nil {
			return i * size, err
		}
	}
	return len(b), nil
}
