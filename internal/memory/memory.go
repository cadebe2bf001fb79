package memory

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/internal/errs"
)

const (
	// Floor is the memory that a small input may take at once, bytes.
	Floor = 256 << 20
	// Multiple is the memory that a larger input may take at once, divided by its size. A byte in a deflate stream becomes at most this many.
	Multiple = 1032

	small = 32 << 20 // bytes that are refused for the input's size only: reading the limits takes some time

	// arena and stack are the units, in bytes, in which Go maps memory: arenas for objects, and a stack for each thread.
	arena = 64 << 20
	stack = 8 << 20
)

// Error reports an allocation that was refused, because it is too large for the system's limits or for the input's size.
type Error struct {
	What  string
	Bytes int64 // that are needed; 0 if that is not known
	Limit Room
}

func (e *Error) Error() string {
	got := ""
	if e.Bytes > 0 {
		got = ": got " + Size(float64(e.Bytes))
	}
	return fmt.Sprintf("%s: %s%s, want at most %s (%s)", e.What, errs.OutOfMemory, got, Size(float64(e.Limit.Bytes)), e.Limit.From)
}

func (e *Error) Unwrap() error { return errs.OutOfMemory }

// Raised reports whether a larger --max-memory would allow the allocation.
func (e *Error) Raised() bool { return e.Limit.From == flag || e.Limit.From == bySize }

// The values of Room.From for limits that have no name in the system.
const (
	flag   = "--max-memory"
	bySize = "by the size of the input"
)

var (
	most  atomic.Int64 // of --max-memory; 0 without
	large sync.Mutex   // held by Make
	root  = os.DirFS("/")
	own   = sync.OnceValue(func() []level { return levels(root) })
)

// Set sets the limit --max-memory in bytes; 0 removes it.
func Set(bytes int64) { most.Store(bytes) }

// Size returns a number of bytes with a unit, such as "104.6 MiB".
func Size(bytes float64) string {
	unit := 0
	for bytes >= 1024 && unit < 4 {
		bytes /= 1024
		unit++
	}
	return fmt.Sprintf("%.4g %s", bytes, []string{"bytes", "KiB", "MiB", "GiB", "TiB"}[unit])
}

// Parse reads a number of bytes: "2000000000", "2GB", "2GiB" or "2G", which is 2GiB.
func Parse(text string) (int64, error) {
	unit := int64(1)
	upper := strings.ToUpper(strings.TrimSpace(text))
	for i, name := range []string{"K", "M", "G", "T"} {
		thousand := int64(math.Pow(1000, float64(i+1)))
		for suffix, size := range map[string]int64{name: 1 << (10 * (i + 1)), name + "IB": 1 << (10 * (i + 1)), name + "B": thousand} {
			if rest, ok := strings.CutSuffix(upper, suffix); ok {
				upper, unit = strings.TrimSpace(rest), size
			}
		}
	}
	n, err := strconv.ParseFloat(upper, 64)
	if bytes := n * float64(unit); err == nil && bytes >= 1<<20 && bytes < 1<<60 {
		return int64(bytes), nil
	}
	return 0, fmt.Errorf("got %q, want bytes, at least 1MiB, such as 2GiB", text)
}

// InUse returns the bytes that Go holds from the system.
func InUse() int64 {
	total, _, _ := inUse()
	return total
}

// inUse also returns the part without objects, and the bytes without objects that were given back, which stay address space.
func inUse() (total, idle, released int64) {
	s := [...]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s[:])
	released = int64(s[2].Value.Uint64())
	return int64(s[0].Value.Uint64()) - released, int64(s[1].Value.Uint64()), released
}

// Available returns the bytes that the process may still take.
func Available() Room {
	total, idle, _ := inUse()
	room := free(root, own())
	room = Room{room.Bytes + idle, room.From}.least(mappable())
	if n := most.Load(); n > 0 {
		room = room.least(Room{n - total + idle, flag})
	}
	room.Bytes = max(room.Bytes, 0)
	return room
}

// mappable returns the bytes that RLIMIT_AS leaves, or half the address space that Go holds without objects, if that is more. It counts
// half because it lies in pieces.
func mappable() Room {
	room := addressSpace(root)
	_, idle, released := inUse()
	return Room{max(room.Bytes, (idle+released)/2), room.From}
}

// Limit returns the bytes that Go may take in all.
func Limit() Room {
	total, _, _ := inUse()
	room := free(root, own()).least(mappable())
	room.Bytes += total
	if n := most.Load(); n > 0 {
		room = room.least(Room{n, flag})
	}
	return room
}

// Check returns an *Error if n bytes are too many for an input with the given size in bytes: more than Floor and more than Multiple times
// the size, or more than Available. If --max-memory is set, it replaces the first rule. part is for the error, such as "chunk".
func Check(part string, n, size int64) error {
	if n > Floor && n/Multiple > size && most.Load() == 0 {
		return &Error{part, n, Room{Most(size), bySize}}
	}
	return Fits(part, n)
}

// Most returns the largest n for which Check returns nil.
func Most(size int64) int64 {
	if n := most.Load(); n > 0 {
		return n
	}
	return max(Floor, min(size, unknown)*Multiple)
}

// Fits returns an *Error if n is more than Available.
func Fits(part string, n int64) error {
	if n < small {
		return nil
	}
	room := Available()
	if n > room.Bytes { // garbage may take the rest
		runtime.GC()
		room = Available()
	}
	if n > room.Bytes {
		return &Error{part, n, room}
	}
	return nil
}

// Make returns n zero elements, or an *Error if they take more than Available. Large allocations are made one after the other, so that two
// of them do not both pass the check if only one fits.
func Make[T any](part string, n int) ([]T, error) {
	bytes := int64(n) * int64(reflect.TypeFor[T]().Size())
	if bytes >= small {
		large.Lock()
		defer large.Unlock()
	}
	if err := Fits(part, bytes); err != nil {
		return nil, err
	}
	return make([]T, n), nil
}

// Must is Make for readers, inside dataset.Guard: it panics with the *Error, which Guard returns.
func Must[T any](part string, n int) []T {
	list, err := Make[T](part, n)
	if err != nil {
		panic(err)
	}
	return list
}
