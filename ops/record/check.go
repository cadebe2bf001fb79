package record

import (
	"encoding/hex"
	"fmt"
	"math"

	"github.com/robocache/robocache/internal/device"
)

// Limits for a launch on any device.
const (
	maxShared = 1 << 20 // bytes
	maxParams = 32764   // bytes of kernel parameters
)

// check returns an error if the plan refers to something that does not exist. The caller has checked the version.
func (p *Plan) check() error {
	c := &checker{Plan: p}
	c.want(name(p.Op), "op", p.Op)
	seen := map[string]bool{}
	for i, a := range p.Arguments {
		c.want(name(a.Name) && !seen[a.Name] && a.Bytes >= 0 && a.Bytes <= most && a.Align >= 0 && a.Align <= 15, "argument", i)
		seen[a.Name] = true
	}
	for i, im := range p.Images {
		_, err := hex.DecodeString(im.Hash)
		c.want(err == nil && len(im.Hash) == 64 && name(im.Family) && name(im.File) && im.Bytes > 0 && im.Bytes <= math.MaxInt32, "image", i)
	}
	for i := range p.Buffers {
		c.buffer(i, &p.Buffers[i])
	}
	for i := range p.Launches {
		c.launch(i, &p.Launches[i])
	}
	if r := p.Counts; r != nil {
		c.want(r.Buffer >= len(p.Arguments) && r.Bytes > 0 && c.within(int64(r.Buffer), r.Offset, r.Bytes), "counts", *r)
	}
	c.want(c.used == int64(len(p.Payload)), "payload", len(p.Payload))
	c.want(p.Arguments != nil && p.Images != nil && p.Buffers != nil && p.Launches != nil, "list", nil)
	return c.err
}

// checker records the first error, and how much of the payload is used, because its parts are consecutive.
type checker struct {
	*Plan
	used int64
	err  error
}

func (c *checker) want(ok bool, what string, got any) {
	if !ok && c.err == nil {
		c.err = &FormatError{What: fmt.Sprintf("%s: %v", what, got)}
	}
}

func name(s string) bool { return s != "" && len(s) <= maxName }

// size returns the size of the buffer with a number.
func (c *checker) size(number int64) (int64, bool) {
	a := int64(len(c.Arguments))
	switch {
	case number < 0 || number >= a+int64(len(c.Buffers)):
		return 0, false
	case number < a:
		return c.Arguments[number].Bytes, true
	}
	return c.Buffers[number-a].Bytes, true
}

// within reports whether a buffer has n bytes from an offset on.
func (c *checker) within(number, offset, n int64) bool {
	size, ok := c.size(number)
	return ok && offset >= 0 && n >= 0 && n <= size && offset <= size-n
}

// take returns the payload's next part. The offset must be the end of the previous part.
func (c *checker) take(offset, n int64) []byte {
	if offset != c.used || n < 0 || n > int64(len(c.Payload))-c.used {
		return nil
	}
	c.used += n
	return c.Payload[offset:][:n]
}

// relocation checks a relocation in part of the payload. The word there must be zero.
func (c *checker) relocation(what string, data []byte, after int64, r Relocation) {
	ok := r[0] >= after && r[0]%8 == 0 && r[0] <= int64(len(data))-8 && c.within(r[1], r[2], 0)
	c.want(ok && word(data[max(min(r[0], int64(len(data))-8), 0):]) == 0, what, r)
}

func (c *checker) buffer(i int, b *Buffer) {
	what := fmt.Sprintf("buffer %d", i)
	c.want(b.Bytes > 0 && b.Bytes <= most, what, b.Bytes)
	switch b.Kind {
	case Memory:
	case Fault, Flag:
		size := map[string]int64{Fault: device.CellBytes, Flag: device.FlagBytes}[b.Kind]
		c.want(b.Bytes == size && b.Fill == nil && b.Init == nil && b.ID == nil && (b.Kind == Fault || i > 0 && c.Buffers[i-1].Kind == Fault), what, b.Kind)
		c.want(b.Kind == Flag || i+1 < len(c.Buffers) && c.Buffers[i+1].Kind == Flag, what, b.Kind)
	default:
		c.want(false, what, b.Kind)
	}
	if f := b.Fill; f != nil {
		c.want(f[0] >= 0 && f[0] <= 255 && f[1] > 0 && f[1] <= b.Bytes, what+": fill", *f)
	}
	c.want(b.ID == nil || *b.ID >= 0, what, "id")
	var data []byte
	if s := b.Init; s != nil {
		data = c.take(s[0], s[1])
		c.want(len(data) > 0 && int64(len(data)) <= b.Bytes, what+": init", *s)
	}
	after := int64(0)
	for _, r := range b.Relocations {
		if c.err != nil {
			return
		}
		c.want(len(data) >= 8, what, r)
		if c.err == nil {
			c.relocation(what+": relocation", data, after, r)
			after = r[0] + 8
		}
	}
}

func (c *checker) launch(i int, l *Launch) {
	what := fmt.Sprintf("launch %d", i)
	c.want(l.Image >= 0 && l.Image < len(c.Images) && name(l.Entry) && l.Params != nil && l.Relocations != nil, what, l.Entry)
	threads := uint64(1)
	for k := range 3 {
		c.want(l.Grid[k] > 0 && l.Block[k] > 0 && l.Block[k] <= 1024 && l.Grid[k] <= [3]uint32{math.MaxInt32, math.MaxUint16, math.MaxUint16}[k], what+": shape", []any{l.Grid, l.Block})
		threads *= uint64(l.Block[k])
		threads = min(threads, 1<<20)
	}
	c.want(threads <= 1024 && l.Shared <= maxShared && (l.Carveout == nil || *l.Carveout >= -1 && *l.Carveout <= 100), what+": shape", []any{l.Block, l.Shared})
	params := make([][]byte, len(l.Params))
	end := int64(0)
	for k, p := range l.Params {
		params[k] = c.take(p[0], p[1])
		c.want(len(params[k]) > 0 && p[2] >= end && p[2] <= maxParams-int64(len(params[k])), what+": parameter", p)
		end = p[2] + p[1]
		if c.err != nil {
			return
		}
	}
	param, after := int64(0), int64(0)
	for _, r := range l.Relocations {
		if r[0] != param {
			c.want(r[0] > param && r[0] < int64(len(params)), what+": relocation", r)
			param, after = r[0], 0
		}
		c.want(param < int64(len(params)) && len(params) > 0, what, r)
		if c.err == nil {
			c.want(len(params[param]) >= 8, what, r)
		}
		if c.err != nil {
			return
		}
		c.relocation(what+": relocation", params[param], after, Relocation{r[1], r[2], r[3]})
		after = r[1] + 8
	}
}
