package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/robocache/robocache/dataset"
)

// prepare reads a page.
func (l *leaf) prepare(m io.ReaderAt, c *chunk, at span, dict *dictionary) (p *decodedPage, err error) {
	p = pages.Get().(*decodedPage)
	p.kind, p.dict, p.width = l.kind, dict, 0
	defer func() {
		if err != nil {
			p.release()
			p = nil
			var bad *dataset.FormatError
			if !errors.As(err, &bad) {
				err = l.file.bad(dataset.ErrCorrupt, at.at, "page of "+l.name, "", "", err)
			}
		}
	}()
	h, data, err := p.open(m, c, at)
	if err != nil {
		return p, err
	}
	p.n = int(h.values)
	full := l.column.MaxDefinitionLevel()
	if h.kind == 3 {
		levels := data[:h.reps+h.defs]
		data = data[h.reps+h.defs:]
		if p.reps, err = p.level(0, levels[:h.reps], l.column.MaxRepetitionLevel()); err == nil {
			p.defs, err = p.level(1, levels[h.reps:], full)
		}
	} else if p.reps, data, err = p.levelV1(0, data, l.column.MaxRepetitionLevel()); err == nil {
		p.defs, data, err = p.levelV1(1, data, full)
	}
	if err != nil {
		return p, err
	}
	p.dense = p.n
	if p.defs != nil {
		p.dense = bytes.Count(p.defs, []byte{byte(full)})
	}
	if err := p.values(h.encoding, data); err != nil {
		return p, err
	}
	if p.dense == p.n && p.n > 0 {
		p.width = regular(p.reps, p.n)
	}
	return p, nil
}

// open reads, checks and decompresses a page's bytes.
func (p *decodedPage) open(m io.ReaderAt, c *chunk, at span) (h pageHead, data []byte, err error) {
	p.body = slices.Grow(p.body[:0], int(at.size))[:at.size]
	if n, err := m.ReadAt(p.body, at.at); n < len(p.body) {
		return h, nil, err
	}
	if h, err = parsePageHead(p.body); err != nil {
		return h, nil, err
	}
	data = p.body[h.size:]
	if int64(len(data)) != h.compressed || h.reps < 0 || h.defs < 0 || h.reps+h.defs > min(h.compressed, h.uncompressed) {
		return h, nil, fmt.Errorf("%d bytes, of which levels are %d and %d", h.compressed, h.reps, h.defs)
	}
	if h.sum != noSum {
		if err := compareSum(uint32(h.sum), data); err != nil {
			return h, nil, err
		}
	}
	levels := h.reps + h.defs
	size := int(h.uncompressed - levels)
	if c.meta.Codec == format.Uncompressed || !h.packed || size == 0 && int64(len(data)) == levels {
		if int64(len(data)) != h.uncompressed {
			return h, nil, fmt.Errorf("%d bytes, want %d", len(data), h.uncompressed)
		}
		return h, data, nil
	}
	p.plain, err = decompress(append(p.plain[:0], data[:levels]...), c.meta.Codec, data[levels:], size)
	return h, p.plain, err
}

// dictionaryOf reads a row group's dictionary; nil if there is none.
func (l *leaf) dictionaryOf(m io.ReaderAt, group int, c *chunk) (*dictionary, error) {
	if c.dict.size == 0 {
		return nil, nil
	}
	l.mu.Lock()
	known := l.dict
	l.mu.Unlock()
	if known.d != nil && known.group == group {
		return known.d, nil
	}
	p := pages.Get().(*decodedPage)
	defer p.release()
	h, data, err := p.open(m, c, c.dict)
	if err == nil {
		p.kind, p.dense = l.kind, int(h.values)
		if p.kind == "bool" || h.encoding != plainValues && h.encoding != plainDictionary {
			err = errors.New("a dictionary of truth values, or one that is encoded")
		} else {
			err = p.values(plainValues, data)
		}
	}
	if err != nil {
		return nil, l.file.bad(dataset.ErrCorrupt, c.dict.at, "dictionary of "+l.name, "", "", err)
	}
	v := &Values{}
	p.appendTo(v, 0, p.dense)
	d := &dictionary{p.dense, v.Float32, v.Float64, v.Int64, v.Texts}
	if d.n <= maxHeld && len(data) <= maxLoad {
		l.mu.Lock()
		l.dict = groupDictionary{group, d}
		l.mu.Unlock()
	}
	return d, nil
}

// decode calls use for each page from number first on, until use returns false. use must not keep the page's memory. If keep is true,
// the last page is kept for the next read.
func (l *leaf) decode(group int, m *chunkBytes, c *chunk, first int, keep bool, use func(i int, p *decodedPage) (bool, error)) (err error) {
	defer l.file.guard("column "+l.name, &err)
	var dict *dictionary
	if first < c.uses { // writers stop using a large dictionary, so later pages do not need it
		if dict, err = l.dictionaryOf(m, group, c); err != nil {
			return err
		}
	}
	for i := first; i < len(c.pages); i++ {
		p, err := l.prepare(m, c, c.pages[i].span, dict)
		if err != nil {
			return err
		}
		more, err := use(i, p)
		if keep && !more && err == nil {
			l.hold(group, i, p)
		} else {
			p.release()
		}
		if !more || err != nil {
			return err
		}
	}
	return nil
}

// hold keeps a page for the next read. The caller must not use it any more.
func (l *leaf) hold(group, number int, p *decodedPage) {
	if p.n > maxHeld || len(p.raw) > 8*maxHeld {
		p.release()
		return
	}
	l.mu.Lock()
	before := l.held
	l.held = keptPage{group, number, p}
	l.mu.Unlock()
	if before.p != nil {
		before.p.release()
	}
}

// take returns the kept page if it has this group and number, and removes it; otherwise nil.
func (l *leaf) take(group, number int) *decodedPage {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.held.p
	if p == nil || l.held.group != group || l.held.number != number {
		return nil
	}
	l.held = keptPage{}
	return p
}
