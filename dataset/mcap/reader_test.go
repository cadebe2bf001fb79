package mcap

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// conformance is a file of the format's conformance set: what it is made of, what it holds, and its bytes.
type conformance struct {
	name     string
	features []string
	records  []described
	file     []byte
}

// described is a record as the set describes it: pairs of a field's name and its value, numbers as text.
type described struct {
	Type   string
	Fields [][2]any
}

// conformanceSet reads the set, 416 files.
func conformanceSet(t testing.TB) (list []conformance) {
	const path = "../../../shared/data/mcap_conformance/mcap_conformance.zip"
	z, err := zip.OpenReader(path)
	if os.IsNotExist(err) {
		t.Skip("no shared recordings: " + path)
	}
	require.NoError(t, err)
	defer z.Close()
	content := func(name string) []byte {
		f, err := z.Open(name)
		require.NoError(t, err)
		defer f.Close()
		b, err := io.ReadAll(f)
		require.NoError(t, err)
		return b
	}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".json")
		if !ok {
			continue
		}
		var said struct {
			Records []described
			Meta    struct{ Variant struct{ Features []string } }
		}
		require.NoError(t, json.Unmarshal(content(f.Name), &said))
		list = append(list, conformance{name, said.Meta.Variant.Features, said.Records, content(name + ".mcap")})
	}
	require.Len(t, list, 416)
	return list
}

// describe returns a record as the conformance set describes it.
func describe(r Record) described {
	d := described{Type: r.Opcode().String()}
	add := func(name string, value any) {
		switch v := value.(type) {
		case []byte:
			list := []any{}
			for _, b := range v {
				list = append(list, fmt.Sprint(b))
			}
			value = list
		case map[string]string:
			m := map[string]any{}
			for k, s := range v {
				m[k] = s
			}
			value = m
		case map[uint16]uint64:
			m := map[string]any{}
			for k, n := range v {
				m[fmt.Sprint(k)] = fmt.Sprint(n)
			}
			value = m
		case Opcode:
			value = fmt.Sprint(uint8(v))
		default:
			value = fmt.Sprint(v)
		}
		d.Fields = append(d.Fields, [2]any{name, value})
	}
	switch r := r.(type) {
	case *Header:
		add("library", r.Library)
		add("profile", r.Profile)
	case *Footer:
		add("summary_crc", r.SummaryCRC)
		add("summary_offset_start", r.SummaryOffsetStart)
		add("summary_start", r.SummaryStart)
	case *Schema:
		add("data", r.Data)
		add("encoding", r.Encoding)
		add("id", r.ID)
		add("name", r.Name)
	case *Channel:
		add("id", r.ID)
		add("message_encoding", r.MessageEncoding)
		add("metadata", r.Metadata)
		add("schema_id", r.SchemaID)
		add("topic", r.Topic)
	case *Message:
		add("channel_id", r.ChannelID)
		add("data", r.Data)
		add("log_time", r.LogTime)
		add("publish_time", r.PublishTime)
		add("sequence", r.Sequence)
	case *ChunkIndex:
		add("chunk_length", r.ChunkLength)
		add("chunk_start_offset", r.ChunkStart)
		add("compressed_size", r.CompressedSize)
		add("compression", r.Compression)
		add("message_end_time", r.EndTime)
		add("message_index_length", r.MessageIndexLength)
		add("message_index_offsets", r.MessageIndexOffsets)
		add("message_start_time", r.StartTime)
		add("uncompressed_size", r.UncompressedSize)
	case *Attachment:
		add("create_time", r.CreateTime)
		add("data", r.Data)
		add("log_time", r.LogTime)
		add("media_type", r.MediaType)
		add("name", r.Name)
	case *AttachmentIndex:
		add("create_time", r.CreateTime)
		add("data_size", r.DataSize)
		add("length", r.Length)
		add("log_time", r.LogTime)
		add("media_type", r.MediaType)
		add("name", r.Name)
		add("offset", r.Offset)
	case *Statistics:
		add("attachment_count", r.AttachmentCount)
		add("channel_count", r.ChannelCount)
		add("channel_message_counts", r.ChannelMessageCounts)
		add("chunk_count", r.ChunkCount)
		add("message_count", r.MessageCount)
		add("message_end_time", r.MessageEndTime)
		add("message_start_time", r.MessageStartTime)
		add("metadata_count", r.MetadataCount)
		add("schema_count", r.SchemaCount)
	case *Metadata:
		add("metadata", r.Metadata)
		add("name", r.Name)
	case *MetadataIndex:
		add("length", r.Length)
		add("name", r.Name)
		add("offset", r.Offset)
	case *SummaryOffset:
		add("group_length", r.GroupLength)
		add("group_opcode", r.GroupOpcode)
		add("group_start", r.GroupStart)
	case *DataEnd:
		add("data_section_crc", r.DataSectionCRC)
	}
	return d
}

func TestTheReaderGivesWhatTheConformanceSetSays(t *testing.T) {
	for _, f := range conformanceSet(t) {
		records, err := readRecords(f.file)
		require.NoError(t, err, f.name)
		var got []described
		chunks := 0
		for _, record := range records {
			if record.Opcode() == OpChunk {
				chunks++
			}
			if op := record.Opcode(); op != OpChunk && op != OpMessageIndex { // the set does not describe these
				got = append(got, describe(record))
			}
		}
		require.Equal(t, f.records, got, f.name)
		assert.Equal(t, slices.Contains(f.features, "ch"), chunks == 1, f.name)
	}
}
