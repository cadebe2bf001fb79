package mcap

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"
)

var le = binary.LittleEndian

// appendRecord appends a record whole: opcode, length and body.
func appendRecord(b []byte, r Record) []byte {
	b = append(b, byte(r.Opcode()))
	at := len(b)
	b = r.append(append(b, make([]byte, 8)...))
	le.PutUint64(b[at:], uint64(len(b)-at-8))
	return b
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(le.AppendUint32(b, uint32(len(s))), s...)
}

// appendList appends the output of fill, after its length in bytes.
func appendList(b []byte, fill func(b []byte) []byte) []byte {
	at := len(b)
	b = fill(append(b, 0, 0, 0, 0))
	le.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// appendTexts appends a map, by its keys.
func appendTexts(b []byte, m map[string]string) []byte {
	return appendList(b, func(b []byte) []byte {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			b = appendText(appendText(b, key), m[key])
		}
		return b
	})
}

func appendCounts(b []byte, m map[uint16]uint64) []byte {
	return appendList(b, func(b []byte) []byte {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			b = le.AppendUint64(le.AppendUint16(b, key), m[key])
		}
		return b
	})
}

func appendWords(b []byte, words ...uint64) []byte {
	for _, w := range words {
		b = le.AppendUint64(b, w)
	}
	return b
}

func (h *Header) append(b []byte) []byte { return appendText(appendText(b, h.Profile), h.Library) }

func (f *Footer) append(b []byte) []byte {
	return le.AppendUint32(appendWords(b, f.SummaryStart, f.SummaryOffsetStart), f.SummaryCRC)
}

func (s *Schema) append(b []byte) []byte {
	return appendText(appendText(appendText(le.AppendUint16(b, s.ID), s.Name), s.Encoding), s.Data)
}

func (c *Channel) append(b []byte) []byte {
	b = le.AppendUint16(le.AppendUint16(b, c.ID), c.SchemaID)
	return appendTexts(appendText(appendText(b, c.Topic), c.MessageEncoding), c.Metadata)
}

func (m *Message) append(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint16(b, m.ChannelID), m.Sequence)
	return append(appendWords(b, m.LogTime, m.PublishTime), m.Data...)
}

func (k *Chunk) append(b []byte) []byte {
	b = le.AppendUint32(appendWords(b, k.StartTime, k.EndTime, k.UncompressedSize), k.UncompressedCRC)
	return append(appendWords(appendText(b, k.Compression), uint64(len(k.Records))), k.Records...)
}

func (x *MessageIndex) append(b []byte) []byte {
	return appendList(le.AppendUint16(b, x.ChannelID), func(b []byte) []byte {
		for _, e := range x.Entries {
			b = appendWords(b, e.LogTime, e.Offset)
		}
		return b
	})
}

func (x *ChunkIndex) append(b []byte) []byte {
	b = appendCounts(appendWords(b, x.StartTime, x.EndTime, x.ChunkStart, x.ChunkLength), x.MessageIndexOffsets)
	return appendWords(appendText(appendWords(b, x.MessageIndexLength), x.Compression), x.CompressedSize, x.UncompressedSize)
}

// append computes the CRC and ignores the record's own.
func (a *Attachment) append(b []byte) []byte {
	at := len(b)
	b = appendText(appendText(appendWords(b, a.LogTime, a.CreateTime), a.Name), a.MediaType)
	b = append(appendWords(b, uint64(len(a.Data))), a.Data...)
	return le.AppendUint32(b, crc32.ChecksumIEEE(b[at:]))
}

func (x *AttachmentIndex) append(b []byte) []byte {
	b = appendWords(b, x.Offset, x.Length, x.LogTime, x.CreateTime, x.DataSize)
	return appendText(appendText(b, x.Name), x.MediaType)
}

func (s *Statistics) append(b []byte) []byte {
	b = le.AppendUint16(appendWords(b, s.MessageCount), s.SchemaCount)
	for _, n := range []uint32{s.ChannelCount, s.AttachmentCount, s.MetadataCount, s.ChunkCount} {
		b = le.AppendUint32(b, n)
	}
	return appendCounts(appendWords(b, s.MessageStartTime, s.MessageEndTime), s.ChannelMessageCounts)
}

func (m *Metadata) append(b []byte) []byte { return appendTexts(appendText(b, m.Name), m.Metadata) }

func (x *MetadataIndex) append(b []byte) []byte {
	return appendText(appendWords(b, x.Offset, x.Length), x.Name)
}

func (o *SummaryOffset) append(b []byte) []byte {
	return appendWords(append(b, byte(o.GroupOpcode)), o.GroupStart, o.GroupLength)
}

func (d *DataEnd) append(b []byte) []byte { return le.AppendUint32(b, d.DataSectionCRC) }
