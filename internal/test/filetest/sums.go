package filetest

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reseal corrects the checksums of a packed store in place, after a test has changed it, and returns it. It follows the format's
// documentation and shares no code with the writer: CRC-32C of the header, of each 64 KiB of the tensors, and at the end of the file
// that of the sums before it.
func Reseal(t testing.TB, file []byte) []byte {
	t.Helper()
	const block = 64 << 10
	data := 8 + int(binary.LittleEndian.Uint64(file))
	end := len(file) - 8
	for end > data && len(file)-end != 4*((end-data+block-1)/block+2) {
		end--
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	sums := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(file[:data], table))
	for at := data; at < end; at += block {
		sums = binary.LittleEndian.AppendUint32(sums, crc32.Checksum(file[at:min(at+block, end)], table))
	}
	sums = binary.LittleEndian.AppendUint32(sums, crc32.Checksum(sums, table))
	require.Equal(t, len(file), end+len(sums))
	copy(file[end:], sums)
	return file
}
