package npy

import (
	"io"
	"strconv"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/tensor"
)

// maxTime is how far from 0 a time in nanoseconds may lie.
const maxTime = 1 << 62

const clockTypes = "int64 or uint64 nanoseconds, datetime64 or timedelta64 of ns, us, ms, s, m, h, D or W, or float64 or float32 seconds"

// ReadTimes reads timestamps. datetime64, timedelta64 and uint64 become i64 nanoseconds, exactly; int64, float64 and float32 stay
// as they are. The error is a *dataset.FormatError that is dataset.ErrUnsupported if a datetime64 or timedelta64 is NaT, has no
// unit or a calendar unit such as months, or if a time exceeds +-2^62 ns. All other types are refused too, because 32-bit
// nanoseconds span only 4 s.
func ReadTimes(r io.Reader) (*tensor.Tensor, error) {
	return afterHeader(r, ReadTimesData)
}

// ReadTimesData is ReadTimes for an array with a known header, from its first data byte on; see [ReadData].
func ReadTimesData(r io.Reader, h *Header) (*tensor.Tensor, error) {
	if !h.clock() {
		return nil, unsupported(h, clockTypes)
	}
	if s, _ := h.scalar(); s == records.F32 || s == records.F64 {
		return floats(r, h, s)
	}
	data, err := elements(r, h.count, 8, h.size, h.int64s())
	if err != nil {
		return nil, err
	}
	if err := h.nanoseconds(data, h.size, 8); err != nil {
		return nil, err
	}
	return shaped(data, h)
}

// units are the datetime64 and timedelta64 units with a fixed number of nanoseconds.
var units = map[string]time.Duration{
	"ns": 1, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "D": 24 * time.Hour, "W": 7 * 24 * time.Hour,
}

// step returns the unit of a datetime64 or timedelta64 in nanoseconds, and 0 for other types. Example: 10,000 for "10us".
func (e element) step() int64 {
	digits := 0
	for digits < len(e.unit) && e.unit[digits] >= '0' && e.unit[digits] <= '9' {
		digits++
	}
	n := int64(1)
	if digits > 0 {
		var err error
		if n, err = strconv.ParseInt(e.unit[:digits], 10, 32); err != nil {
			return 0
		}
	}
	one := int64(units[e.unit[digits:]])
	if one == 0 || n > maxTime/one {
		return 0
	}
	return n * one
}

// clock reports whether the type can hold timestamps.
func (e element) clock() bool {
	if e.isTime() {
		return e.step() > 0
	}
	s, ok := e.scalar()
	return ok && (s == records.I64 || s == records.U64 || s == records.F64 || s == records.F32)
}

// nanoseconds makes nanoseconds of 64-bit numbers of a clock's type. Number i was read at byte base + i*stride.
func (e element) nanoseconds(data []int64, base, stride int64) error {
	if e.kind == 'i' {
		return nil
	}
	step := int64(1)
	if e.isTime() {
		step = e.step()
	}
	for i, v := range data {
		if v >= -maxTime/step && v <= maxTime/step && !(e.kind == 'u' && v < 0) {
			data[i] = v * step
			continue
		}
		got := strconv.FormatInt(v, 10) + " " + e.unit
		switch {
		case e.kind == 'u':
			got = strconv.FormatUint(uint64(v), 10)
		case e.isTime() && v == -1<<63:
			got = "NaT"
		}
		return &dataset.FormatError{Format: "npy", Offset: base + int64(i)*stride, Kind: dataset.ErrUnsupported, Msg: e.name() + " time",
			Got: got + " at index " + strconv.Itoa(i), Want: "at most 2^62 ns from 0"}
	}
	return nil
}
