package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The value kinds in Thrift's compact protocol.
const (
	kindTrue   = 1
	kindFalse  = 2
	kindByte   = 3
	kindI16    = 4
	kindI32    = 5
	kindI64    = 6
	kindDouble = 7
	kindBinary = 8
	kindList   = 9
	kindSet    = 10
	kindMap    = 11
	kindStruct = 12
)

var (
	errShort = errors.New("it ends within a value")
	errKind  = errors.New("a value of no known kind")
	errDeep  = errors.New("structures nested more than 32 deep")
	errBig   = errors.New("a list or text that is longer than what follows")
)

// Upper bounds for the memory of a list element: a structure, or another value, in bytes.
const (
	structCost = 1024
	otherCost  = 32
)

// skimmer walks through Thrift data without storing values. It adds up the memory that the lists would need.
type skimmer struct {
	b    []byte
	pos  int
	cost int64
}

func (s *skimmer) uvarint() (uint64, error) {
	v, n := binary.Uvarint(s.b[s.pos:])
	if n <= 0 {
		return 0, errShort
	}
	s.pos += n
	return v, nil
}

// integer reads a zigzag number.
func (s *skimmer) integer() (int64, error) {
	v, err := s.uvarint()
	return int64(v>>1) ^ -int64(v&1), err
}

// structure calls visit for each field. visit must read the field's value.
func (s *skimmer) structure(visit func(id int, kind byte) error) error {
	id := 0
	for {
		if s.pos >= len(s.b) {
			return errShort
		}
		head := s.b[s.pos]
		s.pos++
		if head == 0 {
			return nil
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			v, err := s.integer()
			if err != nil {
				return err
			}
			id = int(int16(v))
		}
		if err := visit(id, head&15); err != nil {
			return err
		}
	}
}

// list reads a list's header. Every element takes at least one byte.
func (s *skimmer) list() (n int, kind byte, err error) {
	if s.pos >= len(s.b) {
		return 0, 0, errShort
	}
	head := s.b[s.pos]
	s.pos++
	size := uint64(head >> 4)
	if size == 15 {
		if size, err = s.uvarint(); err != nil {
			return 0, 0, err
		}
	}
	if size > uint64(len(s.b)-s.pos) {
		return 0, 0, errBig
	}
	kind = head & 15
	if kind == kindStruct {
		s.cost += int64(size) * structCost
	} else {
		s.cost += int64(size) * otherCost
	}
	return int(size), kind, nil
}

// skip skips a value. A boolean field has no value bytes.
func (s *skimmer) skip(kind byte, depth int, inList bool) error {
	if depth > 32 {
		return errDeep
	}
	switch kind {
	case kindTrue, kindFalse:
		if inList {
			s.pos++
		}
	case kindByte:
		s.pos++
	case kindI16, kindI32, kindI64:
		_, err := s.uvarint()
		return err
	case kindDouble:
		s.pos += 8
	case kindBinary:
		n, err := s.uvarint()
		if err != nil {
			return err
		}
		if n > uint64(len(s.b)-s.pos) {
			return errBig
		}
		s.pos += int(n)
	case kindStruct:
		return s.structure(func(_ int, kind byte) error { return s.skip(kind, depth+1, false) })
	case kindList, kindSet:
		n, kind, err := s.list()
		for ; err == nil && n > 0; n-- {
			err = s.skip(kind, depth+1, true)
		}
		return err
	default: // Parquet's structures have no maps
		return errKind
	}
	if s.pos > len(s.b) {
		return errShort
	}
	return nil
}

// nullCount is the field path from a column chunk to the null count in its statistics.
var nullCount = []int{3, 12, 3}

// has reads a value, and reports whether it is a structure with a field at the given path.
func (s *skimmer) has(kind byte, path []int) (found bool, err error) {
	if len(path) == 0 || kind != kindStruct {
		return len(path) == 0, s.skip(kind, 0, len(path) == len(nullCount))
	}
	err = s.structure(func(id int, kind byte) (err error) {
		if id != path[0] {
			return s.skip(kind, 0, false)
		}
		found, err = s.has(kind, path[1:])
		return err
	})
	return found, err
}

// checkFooter returns an error unless a footer's lists fit in it, its columns form a shallow tree, and each row group can contain all
// columns. counted reports for each row group and column chunk whether the null count is declared.
func checkFooter(b []byte) (counted [][]bool, err error) {
	s := &skimmer{b: b}
	elements, groups := 0, 0
	var open []int64 // columns still expected in each open group
	err = s.structure(func(id int, kind byte) error {
		if (id != 2 && id != 4) || kind != kindList {
			return s.skip(kind, 0, false)
		}
		n, kind, err := s.list()
		if id == 2 {
			elements = n
		} else {
			groups = n
		}
		for ; err == nil && n > 0; n-- {
			if kind != kindStruct {
				err = s.skip(kind, 0, true)
				continue
			}
			if id == 4 {
				var group []bool
				err = s.structure(func(id int, kind byte) error {
					if id != 1 || kind != kindList {
						return s.skip(kind, 0, false)
					}
					n, kind, err := s.list()
					for ; err == nil && n > 0; n-- {
						var found bool
						found, err = s.has(kind, nullCount)
						group = append(group, found)
					}
					return err
				})
				counted = append(counted, group)
				continue
			}
			children := int64(0)
			err = s.structure(func(id int, kind byte) (err error) {
				if id == 5 && kind == kindI32 {
					children, err = s.integer()
					return err
				}
				return s.skip(kind, 0, false)
			})
			if children < 0 || children > int64(elements) {
				return errBig
			}
			for len(open) > 0 && open[len(open)-1] == 0 {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				open[len(open)-1]--
			}
			if open = append(open, children); len(open) > 32 {
				return errDeep
			}
		}
		return err
	})
	switch {
	case err != nil:
	case elements > 1<<16:
		err = errors.New("more than 65536 columns")
	case int64(elements)*int64(groups) > int64(len(b)):
		err = errors.New("more column chunks than it could describe")
	case s.cost > 64<<20+64*int64(len(b)):
		err = errors.New("lists of more elements than it could describe")
	}
	return counted, err
}

// compareSum returns an error unless bytes have the CRC-32 that the file declares.
func compareSum(want uint32, b []byte) error {
	if sum := crc32.ChecksumIEEE(b); sum != want {
		return fmt.Errorf("its checksum is %08x, and %08x as written: the file is damaged, copy or write it again", sum, want)
	}
	return nil
}

// noSum is outside the 32-bit range.
const noSum = 1 << 40

// pageHead is the part of a page's header that the decoder needs.
type pageHead struct {
	kind                     int64 // 0 data, 1 index, 2 dictionary, 3 data of version 2
	uncompressed, compressed int64
	values, nulls            int64
	reps, defs               int64 // bytes of levels before the compressed data (version 2)
	sum                      int64 // CRC-32 over the bytes after the header; noSum if there is none
	encoding                 int64
	defCode, repCode         int64 // level encodings (version 1)
	packed                   bool
	size                     int // the header's own size
}

// parsePageHead parses the page header at the start of b. If b does not contain all of it, the error is errShort or errBig.
func parsePageHead(b []byte) (h pageHead, err error) {
	s := &skimmer{b: b}
	h.packed, h.sum = true, noSum
	into := func(kind byte, to *int64) (err error) {
		if kind != kindI32 {
			return s.skip(kind, 0, false)
		}
		*to, err = s.integer()
		return err
	}
	err = s.structure(func(id int, kind byte) error {
		switch {
		case id == 1:
			return into(kind, &h.kind)
		case id == 2:
			return into(kind, &h.uncompressed)
		case id == 3:
			return into(kind, &h.compressed)
		case id == 4:
			return into(kind, &h.sum)
		case (id == 5 || id == 7) && kind == kindStruct:
			return s.structure(func(id int, kind byte) error {
				switch id {
				case 1:
					return into(kind, &h.values)
				case 2:
					return into(kind, &h.encoding)
				case 3:
					return into(kind, &h.defCode)
				case 4:
					return into(kind, &h.repCode)
				}
				return s.skip(kind, 1, false)
			})
		case id == 8 && kind == kindStruct:
			return s.structure(func(id int, kind byte) error {
				switch id {
				case 1:
					return into(kind, &h.values)
				case 2:
					return into(kind, &h.nulls)
				case 4:
					return into(kind, &h.encoding)
				case 5:
					return into(kind, &h.defs)
				case 6:
					return into(kind, &h.reps)
				case 7:
					h.packed = kind != kindFalse
				}
				return s.skip(kind, 1, false)
			})
		}
		return s.skip(kind, 0, false)
	})
	h.size = s.pos
	return h, err
}
