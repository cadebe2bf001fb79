package parquet

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/robocache/robocache/dataset"
)

// pagesOf reads the page headers in a row group and checks the declared sizes.
func (l *leaf) pagesOf(group int, from io.ReaderAt) (*chunk, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.chunks[group]; c != nil {
		return c, nil
	}
	meta, bytes, err := l.bounds(group)
	if err != nil {
		return nil, err
	}
	at := bytes.at
	c := &chunk{meta: meta, end: at + bytes.size, most: max(1<<24, 64*bytes.size)}
	switch meta.Codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd, format.Lz4Raw, format.Brotli:
	default:
		return nil, l.file.bad(dataset.ErrUnsupported, at, "column "+l.name, "compression "+meta.Codec.String(), "none, snappy, gzip, zstd, lz4_raw or brotli", nil)
	}
	for at < c.end {
		h, err := l.head(from, at, c.end)
		if err != nil {
			return nil, err
		}
		size := int64(h.size) + h.compressed
		switch {
		case h.compressed < 0 || size > c.end-at:
			return nil, l.file.bad(dataset.ErrTruncated, at, "page of "+l.name, fmt.Sprintf("%d bytes", h.compressed), fmt.Sprintf("at most %d",
				c.end-at-int64(h.size)), nil)
		case h.uncompressed < 0 || h.uncompressed > maxPageBytes || h.values < 0 || h.values > maxPageValues || h.nulls < 0 || h.nulls > h.values:
			return nil, l.file.bad(dataset.ErrTooLarge, at, "page of "+l.name, fmt.Sprintf("%d values in %d bytes, %d null", h.values,
				h.uncompressed, h.nulls),
				fmt.Sprintf("at most %d in %d", maxPageValues, maxPageBytes), nil)
		case h.kind == 2 && len(c.pages) == 0 && c.dict.size == 0:
			c.dict = span{at, size}
		case (h.kind == 0 || h.kind == 3) && !l.knows(h):
			codes := fmt.Sprintf("encodings %v, %v and %v", format.Encoding(h.encoding), format.Encoding(h.defCode), format.Encoding(h.repCode))
			return nil, l.file.bad(dataset.ErrUnsupported, at, "page of "+l.name, codes,
				"PLAIN, RLE_DICTIONARY, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY or BYTE_STREAM_SPLIT, and RLE for levels", nil)
		case h.kind == 0 || h.kind == 3:
			p := page{span: span{at, size}, rows: -1}
			if l.column.MaxRepetitionLevel() == 0 {
				p.rows, p.begins = h.values, true
			}
			c.pages = append(c.pages, p)
			c.total += h.values
			if h.encoding == plainDictionary || h.encoding == indexValues {
				c.uses = len(c.pages)
			}
		case h.kind != 1:
			return nil, l.file.bad(dataset.ErrCorrupt, at, "page of "+l.name, fmt.Sprintf("kind %d", h.kind),
				"values, or one dictionary before them", nil)
		}
		at += size
	}
	if c.total != meta.NumValues {
		return nil, l.file.bad(dataset.ErrCorrupt, c.end, "column "+l.name, fmt.Sprintf("%d values in the pages of row group %d", c.total, group),
			fmt.Sprint(meta.NumValues), nil)
	}
	l.chunks[group] = c
	return c, nil
}

// knows reports whether a page's encoding is supported.
func (l *leaf) knows(h pageHead) bool {
	if h.kind == 0 && (l.column.MaxDefinitionLevel() > 0 && h.defCode != runs || l.column.MaxRepetitionLevel() > 0 && h.repCode != runs) {
		return false
	}
	switch h.encoding {
	case plainValues, plainDictionary, indexValues:
		return true
	}
	switch l.kind {
	case "bool":
		return h.encoding == runs
	case "string":
		return h.encoding == textsByLength || h.encoding == textsByPrefix
	}
	return h.encoding == splitBytes || h.encoding == differences && isWhole(l.kind)
}

// head reads a page's header. Most have less than 512 bytes, but text statistics can make them longer.
func (l *leaf) head(from io.ReaderAt, at, end int64) (pageHead, error) {
	for _, n := range []int64{512, 1 << 20} {
		b := make([]byte, min(n, end-at))
		if _, err := from.ReadAt(b, at); err != nil && err != io.EOF {
			return pageHead{}, err
		}
		h, err := parsePageHead(b)
		if err == nil {
			return h, nil
		}
		if int64(len(b)) == end-at || n > 512 {
			return h, l.file.bad(dataset.ErrCorrupt, at, "page header of "+l.name, "", "", err)
		}
	}
	return pageHead{}, nil // not reached
}
