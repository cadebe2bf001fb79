package cudadrv

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// kind is the type of an open object in a context.
type kind int

const (
	kindMemory kind = iota
	kindHost
	kindStream
	kindEvent
	kindModule
	kindGraph
	kindExec
	kindCount
)

func (k kind) String() string {
	return [...]string{"device memory", "host memory", "stream", "event", "module", "graph", "graph exec"}[k]
}

var tracking atomic.Bool

func init() { tracking.Store(os.Getenv("ROBOCACHE_TRACK_LEAKS") != "") }

// TrackLeaks switches on or off that call sites are recorded, for objects made from now on. The environment variable
// ROBOCACHE_TRACK_LEAKS switches it on at the start. Each object then costs a few microseconds more.
func TrackLeaks(on bool) { tracking.Store(on) }

// Leak is an object that is still open.
type Leak struct {
	Kind  string // "device memory", "host memory", "stream", "event", "module", "graph" or "graph exec"
	Size  int64  // in bytes, for memory and module images
	Stack string // the call stack that made it, one frame a line
}

// leakList has the open objects that were made while tracking was on.
type leakList struct {
	mu   sync.Mutex
	next uint64
	open map[uint64]leakRecord
}

type leakRecord struct {
	kind  kind
	size  int64
	stack []uintptr
}

// Leaks lists the objects that are open now and were made while [TrackLeaks] was on, the oldest first.
func (d *Driver) Leaks() []Leak {
	l := &d.leaks
	l.mu.Lock()
	ids := make([]uint64, 0, len(l.open))
	for id := range l.open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	records := make([]leakRecord, len(ids))
	for i, id := range ids {
		records[i] = l.open[id]
	}
	l.mu.Unlock()
	out := make([]Leak, len(records))
	for i, r := range records {
		out[i] = Leak{Kind: r.kind.String(), Size: r.size, Stack: formatStack(r.stack)}
	}
	return out
}

func formatStack(pcs []uintptr) string {
	var b strings.Builder
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.Function != "" {
			b.WriteString(f.Function + " " + f.File + ":" + strconv.Itoa(f.Line) + "\n")
		}
		if !more {
			return b.String()
		}
	}
}

// child is the part that everything made in a context has: its place in the counts and in the leak list.
type child struct {
	ctx  *Context
	kind kind
	id   uint64 // in the leak list; 0 if not tracked
}

// adopt counts something made in the context; the caller has entered it.
func (c *Context) adopt(k kind, size int64) child {
	ch := child{ctx: c, kind: k}
	c.live[k].Add(1)
	if tracking.Load() {
		stack := make([]uintptr, 16)
		stack = stack[:runtime.Callers(3, stack)]
		l := &c.drv.leaks
		l.mu.Lock()
		if l.open == nil {
			l.open = map[uint64]leakRecord{}
		}
		l.next++
		ch.id = l.next
		l.open[ch.id] = leakRecord{k, size, stack}
		l.mu.Unlock()
	}
	return ch
}

// drop is adopt's end.
func (ch *child) drop() {
	ch.ctx.live[ch.kind].Add(-1)
	if ch.id != 0 {
		l := &ch.ctx.drv.leaks
		l.mu.Lock()
		delete(l.open, ch.id)
		l.mu.Unlock()
	}
}
