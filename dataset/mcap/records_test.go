package mcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"reflect"
)

// readRecords returns the records of a file in their order. A chunk comes before the records in it. The magic and the CRCs of both sections and of
// chunks are checked. With an error, the list ends before the record that caused it.
func readRecords(file []byte) (list []Record, err error) {
	body, ended := bytes.CutSuffix(file, []byte(Magic))
	if !ended || !bytes.HasPrefix(body, []byte(Magic)) {
		return nil, fmt.Errorf("no magic")
	}
	section, at := 0, len(Magic)
	for {
		r, size, err := nextRecord(body[at:], at)
		if err != nil {
			return list, err
		}
		sum := crc32.ChecksumIEEE(body[section:at])
		at += size
		switch x := r.(type) {
		case *Chunk:
			list = append(list, r)
			var room []byte
			inside, err := x.uncompress(&room, int64(at-size), false)
			for len(inside) > 0 && err == nil {
				if r, size, err = nextRecord(inside, 0); err == nil {
					list, inside = append(list, r), inside[size:]
				}
			}
			if err != nil {
				return list, err
			}
			continue
		case *DataEnd:
			if x.DataSectionCRC != 0 && x.DataSectionCRC != sum {
				return list, wrongCRC(0, "data section", sum, x.DataSectionCRC)
			}
			section = at
		case *Footer:
			if sum = x.sum(sum); x.SummaryCRC != 0 && x.SummaryCRC != sum || at < len(body) {
				return list, wrongCRC(0, "summary section", sum, x.SummaryCRC)
			}
			return append(list, r), nil
		}
		list = append(list, r)
	}
}

// recordTypes are the records that readRecords decodes.
var recordTypes = []Record{&Header{}, &Footer{}, &Schema{}, &Channel{}, &Message{}, &Chunk{}, &ChunkIndex{}, &Attachment{}, &AttachmentIndex{}, &Statistics{},
	&Metadata{}, &MetadataIndex{}, &SummaryOffset{}, &DataEnd{}}

// nextRecord returns the first record of b, and the bytes that it takes. Those that readers skip are decoded here, field after field.
func nextRecord(b []byte, at int) (Record, int, error) {
	op, body, err := cutRecord(b, int64(at))
	if err != nil {
		return nil, 0, err
	}
	var r Record = &unknown{op, body}
	for _, x := range recordTypes {
		if x.Opcode() == op {
			r = reflect.New(reflect.TypeOf(x).Elem()).Interface().(Record)
		}
	}
	size := headSize + len(body)
	switch x := r.(type) {
	case *unknown:
		return r, size, nil
	case parser:
		return r, size, parseInto(x, body, int64(at))
	}
	c := cursor{b: body, op: op}
	for v, i := reflect.ValueOf(r).Elem(), 0; i < v.NumField(); i++ {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(c.text("text"))
		case reflect.Slice:
			f.SetBytes(c.bytes64("data"))
		default:
			if _, err := binary.Decode(c.take(uint64(f.Type().Size()), "number"), le, f.Addr().Interface()); err != nil {
				return r, size, err
			}
		}
	}
	if op == OpDataEnd {
		c.end()
	}
	return r, size, c.error()
}

// unknown is a record whose fields are not decoded, such as a private one.
type unknown struct {
	Code Opcode
	Data []byte
}

func (u *unknown) Opcode() Opcode { return u.Code }

func (u *unknown) append(b []byte) []byte { return append(b, u.Data...) }
