package parquet

import (
	"context"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// imageSize is an Image's memory without its bytes.
const imageSize = 40

// Images returns a row's image and those in later rows of the same page: at most `most` bytes together, but at least one image. The
// caller owns the images. A column with one text per row counts as images without paths.
func (c *Column) Images(ctx context.Context, group int, row int64, most int) (list []Image, err error) {
	if c.bytes == nil {
		return nil, c.file.bad(dataset.ErrUnsupported, -1, "column "+c.Name, c.Type, "images", nil)
	}
	m, err := c.bytes.load(group)
	if err != nil {
		return nil, err
	}
	defer loads.Put(m)
	chunk, err := c.bytes.pagesOf(group, m)
	if err != nil {
		return nil, err
	}
	page, first := chunk.locate(row)
	if row < 0 || page >= len(chunk.pages) {
		return nil, c.file.bad(dataset.ErrCorrupt, chunk.end, "column "+c.Name, fmt.Sprintf("no row %d in row group %d", row, group), "one", nil)
	}
	err = c.bytes.decode(group, m, chunk, page, false, func(_ int, p *decodedPage) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		var err error
		list, err = c.blobs(p, int(row-first), most)
		return false, err
	})
	if err != nil {
		return nil, err
	}
	if c.paths != nil && slices.ContainsFunc(list, func(i Image) bool { return i.Bytes == nil }) {
		paths := &Values{}
		if err := c.paths.read(ctx, group, row, row+int64(len(list)), paths); err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Path = paths.Texts[i]
		}
	}
	return list, nil
}

// blobs returns a page's values from index skip on: at most `most` bytes together, but at least one value.
func (c *Column) blobs(p *decodedPage, skip, most int) (list []Image, err error) {
	full := byte(c.bytes.column.MaxDefinitionLevel())
	at, size := 0, 0
	for i := range p.n {
		image := Image{}
		if len(p.defs) == 0 || p.defs[i] == full {
			if at++; i < skip {
				continue
			}
			var value []byte
			if p.index != nil {
				value = []byte(p.dict.texts[p.index[at-1]])
			} else {
				value = p.text(at - 1)
			}
			size += len(value)
			if size > most && len(list) > 0 {
				return list, nil
			}
			image.Bytes = append([]byte{}, value...)
		}
		if i < skip {
			continue
		}
		if list = append(list, image); size+imageSize*len(list) > most {
			return list, nil
		}
	}
	if len(list) == 0 {
		return nil, c.file.bad(dataset.ErrCorrupt, -1, "page of "+c.Name, fmt.Sprintf("%d values", p.n), "more", nil)
	}
	return list, nil
}

// Absent returns the rows in [from,to) of a row group with neither bytes nor a path, counted from the group's first row. It reads them
// unless the file declares that there are no nulls.
func (c *Column) Absent(ctx context.Context, group int, from, to int64) (absent []int64, err error) {
	if c.bytes.nullFree(group) {
		return nil, nil
	}
	without, err := c.bytes.nulls(ctx, group, from, to)
	if err != nil || len(without) == 0 || c.paths == nil {
		return without, err
	}
	paths := &Values{}
	if err := c.paths.read(ctx, group, from, to, paths); err != nil {
		return nil, err
	}
	for _, row := range without {
		if paths.Texts[row-from] == "" {
			absent = append(absent, row)
		}
	}
	return absent, nil
}
