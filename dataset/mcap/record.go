package mcap

import (
	"fmt"
)

// Magic begins and ends a file.
const Magic = "\x89MCAP0\r\n"

// Opcode says what a record is.
type Opcode uint8

// The opcodes. Those from 0x80 on are private; the others are reserved.
const (
	OpHeader          Opcode = 0x01
	OpFooter          Opcode = 0x02
	OpSchema          Opcode = 0x03
	OpChannel         Opcode = 0x04
	OpMessage         Opcode = 0x05
	OpChunk           Opcode = 0x06
	OpMessageIndex    Opcode = 0x07
	OpChunkIndex      Opcode = 0x08
	OpAttachment      Opcode = 0x09
	OpAttachmentIndex Opcode = 0x0A
	OpStatistics      Opcode = 0x0B
	OpMetadata        Opcode = 0x0C
	OpMetadataIndex   Opcode = 0x0D
	OpSummaryOffset   Opcode = 0x0E
	OpDataEnd         Opcode = 0x0F
)

var opcodeNames = [...]string{"", "Header", "Footer", "Schema", "Channel", "Message", "Chunk", "MessageIndex", "ChunkIndex", "Attachment", "AttachmentIndex",
	"Statistics", "Metadata", "MetadataIndex", "SummaryOffset", "DataEnd"}

// String returns the record's name: "ChunkIndex"; "0x80" of one that has none.
func (o Opcode) String() string {
	if int(o) < len(opcodeNames) && o > 0 {
		return opcodeNames[o]
	}
	return fmt.Sprintf("0x%02x", uint8(o))
}

// Record is one of *Header, *Footer, *Schema, *Channel, *Message, *Chunk, *MessageIndex, *ChunkIndex, *Attachment, *AttachmentIndex, *Statistics,
// *Metadata, *MetadataIndex, *SummaryOffset and *DataEnd. Offsets count bytes from the file's beginning, unless named otherwise; times are
// nanoseconds, as a rule since 1970.
type Record interface {
	Opcode() Opcode
	append(b []byte) []byte
}

// parser is a record that is read, and not only written.
type parser interface {
	Record
	parse(c *cursor)
}

// Header is the first record.
type Header struct {
	Profile string // such as "ros2"; empty for none
	Library string // that wrote the file
}

// Footer is the last record. SummaryStart is 0 where there is no summary.
type Footer struct {
	SummaryStart       uint64
	SummaryOffsetStart uint64
	SummaryCRC         uint32 // of the summary and of the footer up to here; 0 for none
}

// Schema describes what messages hold. IDs begin at 1.
type Schema struct {
	ID       uint16
	Name     string // such as "sensor_msgs/msg/Imu"
	Encoding string // of Data: "ros2msg", "ros1msg", "protobuf", "jsonschema"
	Data     []byte
}

// Channel is a series of messages of one topic. SchemaID is 0 where messages have no schema.
type Channel struct {
	ID, SchemaID    uint16
	Topic           string
	MessageEncoding string // "cdr", "ros1", "protobuf", "json"
	Metadata        map[string]string
}

// Message is one message of a channel.
type Message struct {
	ChannelID            uint16
	Sequence             uint32
	LogTime, PublishTime uint64
	Data                 []byte
}

// Chunk holds schemas, channels and messages. Records are they, compressed.
type Chunk struct {
	StartTime, EndTime uint64 // the least and greatest log time of its messages; 0 without any
	UncompressedSize   uint64
	UncompressedCRC    uint32 // 0 for none
	Compression        string // "", "lz4" or "zstd"
	Records            []byte
}

// MessageIndex says where a channel's messages are in the chunk before it.
type MessageIndex struct {
	ChannelID uint16
	Entries   []IndexEntry
}

// IndexEntry is where a message of a channel is: Offset counts from the beginning of the chunk's uncompressed records.
type IndexEntry struct{ LogTime, Offset uint64 }

// ChunkIndex says where a chunk is.
type ChunkIndex struct {
	StartTime, EndTime  uint64
	ChunkStart          uint64 // of the Chunk record, its opcode
	ChunkLength         uint64 // of the whole record
	MessageIndexOffsets map[uint16]uint64
	MessageIndexLength  uint64 // of all MessageIndex records behind it
	Compression         string
	CompressedSize      uint64
	UncompressedSize    uint64
}

// Attachment is a file in the file.
type Attachment struct {
	LogTime, CreateTime uint64
	Name, MediaType     string
	Data                []byte
	CRC                 uint32 // of what is before it; 0 for none. A Writer makes its own
}

// AttachmentIndex says where an attachment is, and what.
type AttachmentIndex struct {
	Offset, Length      uint64 // of the whole record
	LogTime, CreateTime uint64
	DataSize            uint64
	Name, MediaType     string
}

// Statistics count what is in a file.
type Statistics struct {
	MessageCount                     uint64
	SchemaCount                      uint16
	ChannelCount                     uint32
	AttachmentCount                  uint32
	MetadataCount                    uint32
	ChunkCount                       uint32
	MessageStartTime, MessageEndTime uint64
	ChannelMessageCounts             map[uint16]uint64
}

// Metadata is a map of texts.
type Metadata struct {
	Name     string
	Metadata map[string]string
}

// MetadataIndex says where a Metadata record is.
type MetadataIndex struct {
	Offset, Length uint64 // of the whole record
	Name           string
}

// SummaryOffset says where the records of one opcode are in the summary.
type SummaryOffset struct {
	GroupOpcode             Opcode
	GroupStart, GroupLength uint64
}

// DataEnd ends the data section.
type DataEnd struct {
	DataSectionCRC uint32 // of all before the record; 0 for none
}

// Opcode returns OpHeader.
func (*Header) Opcode() Opcode { return OpHeader }

// Opcode returns OpFooter.
func (*Footer) Opcode() Opcode { return OpFooter }

// Opcode returns OpSchema.
func (*Schema) Opcode() Opcode { return OpSchema }

// Opcode returns OpChannel.
func (*Channel) Opcode() Opcode { return OpChannel }

// Opcode returns OpMessage.
func (*Message) Opcode() Opcode { return OpMessage }

// Opcode returns OpChunk.
func (*Chunk) Opcode() Opcode { return OpChunk }

// Opcode returns OpMessageIndex.
func (*MessageIndex) Opcode() Opcode { return OpMessageIndex }

// Opcode returns OpChunkIndex.
func (*ChunkIndex) Opcode() Opcode { return OpChunkIndex }

// Opcode returns OpAttachment.
func (*Attachment) Opcode() Opcode { return OpAttachment }

// Opcode returns OpAttachmentIndex.
func (*AttachmentIndex) Opcode() Opcode { return OpAttachmentIndex }

// Opcode returns OpStatistics.
func (*Statistics) Opcode() Opcode { return OpStatistics }

// Opcode returns OpMetadata.
func (*Metadata) Opcode() Opcode { return OpMetadata }

// Opcode returns OpMetadataIndex.
func (*MetadataIndex) Opcode() Opcode { return OpMetadataIndex }

// Opcode returns OpSummaryOffset.
func (*SummaryOffset) Opcode() Opcode { return OpSummaryOffset }

// Opcode returns OpDataEnd.
func (*DataEnd) Opcode() Opcode { return OpDataEnd }

// headSize is that of a record's opcode and length.
const headSize = 9

// recordHead returns a record's opcode, and the length of what follows.
func recordHead(b []byte) (Opcode, uint64) {
	return Opcode(b[0]), le.Uint64(b[1:])
}
