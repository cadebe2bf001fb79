package columns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Proof is what a file must hold to be what was written.
type Proof struct {
	columns []Column
	groups  []groupSum
	size    int64
	bytes   total // of the file's bytes
}

// Block is the values of one column in some of a file's rows, as they were read: Float32, Float64, Int64 or Bool is set.
type Block struct {
	Column int
	Data
}

// errDiffers is what read back otherwise.
var errDiffers = errors.New("read back, the file is not what was written")

// Check reads a file and compares its bytes, and then every value and where it stands in its row, with what was written. It hands the numbers to
// visit, if it is not nil, row group by row group and there column by column; a block has whole rows, and is gone when visit returns.
func (p Proof) Check(ctx context.Context, file io.ReaderAt, size int64, visit func(Block)) (err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics at some broken files
			err = fmt.Errorf("%w: %v", errDiffers, r)
		}
	}()
	if size != p.size {
		return fmt.Errorf("%w: %d bytes, want %d", errDiffers, size, p.size)
	}
	bytes := newSum()
	if _, err := io.Copy(bytes.h, contextReader{ctx, io.NewSectionReader(file, 0, size)}); err != nil {
		return err
	}
	if bytes.total() != p.bytes {
		return errDiffers
	}
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	if got := len(f.RowGroups()); got != len(p.groups) {
		return fmt.Errorf("%w: %d row groups, want %d", errDiffers, got, len(p.groups))
	}
	buf := make([]parquet.Value, 4096)
	for i, group := range f.RowGroups() {
		want := p.groups[i]
		if got := int(group.NumRows()); got != want.rows {
			return fmt.Errorf("%w: row group %d: %d rows, want %d", errDiffers, i, got, want.rows)
		}
		if got := len(group.ColumnChunks()); got != len(want.leaves) {
			return fmt.Errorf("%w: %d columns, want %d", errDiffers, got, len(want.leaves))
		}
		leaf := 0
		for k, c := range p.columns {
			for range c.leaves() {
				if err := ctx.Err(); err != nil {
					return err
				}
				got := newSum()
				b := collector{column: k, c: c, visit: visit}
				if err := readChunk(group.ColumnChunks()[leaf], buf, &got, &b); err != nil {
					return err
				}
				if got.total() != want.leaves[leaf] {
					return fmt.Errorf("%w: row group %d, column %s", errDiffers, i, c.Name)
				}
				leaf++
			}
		}
	}
	return nil
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

func readChunk(chunk parquet.ColumnChunk, buf []parquet.Value, got *sum, b *collector) error {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if err == io.EOF {
			b.flush()
			return nil
		}
		if err != nil {
			return err
		}
		values := page.Values()
		for {
			n, err := values.ReadValues(buf)
			for _, v := range buf[:n] {
				got.add(v, v.RepetitionLevel(), v.DefinitionLevel())
				b.add(v)
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				parquet.Release(page)
				return err
			}
		}
		parquet.Release(page)
	}
}

// collector gathers numbers into blocks of whole rows.
type collector struct {
	column int
	c      Column
	data   Data
	n      int
	visit  func(Block)
}

func (b *collector) add(v parquet.Value) {
	if b.visit == nil || v.IsNull() {
		return
	}
	switch b.c.Kind {
	case Float32:
		b.data.Float32 = append(b.data.Float32, v.Float())
	case Float64:
		b.data.Float64 = append(b.data.Float64, v.Double())
	case Int64:
		b.data.Int64 = append(b.data.Int64, v.Int64())
	case Bool:
		b.data.Bool = append(b.data.Bool, v.Boolean())
	default:
		return
	}
	if b.n++; b.n >= 4096 && b.n%b.c.width() == 0 {
		b.flush()
	}
}

func (b *collector) flush() {
	if b.n > 0 {
		b.visit(Block{b.column, b.data})
	}
	b.n = 0
	b.data = Data{Float32: b.data.Float32[:0], Float64: b.data.Float64[:0], Int64: b.data.Int64[:0], Bool: b.data.Bool[:0]}
}

// seed is one for the program: a sum never leaves it.
var seed = maphash.MakeSeed()

// sum is a check sum of values and where they stand.
type sum struct {
	n int
	h *maphash.Hash
}

func newSum() sum {
	h := &maphash.Hash{}
	h.SetSeed(seed)
	return sum{h: h}
}

// add takes a value with its levels. A null has a definition level of its own, so that it equals no value.
func (s *sum) add(v parquet.Value, rep, def int) {
	s.n++
	var head [16]byte
	head[0], head[1] = byte(rep), byte(def)
	switch {
	case v.IsNull():
		_, _ = s.h.Write(head[:2])
	case v.Kind() == parquet.ByteArray:
		text := v.ByteArray()
		binary.LittleEndian.PutUint64(head[8:], uint64(len(text)))
		_, _ = s.h.Write(head[:])
		_, _ = s.h.Write(text)
	default:
		binary.LittleEndian.PutUint64(head[8:], v.Uint64())
		_, _ = s.h.Write(head[:])
	}
}

// total is what is kept of a sum.
type total struct {
	n    int
	hash uint64
}

func (s *sum) total() total { return total{s.n, s.h.Sum64()} }
