package columns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/parquet-go/parquet-go"
)

// Proof is what a file must hold to be what was written.
type Proof struct {
	columns []Column
	groups  []groupSum
	size    int64
	bytes   uint64 // of the file's bytes
}

// Block is the values of one column in some of a file's rows, as they were read: Float32, Float64, Int64 or Bool is set.
type Block struct {
	Column int
	Data
}

// errDiffers is what read back otherwise.
var errDiffers = errors.New("read back, the file is not what was written")

// Check reads a file and compares its bytes, and then every value and where it stands in its row, with what was written. It hands the numbers to
// visit, if it is not nil: those of a column row group by row group, and of several columns at the same time. A block has whole rows, and is gone when
// visit returns.
func (p Proof) Check(ctx context.Context, file io.ReaderAt, size int64, visit func(Block)) (err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics at some broken files
			err = fmt.Errorf("%w: %v", errDiffers, r)
		}
	}()
	if size != p.size {
		return fmt.Errorf("%w: %d bytes, want %d", errDiffers, size, p.size)
	}
	bytes := newHash()
	if _, err := io.Copy(bytes, WithContext(ctx, io.NewSectionReader(file, 0, size))); err != nil {
		return err
	}
	if bytes.Sum64() != p.bytes {
		return errDiffers
	}
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	if got := len(f.RowGroups()); got != len(p.groups) {
		return fmt.Errorf("%w: %d row groups, want %d", errDiffers, got, len(p.groups))
	}
	for i, group := range f.RowGroups() {
		want := p.groups[i]
		if got := int(group.NumRows()); got != want.rows {
			return fmt.Errorf("%w: row group %d: %d rows, want %d", errDiffers, i, got, want.rows)
		}
		if got := len(group.ColumnChunks()); got != len(want.leaves) {
			return fmt.Errorf("%w: %d columns, want %d", errDiffers, got, len(want.leaves))
		}
	}
	return p.checkColumns(ctx, f, visit)
}

// checkColumns compares the values of the columns, several at a time.
func (p Proof) checkColumns(ctx context.Context, f *parquet.File, visit func(Block)) error {
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	errs := make([]error, 0, len(p.columns))
	leaf := 0
	for k, c := range p.columns {
		errs = append(errs, nil)
		first, failed := leaf, &errs[k]
		leaf += c.leaves()
		free <- struct{}{}
		wait.Go(func() {
			defer func() {
				if r := recover(); r != nil { // the library panics at some broken files
					*failed = fmt.Errorf("%w: %v", errDiffers, r)
				}
				<-free
			}()
			*failed = p.checkColumn(ctx, f, visit, k, first)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// checkColumn compares the values of column k, which begins with a leaf.
func (p Proof) checkColumn(ctx context.Context, f *parquet.File, visit func(Block), k, first int) error {
	c := p.columns[k]
	r := leafReader{visit: visit, sum: newSum()}
	if c.Kind == Bool || c.Kind == String || c.Kind == Image {
		r.values = make([]parquet.Value, 4096)
	}
	for i, group := range f.RowGroups() {
		for leaf := first; leaf < first+c.leaves(); leaf++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			got, err := r.read(group.ColumnChunks()[leaf], k, c.Kind)
			if err != nil {
				return err
			}
			if got != p.groups[i].leaves[leaf] {
				return fmt.Errorf("%w: row group %d, column %s", errDiffers, i, c.Name)
			}
		}
	}
	return nil
}

// WithContext returns a reader of r that ends with ctx.
func WithContext(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

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

// leafReader reads columns of the file, page by page.
type leafReader struct {
	visit  func(Block)
	data   leafData
	sum    *sum
	values []parquet.Value
}

// read returns the sum of one of the file's columns in a row group: one of those of a column of that number and kind.
func (r *leafReader) read(chunk parquet.ColumnChunk, column int, k Kind) (total, error) {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if err == io.EOF {
			return r.sum.end(), nil
		}
		if err != nil {
			return total{}, err
		}
		if err := r.data.read(page, k, r.values); err != nil {
			parquet.Release(page)
			return total{}, err
		}
		r.sum.add(r.data)
		r.sum.levels(page.RepetitionLevels(), page.DefinitionLevels())
		if d := r.data; r.visit != nil && len(d.float32)+len(d.float64)+len(d.int64)+len(d.bool) > 0 {
			r.visit(Block{column, Data{Float32: d.float32, Float64: d.float64, Int64: d.int64, Bool: d.bool}})
		}
		parquet.Release(page)
	}
}
