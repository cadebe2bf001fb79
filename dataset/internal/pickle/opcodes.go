package pickle

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/dataset"
)

// The opcodes, as pickletools.py of Python names them.
const (
	opProto           = 0x80
	opFrame           = 0x95
	opStop            = '.'
	opMark            = '('
	opPop             = '0'
	opPopMark         = '1'
	opDup             = '2'
	opNone            = 'N'
	opNewTrue         = 0x88
	opNewFalse        = 0x89
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opBinInt2         = 'M'
	opLong1           = 0x8a
	opLong4           = 0x8b
	opBinFloat        = 'G'
	opBinString       = 'T'
	opShortBinString  = 'U'
	opBinUnicode      = 'X'
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinBytes        = 'B'
	opShortBinBytes   = 'C'
	opBinBytes8       = 0x8e
	opByteArray8      = 0x96
	opEmptyList       = ']'
	opList            = 'l'
	opAppend          = 'a'
	opAppends         = 'e'
	opEmptyTuple      = ')'
	opTuple           = 't'
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opEmptyDict       = '}'
	opDict            = 'd'
	opSetItem         = 's'
	opSetItems        = 'u'
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opMemoize         = 0x94
	opGlobal          = 'c'
	opStackGlobal     = 0x93
	opReduce          = 'R'
	opBuild           = 'b'
)

// refused are the names of valid opcodes that this package does not support.
var refused = map[byte]string{
	'F': "FLOAT", 'I': "INT", 'L': "LONG", 'P': "PERSID", 'Q': "BINPERSID", 'S': "STRING", 'V': "UNICODE", 'g': "GET", 'i': "INST", 'o': "OBJ", 'p': "PUT",
	0x81: "NEWOBJ", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x8f: "EMPTY_SET", 0x90: "ADDITEMS", 0x91: "FROZENSET", 0x92: "NEWOBJ_EX",
	0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}

// step runs one opcode, and reports whether it was the last.
func (m *machine) step() (done bool, err error) {
	op, err := m.number(1)
	if err != nil {
		return false, err
	}
	switch op {
	case opStop:
		return true, nil
	case opProto:
		version, err := m.number(1)
		if err == nil && (version < 2 || version > 5) {
			err = m.fail(dataset.ErrUnsupported, "protocol", fmt.Sprint(version), "2 to 5")
		}
		return false, err
	case opFrame:
		n, err := m.number(8)
		if err == nil && n > uint64(len(m.data)-m.at) {
			_, err = m.take(n)
		}
		return false, err
	case opMark:
		if m.marks = append(m.marks, len(m.stack)); len(m.marks) > maxMarks {
			return false, m.fail(dataset.ErrTooLarge, "pickle", "lists in lists", fmt.Sprintf("at most %d deep", maxMarks))
		}
		return false, m.count()
	case opPop:
		if len(m.marks) > 0 && m.marks[len(m.marks)-1] == len(m.stack) {
			m.marks = m.marks[:len(m.marks)-1]
			return false, nil
		}
		_, err = m.pop()
	case opPopMark:
		_, err = m.popMark()
	case opDup:
		var v any
		if v, err = m.top(); err == nil {
			err = m.push(v)
		}
	case opBinGet:
		err = m.get(1)
	case opLongBinGet:
		err = m.get(4)
	case opBinPut:
		err = m.put(m.number(1))
	case opLongBinPut:
		err = m.put(m.number(4))
	case opMemoize:
		err = m.put(uint64(len(m.memo)), nil)
	case opGlobal:
		var module, name string
		if module, err = m.line(); err != nil {
			return false, err
		}
		if name, err = m.line(); err == nil {
			err = m.global(module, name)
		}
	case opStackGlobal:
		var list []any
		if list, err = m.popN(2); err != nil {
			return false, err
		}
		module, _ := list[0].(string)
		name, _ := list[1].(string)
		err = m.global(module, name)
	case opReduce:
		var list []any
		if list, err = m.popN(2); err == nil {
			err = m.reduce(list[0], list[1])
		}
	case opBuild:
		var state any
		if state, err = m.pop(); err == nil {
			err = m.build(state)
		}
	default:
		err = m.value(byte(op))
	}
	return false, err
}

// value runs an opcode that makes a value of Python's own types.
func (m *machine) value(op byte) error {
	switch op {
	case opNone:
		return m.push(nil)
	case opNewTrue:
		return m.push(true)
	case opNewFalse:
		return m.push(false)
	case opBinInt:
		n, err := m.number(4)
		return m.pushed(int64(int32(n)), err)
	case opBinInt1:
		n, err := m.number(1)
		return m.pushed(int64(n), err)
	case opBinInt2:
		n, err := m.number(2)
		return m.pushed(int64(n), err)
	case opLong1:
		return m.long(m.sized(1))
	case opLong4:
		return m.long(m.sized(4))
	case opBinFloat:
		return m.float()
	case opShortBinString, opShortBinBytes:
		b, err := m.sized(1)
		return m.pushed(b, err)
	case opBinString, opBinBytes:
		b, err := m.sized(4)
		return m.pushed(b, err)
	case opBinBytes8, opByteArray8:
		b, err := m.sized(8)
		return m.pushed(b, err)
	case opShortBinUnicode:
		return m.text(m.sized(1))
	case opBinUnicode:
		return m.text(m.sized(4))
	case opBinUnicode8:
		return m.text(m.sized(8))
	case opEmptyList:
		return m.push(&List{})
	case opEmptyTuple:
		return m.push(&List{tuple: true})
	case opEmptyDict:
		return m.push(&Dict{})
	}
	return m.collect(op)
}

func (m *machine) pushed(v any, err error) error {
	if err != nil {
		return err
	}
	return m.push(v)
}

// collect runs an opcode that combines values from the stack.
func (m *machine) collect(op byte) error {
	var list []any
	var err error
	switch op {
	case opAppend, opTuple1:
		list, err = m.popN(1)
	case opTuple2, opSetItem:
		list, err = m.popN(2)
	case opTuple3:
		list, err = m.popN(3)
	case opAppends, opSetItems, opList, opTuple, opDict:
		list, err = m.popMark()
	default:
		got := refused[op]
		if got == "" {
			return m.fail(dataset.ErrCorrupt, "opcode", fmt.Sprintf("%#02x", op), "one of pickle's")
		}
		return m.fail(dataset.ErrUnsupported, "opcode", got, "those of plain data and arrays")
	}
	if err != nil {
		return err
	}
	switch op {
	case opTuple, opTuple1, opTuple2, opTuple3:
		return m.push(&List{Items: list, tuple: true}) // of a function's arguments, too
	}
	if err := m.plain(list...); err != nil {
		return err
	}
	switch op {
	case opAppend, opAppends:
		return m.append(list)
	case opList:
		return m.push(&List{Items: list})
	case opDict:
		d := &Dict{}
		if err := m.setItems(d, list); err != nil {
			return err
		}
		return m.push(d)
	}
	return m.setOnTop(list)
}

func (m *machine) get(size uint64) error {
	n, err := m.number(size)
	if err != nil {
		return err
	}
	v, ok := m.memo[uint32(n)]
	if !ok {
		return m.fail(dataset.ErrCorrupt, "reference", fmt.Sprintf("to value %d", n), "to one that came before")
	}
	return m.push(v)
}

func (m *machine) put(n uint64, err error) error {
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	m.memo[uint32(min(n, math.MaxUint32))] = v
	return m.count()
}
