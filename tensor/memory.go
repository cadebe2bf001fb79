package tensor

import (
	"fmt"
	"os"
	"strings"
)

const (
	unknownRoom = 1 << 40 // what host memory is taken to have where the system does not say
	smallHost   = 1 << 28 // bytes that are allocated without a look at what there is
)

// Available returns how many bytes of memory the system can still give to the program, with what it can swap out: on Linux what
// /proc/meminfo says, elsewhere 1 TiB. New refuses more.
func Available() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return unknownRoom
	}
	return available(string(text))
}

func available(meminfo string) int64 {
	room, found := int64(0), false
	for line := range strings.Lines(meminfo) {
		var name string
		var kib int64
		if n, _ := fmt.Sscanf(line, "%s %d kB", &name, &kib); n == 2 && (name == "MemAvailable:" || name == "SwapFree:") {
			room += 1024 * kib
			found = found || name == "MemAvailable:"
		}
	}
	if !found {
		return unknownRoom
	}
	return room
}

// roomFor returns an error if host memory does not have n elements. Go itself would end the program, or the system would.
func roomFor(op string, dtype DType, n int, shape []int) error {
	bytes := int64(n) * int64(dtype.Size())
	if bytes < smallHost {
		return nil
	}
	if most := Available(); bytes > most {
		return &Error{Op: op, Kind: ErrOutOfMemory, Got: fmt.Sprintf("%s %s, %d bytes", dtype, FormatShape(shape), bytes), Want: fmt.Sprintf("at most %d bytes, which are available", most)}
	}
	return nil
}
