package parquet

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// contents returns what a program sees of a file, as text.
func contents(t *testing.T, path string) (string, error) {
	t.Helper()
	f, err := Open("lerobot", path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var text bytes.Buffer
	for _, c := range f.Columns() {
		fmt.Fprintf(&text, "%s %s %v %d\n", c.Name, c.Type, c.Kind, c.Rank)
		for g, group := range f.Groups() {
			low, high, ok := c.Bounds(g)
			fmt.Fprintln(&text, group, low, high, ok)
			if c.Kind == Images {
				list, err := c.Images(context.Background(), g, 0, int(group.Rows))
				if err != nil {
					return "", err
				}
				fmt.Fprintln(&text, list)
				continue
			}
			if c.Kind != Numbers && c.Kind != Texts {
				continue
			}
			v := Values{}
			if err := c.Read(context.Background(), g, 0, group.Rows, &v); err != nil {
				return "", err
			}
			fmt.Fprintf(&text, "%v\n", v)
		}
	}
	return text.String(), nil
}

func TestADamagedByteOfAFileIsAnErrorOrChangesNothing(t *testing.T) {
	whole := write(t, 1, 9)
	path := filepath.Join(t.TempDir(), "x.parquet")
	filetest.Write(t, path, whole)
	want, err := contents(t, path)
	require.NoError(t, err)
	bits := thorough.Of(1, 8) // of each byte
	for at := 0; at < len(whole); at += thorough.Of(3, 1) {
		for k := range bits + 1 {
			mask := byte(0xff)
			if k < bits {
				mask = 1 << ((at + k) % 8)
			}
			whole[at] ^= mask
			filetest.Write(t, path, whole)
			whole[at] ^= mask
			got, err := contents(t, path)
			if err == nil {
				require.Equal(t, want, got, "byte %d ^ %#x", at, mask)
				continue
			}
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad, "byte %d ^ %#x", at, mask)
		}
	}
}

// Each page has the checksum that the format defines: CRC-32 of the bytes after its header. The library reads the headers here.
func TestPagesHaveTheChecksumOfTheFormat(t *testing.T) {
	file := write(t, 3, 400)
	_, meta := split(t, file)
	pages := 0
	for _, g := range meta.RowGroups {
		for _, c := range g.Columns {
			at := c.MetaData.DataPageOffset
			if d := c.MetaData.DictionaryPageOffset; d > 0 {
				at = d
			}
			for end := at + c.MetaData.TotalCompressedSize; at < end; pages++ {
				head, err := parsePageHead(file[at:])
				require.NoError(t, err)
				var h format.PageHeader
				require.NoError(t, thrift.Unmarshal(&thrift.CompactProtocol{}, file[at:at+int64(head.size)], &h))
				at += int64(head.size)
				body := file[at : at+int64(h.CompressedPageSize)]
				require.Equal(t, crc32.ChecksumIEEE(body), uint32(h.CRC))
				at += int64(len(body))
			}
		}
	}
	assert.Greater(t, pages, 2*len(all))
	assert.Equal(t, uint32(0xcbf43926), crc32.ChecksumIEEE([]byte("123456789")), "the polynomial's known answer")
}

// Checksums of pages by others are compared. A page that states none is read, and one that states 0 has that checksum.
func TestChecksumsOfOthersAreCompared(t *testing.T) {
	file := numbers(t) // by the library, which writes them
	_, meta := split(t, file)
	c := meta.RowGroups[0].Columns[1].MetaData
	head, err := parsePageHead(file[c.DataPageOffset:])
	require.NoError(t, err)
	require.NotEqual(t, int64(noSum), head.sum)
	damaged := bytes.Clone(file)
	damaged[c.DataPageOffset+c.TotalCompressedSize-1] ^= 1
	_, err = read(t, damaged)
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, "checksum")

	for name, states := range map[string]struct {
		field []byte // of number 4, after field 3 of a header
		sum   int64
	}{"none": {nil, noSum}, "0": {[]byte{0x15, 0}, 0}, "-1": {[]byte{0x15, 1}, -1}} {
		b := append(append([]byte{0x15, 0, 0x15, 2, 0x15, 2}, states.field...), 0)
		h, err := parsePageHead(b)
		require.NoError(t, err)
		assert.Equal(t, states.sum, h.sum, name)
	}
}
