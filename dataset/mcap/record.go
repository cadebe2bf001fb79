package mcap

import (
	"fmt"
)

// Magic is the text at the beginning and the end of a file.
const Magic = "\x89MCAP0\r\n"

// Opcode is the type of a record.
type Opcode uint8

// Opcodes. Those from 0x80 on are private; the others are reserved.
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

// String returns the record's name, such as "ChunkIndex", or "0x80" for an opcode without a name.
func (o Opcode) String() string {
	if int(o) < len(opcodeNames) && o > 0 {
		return opcodeNames[o]
	}
	return fmt.Sprintf("0x%02x", uint8(o))
}

// Record is *Header, *Footer, *Schema, *Channel, *Message, *Chunk, *MessageIndex, *ChunkIndex, *Attachment, *AttachmentIndex,
// *Statistics, *Metadata, *MetadataIndex, *SummaryOffset or *DataEnd. Offsets are bytes from the beginning of the file unless noted
// otherwise; times are nanoseconds, usually since 1970.
type Record interface {
	Opcode() Opcode
	append(b []byte) []byte
}

// parser is a record type that can be read.
type parser interface {
	Record
	parse(c *cursor)
}

// Header is the first record.
type Header struct {
	Profile string // for example "ros2"; empty for none
	Library string // name of the program that wrote the file
}

// Footer is the last record. SummaryStart is 0 if there is no summary.
type Footer struct {
	SummaryStart       uint64
	SummaryOffsetStart uint64
	SummaryCRC         uint32 // over the summary and the footer up to this field; 0 for none
}

// Schema describes the content of messages. IDs begin at 1.
type Schema struct {
	ID       uint16
	Name     string // for example "sensor_msgs/msg/Imu"
	Encoding string // the encoding of Data: "ros2msg", "ros1msg", "protobuf", "jsonschema"
	Data     []byte
}

// Channel is a series of messages on one topic. SchemaID is 0 if messages have no schema.
type Channel struct {
	ID, SchemaID    uint16
	Topic           string
	MessageEncoding string // "cdr", "ros1", "protobuf", "json"
	Metadata        map[string]string
}

// Message is one message on a channel.
type Message struct {
	ChannelID            uint16
	Sequence             uint32
	LogTime, PublishTime uint64
	Data                 []byte
}

// Chunk holds schemas, channels and messages, compressed in Records.
type Chunk struct {
	StartTime, EndTime uint64 // smallest and largest log time in the chunk; 0 without messages
	UncompressedSize   uint64
	UncompressedCRC    uint32 // 0 for none
	Compression        string // "", "lz4" or "zstd"
	Records            []byte
}

// MessageIndex locates a channel's messages in the chunk before it.
type MessageIndex struct {
	ChannelID uint16
	Entries   []IndexEntry
}

// IndexEntry locates a message: Offset counts from the beginning of the chunk's uncompressed records.
type IndexEntry struct{ LogTime, Offset uint64 }

// ChunkIndex locates a chunk.
type ChunkIndex struct {
	StartTime, EndTime  uint64
	ChunkStart          uint64 // offset of the Chunk record's opcode
	ChunkLength         uint64 // length of the whole record
	MessageIndexOffsets map[uint16]uint64
	MessageIndexLength  uint64 // length of all MessageIndex records after the chunk
	Compression         string
	CompressedSize      uint64
	UncompressedSize    uint64
}

// Attachment is a file that is stored in the MCAP file, such as a calibration.
type Attachment struct {
	LogTime, CreateTime uint64
	Name, MediaType     string
	Data                []byte
	CRC                 uint32 // over the fields before it; 0 for none. A Writer computes it
}

// AttachmentIndex locates and describes an attachment.
type AttachmentIndex struct {
	Offset, Length      uint64 // the whole record
	LogTime, CreateTime uint64
	DataSize            uint64
	Name, MediaType     string
}

// Statistics counts the content of a file.
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

// Metadata is a named map from text to text.
type Metadata struct {
	Name     string
	Metadata map[string]string
}

// MetadataIndex locates a Metadata record.
type MetadataIndex struct {
	Offset, Length uint64 // the whole record
	Name           string
}

// SummaryOffset locates the records with one opcode in the summary.
type SummaryOffset struct {
	GroupOpcode             Opcode
	GroupStart, GroupLength uint64
}

// DataEnd ends the data section.
type DataEnd struct {
	DataSectionCRC uint32 // over all bytes before the record; 0 for none
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

// headSize is the size of a record's opcode and length.
const headSize = 9

// recordHead returns a record's opcode, and the length of its content.
func recordHead(b []byte) (Opcode, uint64) {
	return Opcode(b[0]), le.Uint64(b[1:])
}
