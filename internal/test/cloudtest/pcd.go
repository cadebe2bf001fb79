package cloudtest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
)

// Forms has the values that DATA may have in a PCD file.
var Forms = []string{"binary", "binary_compressed", "ascii"}

// PCD returns a cloud as a PCD file. form is one of Forms. Each colour channel is a field, and compressed data has only literal runs.
func PCD(t testing.TB, c *dataset.Cloud, form string) []byte {
	out, err := records.OutOf(c)
	require.NoError(t, err)
	types := map[records.Scalar]string{records.U8: "U 1", records.I32: "I 4", records.F32: "F 4", records.F64: "F 8"}
	var fields, letters, sizes string
	for _, col := range out.Columns {
		letter, size, _ := strings.Cut(types[col.Scalar], " ")
		fields, letters, sizes = fields+" "+col.Name, letters+" "+letter, sizes+" "+size
	}
	view := strings.Trim(fmt.Sprint(append(c.Viewpoint.Position[:], c.Viewpoint.Orientation[:]...)), "[]")
	if c.Viewpoint == (dataset.Viewpoint{}) {
		view = "0 0 0 1 0 0 0"
	}
	b := fmt.Appendf(nil, "VERSION 0.7\nFIELDS%s\nSIZE%s\nTYPE%s\nWIDTH %d\nHEIGHT %d\nVIEWPOINT %s\nPOINTS %d\nDATA %s\n",
		fields, sizes, letters, c.Width, c.Height, view, out.N, form)
	if form == "binary_compressed" {
		var body []byte
		for _, col := range out.Columns {
			for i := range out.N {
				body = col.Append(body, i)
			}
		}
		packed := Literals(body)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(packed)))
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(body))), packed...)
	}
	for i := range out.N {
		for k, col := range out.Columns {
			switch {
			case form == "binary":
				b = col.Append(b, i)
				continue
			case k > 0:
				b = append(b, ' ')
			}
			b = col.AppendText(b, i)
		}
		if form == "ascii" {
			b = append(b, '\n')
		}
	}
	return b
}

// Literals encodes bytes as LZF without back references: runs of up to 32 bytes, each after a byte with its length less one.
func Literals(data []byte) (packed []byte) {
	for len(data) > 0 {
		n := min(len(data), 32)
		packed, data = append(append(packed, byte(n-1)), data[:n]...), data[n:]
	}
	return packed
}
