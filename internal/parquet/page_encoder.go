package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/robocache/robocache/internal/raw"
)

// pageBytes is the page size before compression, 1 MiB as in LeRobot's files. A value is never split, so a large one exceeds it.
const pageBytes = 1 << 20

// pageEncoder encodes a column's pages. It reuses its memory.
type pageEncoder struct {
	plain      []byte // a page before compression
	packed     []byte
	reps       []byte // the values' repetition levels
	dictionary []byte // the distinct values in encoded form; nil without a dictionary
	distinct   int
	index      []int32 // each value's index in the dictionary
	table      []int32
	seen       []uint64 // the distinct values
	scratch    []byte
}

// begin starts a column, and creates its dictionary if that makes the column smaller.
func (p *pageEncoder) begin(c Field, d leafValues) {
	p.dictionary = nil
	switch d.typ {
	case "float32":
		dictionaryOf(p, d.float32, 4, func(v float32) uint64 { return uint64(math.Float32bits(v)) })
	case "float64":
		dictionaryOf(p, d.float64, 8, math.Float64bits)
	case "int64":
		dictionaryOf(p, d.int64, 8, func(v int64) uint64 { return uint64(v) })
	}
}

// dictionaryBytes limits a dictionary, as in pyarrow.
const dictionaryBytes = 1 << 20

// sampled is how many values are checked first: if most of them are distinct, there is no dictionary.
const sampled = 1024

// dictionaryOf creates a dictionary for values with the given size, if it saves bytes.
func dictionaryOf[T any](p *pageEncoder, values []T, size int, bitsOf func(T) uint64) {
	n := len(values)
	if n < 2 {
		return
	}
	if n > 4*sampled {
		if found := distinct(p, sampled, sampled, func(i int) uint64 { return bitsOf(values[i*(n/sampled)]) }, nil); found < 0 || found > sampled*9/10 {
			return
		}
	}
	p.index = p.index[:0]
	most := min(n/2, dictionaryBytes/size)
	found := distinct(p, n, most, func(i int) uint64 { return bitsOf(values[i]) }, func(at int32) { p.index = append(p.index, at) })
	if found < 0 || found*size+n*bits.Len(uint(found-1))/8 >= n*size {
		return
	}
	p.dictionary, p.distinct = make([]byte, 0, found*size), found
	for _, v := range p.seen {
		if size == 4 {
			p.dictionary = binary.LittleEndian.AppendUint32(p.dictionary, uint32(v))
		} else {
			p.dictionary = binary.LittleEndian.AppendUint64(p.dictionary, v)
		}
	}
}

// distinct numbers n values in order of first appearance, and collects them in seen. It returns how many are distinct, or -1 if there
// are more than most.
func distinct(p *pageEncoder, n, most int, value func(i int) uint64, use func(at int32)) int {
	slots := 1 << bits.Len(uint(2*most+1))
	if cap(p.table) < slots {
		p.table = make([]int32, slots)
	}
	table := p.table[:slots]
	clear(table)
	seen := p.seen[:0]
	defer func() { p.seen = seen }()
	shift := 64 - bits.Len(uint(slots-1))
	for i := range n {
		v := value(i)
		at := int(v * 0x9e3779b97f4a7c15 >> shift)
		for table[at] != 0 && seen[table[at]-1] != v {
			at = (at + 1) & (slots - 1)
		}
		if table[at] == 0 {
			if len(seen) == most {
				return -1
			}
			seen = append(seen, v)
			table[at] = int32(len(seen))
		}
		if use != nil {
			use(table[at] - 1)
		}
	}
	return len(seen)
}

// room returns the next page's row and value counts: whole rows, at least one.
func (p *pageEncoder) room(c Field, d leafValues, lengths []int, row, from, n int) (rows, values int) {
	size := 0
	for row+rows < n && size < pageBytes {
		width := c.width()
		if c.Ragged {
			width = max(lengths[row+rows], 1)
		}
		if d.bytes == nil {
			fit := max(1, pageBytes/(8*width))
			if c.Ragged {
				fit = 1
			}
			fit = min(fit, n-row-rows)
			rows, values, size = rows+fit, values+fit*width, size+fit*width*8
			continue
		}
		for _, b := range d.bytes[from+values : from+values+width] {
			size += len(b) + 4
		}
		rows, values = rows+1, values+width
	}
	return rows, values
}

// levels starts a page with its values' levels.
func (p *pageEncoder) levels(c Field, lengths []int, row, rows int) {
	p.plain = p.plain[:0]
	p.reps = p.reps[:0]
	depth := c.depth()
	values := rows * c.width()
	if c.Ragged {
		values = 0
		for _, length := range lengths[row : row+rows] {
			p.reps = append(append(p.reps, 0), bytes.Repeat([]byte{1}, max(length, 1)-1)...)
			values += max(length, 1)
		}
	} else if depth > 0 {
		one := c.repetitions()
		for range rows {
			p.reps = append(p.reps, one...)
		}
	}
	if depth > 0 {
		encoding := rle.Encoding{BitWidth: bits.Len(uint(depth))}
		p.scratch, _ = encoding.EncodeLevels(p.scratch[:0], p.reps) // the width is valid
		p.plain = binary.LittleEndian.AppendUint32(p.plain, uint32(len(p.scratch)))
		p.plain = append(p.plain, p.scratch...)
	}
	run := append(binary.AppendUvarint(p.scratch[:0], uint64(values)<<1), byte(c.definition()))
	p.plain = binary.LittleEndian.AppendUint32(p.plain, uint32(len(run)))
	p.plain = append(p.plain, run...)
}

// values appends a page's values. from is the first value's index in the column.
func (p *pageEncoder) values(d leafValues, from int) {
	switch {
	case p.dictionary != nil:
		var encoding rle.DictionaryEncoding
		p.scratch, _ = encoding.EncodeInt32(p.scratch[:0], p.index[from:from+d.len()])
		p.plain = append(p.plain, p.scratch...)
	case d.typ == "bool":
		at := len(p.plain)
		p.plain = append(p.plain, make([]byte, (len(d.int64)+7)/8)...)
		for i, v := range d.int64 {
			p.plain[at+i/8] |= byte(v) << (i % 8)
		}
	case d.bytes != nil:
		for _, b := range d.bytes {
			p.plain = binary.LittleEndian.AppendUint32(p.plain, uint32(len(b)))
			p.plain = append(p.plain, b...)
		}
	default:
		p.plain = d.appendBytes(p.plain)
	}
}

// end compresses a page, and returns it with its header.
func (p *pageEncoder) end(kind format.PageType, rows, values int) (head, body []byte) {
	p.packed = pack(p.packed[:0], p.plain)
	h := format.PageHeader{Type: kind, UncompressedPageSize: int32(len(p.plain)), CompressedPageSize: int32(len(p.packed)),
		CRC: int32(crc32.ChecksumIEEE(p.packed))}
	if kind == format.DictionaryPage {
		h.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: int32(values), Encoding: format.Plain})
	} else {
		encoding := format.Plain
		if p.dictionary != nil {
			encoding = format.RLEDictionary
		}
		h.DataPageHeader = thrift.New(format.DataPageHeader{
			NumValues: int32(values), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		})
	}
	head, err := thrift.Marshal(&thrift.CompactProtocol{}, &h)
	if err != nil {
		panic(err) // numbers never fail
	}
	return head, p.packed
}

// pack compresses a page. The better encoder has one pool for two table sizes: for pages from 4 to 16 kB, and 7 times larger for pages
// above 64 kB. If such pages alternate, as those for row numbers and states do, it would allocate new tables for each page. So medium
// pages use the faster encoder.
func pack(to, page []byte) []byte {
	if len(page) >= 4<<10 && len(page) < 16<<10 {
		return s2.EncodeSnappy(to[:cap(to)], page)
	}
	return s2.EncodeSnappyBetter(to[:cap(to)], page)
}

// leafValues holds the values for one leaf column, in one of the lists. The type "string" is also used for an image's bytes and path.
type leafValues struct {
	typ     string
	float32 []float32
	float64 []float64
	int64   []int64
	bytes   [][]byte
}

// leavesOf returns the values for a column's leaves: for images, their bytes and their paths.
func leavesOf(typ string, v *Values) []leafValues {
	switch typ {
	case "float32":
		return []leafValues{{typ: typ, float32: v.Float32}}
	case "float64":
		return []leafValues{{typ: typ, float64: v.Float64}}
	case "string":
		texts := make([][]byte, len(v.Texts))
		for i, text := range v.Texts {
			texts[i] = []byte(text)
		}
		return []leafValues{{typ: typ, bytes: texts}}
	case "image":
		images, paths := make([][]byte, len(v.Images)), make([][]byte, len(v.Images))
		for i, image := range v.Images {
			images[i], paths[i] = image.Bytes, []byte(image.Path)
		}
		return []leafValues{{typ: "string", bytes: images}, {typ: "string", bytes: paths}}
	}
	return []leafValues{{typ: typ, int64: v.Int64}}
}

// slice returns values [from,to).
func (d leafValues) slice(from, to int) leafValues {
	return leafValues{d.typ, slice(d.float32, from, to), slice(d.float64, from, to), slice(d.int64, from, to), slice(d.bytes, from, to)}
}

func slice[T any](list []T, from, to int) []T {
	if list == nil {
		return nil
	}
	return list[from:to]
}

// len returns the value count.
func (d leafValues) len() int { return len(d.float32) + len(d.float64) + len(d.int64) + len(d.bytes) }

// kind returns the values' physical type in the file.
func (d leafValues) kind() format.Type {
	switch d.typ {
	case "float32":
		return format.Float
	case "float64":
		return format.Double
	case "int64":
		return format.Int64
	case "bool":
		return format.Boolean
	}
	return format.ByteArray
}

// appendBytes appends numbers in little-endian order.
func (d leafValues) appendBytes(b []byte) []byte {
	if raw.Little {
		b = append(b, raw.Bytes(d.float32)...)
		b = append(b, raw.Bytes(d.float64)...)
		return append(b, raw.Bytes(d.int64)...)
	}
	for _, list := range []any{d.float32, d.float64, d.int64} {
		b, _ = binary.Append(b, binary.LittleEndian, list) // numbers never fail
	}
	return b
}

// bounds returns the minimum and maximum. No value may be NaN. Images have no bounds.
func (d leafValues) bounds(images bool) (s format.Statistics) {
	switch {
	case len(d.bytes) > 0 && !images:
		s.MinValue, s.MaxValue = slices.MinFunc(d.bytes, bytes.Compare), slices.MaxFunc(d.bytes, bytes.Compare)
	case d.len() > 0 && d.typ == "bool":
		low, high := extremes(d.int64)
		s.MinValue, s.MaxValue = []byte{byte(low)}, []byte{byte(high)}
	case d.typ == "float32" && d.len() > 0:
		low, high := floatExtremes(d.float32)
		s.MinValue, s.MaxValue = leafValues{float32: []float32{low}}.appendBytes(nil), leafValues{float32: []float32{high}}.appendBytes(nil)
	case d.typ == "float64" && d.len() > 0:
		low, high := floatExtremes(d.float64)
		s.MinValue, s.MaxValue = leafValues{float64: []float64{low}}.appendBytes(nil), leafValues{float64: []float64{high}}.appendBytes(nil)
	case len(d.int64) > 0:
		low, high := extremes(d.int64)
		s.MinValue, s.MaxValue = leafValues{int64: []int64{low}}.appendBytes(nil), leafValues{int64: []int64{high}}.appendBytes(nil)
	}
	return s
}

// floatExtremes returns the minimum and maximum. A zero becomes -0 for the minimum and 0 for the maximum, because either may be among
// the values.
func floatExtremes[T float32 | float64](list []T) (low, high T) {
	if low, high = extremes(list); low == 0 {
		low = T(math.Copysign(0, -1))
	}
	return low, high + 0 // -0 becomes 0
}

func extremes[T cmp.Ordered](list []T) (low, high T) {
	low, high = list[0], list[0]
	for _, v := range list {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	return low, high
}
