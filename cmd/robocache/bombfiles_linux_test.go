package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// pngBomb is a square grey image with a text that makes the file large enough for its pixels.
func pngBomb(t *testing.T, side uint32) []byte {
	var data bytes.Buffer
	z := zlib.NewWriter(&data)
	_, err := io.Copy(z, zeros(int64(side)*int64(side+1)))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"IHDR", append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, side), side), 8, 0, 0, 0, 0)},
		{"tEXt", append([]byte("Comment\x00"), bytes.Repeat([]byte("x"), 1<<20)...)}, {"IDAT", data.Bytes()}, {"IEND", nil},
	} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c.data)))
		named := append([]byte(c.name), c.data...)
		out = binary.BigEndian.AppendUint32(append(out, named...), crc32.ChecksumIEEE(named))
	}
	return out
}

// parquetBomb gives every column one zstd page, which becomes size bytes.
func parquetBomb(t *testing.T, file []byte, size int32) []byte {
	protocol := &thrift.CompactProtocol{}
	var meta format.FileMetaData
	length := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	require.NoError(t, thrift.Unmarshal(protocol, file[len(file)-8-length:len(file)-8], &meta))
	packed := squeezed(t, "zstd", zeros(int64(size)))
	out := []byte("PAR1")
	for g := range meta.RowGroups {
		for i := range meta.RowGroups[g].Columns {
			c := &meta.RowGroups[g].Columns[i].MetaData
			head, err := thrift.Marshal(protocol, &format.PageHeader{Type: format.DataPage, CompressedPageSize: int32(len(packed)), UncompressedPageSize: size,
				DataPageHeader: thrift.New(format.DataPageHeader{NumValues: int32(c.NumValues), Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})})
			require.NoError(t, err)
			c.DictionaryPageOffset, c.DataPageOffset = 0, int64(len(out))
			out = append(append(out, head...), packed...)
			c.Codec, c.TotalCompressedSize, c.TotalUncompressedSize = format.Zstd, int64(len(head)+len(packed)), int64(len(head))+int64(size)
		}
	}
	footer, err := thrift.Marshal(protocol, &meta)
	require.NoError(t, err)
	out = append(out, footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), "PAR1"...)
}

// pcdBomb is n zero points that LZF compresses: one zero, which is then copied 264 times at once.
func pcdBomb(n int) []byte {
	packed := []byte{0, 0}
	rest := 12*n - 1
	for ; rest >= 264; rest -= 264 {
		packed = append(packed, 7<<5, 255, 0)
	}
	for ; rest > 0; rest-- {
		packed = append(packed, 0, 0)
	}
	head := fmt.Sprintf("# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH %d\nHEIGHT 1\n"+
		"VIEWPOINT 0 0 0 1 0 0 0\nPOINTS %d\nDATA binary_compressed\n", n, n)
	b := binary.LittleEndian.AppendUint32([]byte(head), uint32(len(packed)))
	return append(binary.LittleEndian.AppendUint32(b, uint32(12*n)), packed...)
}

// recordBomb is a gzip file with one TFRecord record: size zeros.
func recordBomb(t *testing.T, size int64) []byte {
	masked := func(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }
	table := crc32.MakeTable(crc32.Castagnoli)
	head := binary.LittleEndian.AppendUint64(nil, uint64(size))
	head = binary.LittleEndian.AppendUint32(head, masked(crc32.Checksum(head, table)))
	sum := crc32.New(table)
	_, err := io.Copy(sum, zeros(size))
	require.NoError(t, err)
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err = io.Copy(z, io.MultiReader(bytes.NewReader(head), zeros(size), bytes.NewReader(binary.LittleEndian.AppendUint32(nil, masked(sum.Sum32())))))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

// logBomb is a ULog log with n samples. Each has 200 one-byte numbers, which become four bytes each.
func logBomb(n int) []byte {
	message := func(kind byte, body string) string {
		return string(binary.LittleEndian.AppendUint16(nil, uint16(len(body)))) + string(kind) + body
	}
	log := []byte("ULog\x01\x12\x35\x01\x00\x00\x00\x00\x00\x00\x00\x00" + message('F', "a:uint64_t timestamp;uint8_t[200] x;") + message('A', "\x00\x00\x00a"))
	for i := range n {
		log = append(log, message('D', "\x00\x00"+string(binary.LittleEndian.AppendUint64(nil, uint64(i+1)))+strings.Repeat("\x01", 200))...)
	}
	return log
}

// bomb is a command on a file that unpacks to far more than it takes. want is the reason, "" for "out of memory".
type bomb struct {
	want string
	long bool // only in the long set
	args func(t *testing.T, dir string) []string
}

var bombs = map[string]bomb{
	"a chunk of bzip2 in a bag": {args: func(t *testing.T, dir string) []string {
		return []string{"inspect", put(t, dir, "a.bag", bagBomb(t, 22))}
	}},
	"a chunk of zstd in MCAP": {args: func(t *testing.T, dir string) []string {
		return []string{"inspect", put(t, dir, "a.mcap", mcapBomb(t, "zstd", bombSize+9, bigMessage()))}
	}},
	"a chunk of lz4 in MCAP": {args: func(t *testing.T, dir string) []string {
		return []string{"inspect", put(t, dir, "a.mcap", mcapBomb(t, "lz4", bombSize+9, bigMessage()))}
	}},
	"millions of empty messages": {args: func(t *testing.T, dir string) []string {
		message, n := mcapRecord(5, uint16(1), uint32(0), 0, 0), 20_000_000/bombScale
		return []string{"inspect", put(t, dir, "a.mcap", mcapBomb(t, "zstd", int64(n*len(message)), repeated(message, n)))}
	}},
	"a zstd database that becomes more than a GiB": {want: "decompressed file: too large", long: true, args: func(t *testing.T, dir string) []string {
		log, err := os.ReadFile("../../dataset/rosbag2/testdata/log.db3")
		require.NoError(t, err)
		return []string{"inspect", put(t, dir, "a.db3.zstd", squeezed(t, "zstd", io.MultiReader(bytes.NewReader(log), zeros(1100<<20))))}
	}},
	"an archive of zeros": {args: func(t *testing.T, dir string) []string {
		path := filepath.Join(dir, "a.npz")
		zipBomb(t, path)
		return []string{"voxelize", path, "--size=1", "-o", filepath.Join(dir, "o.npz")}
	}},
	"a picture of 16384x16384, or half as wide": {args: func(t *testing.T, dir string) []string {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "rgb"), 0o755))
		put(t, dir, "groundtruth.txt", []byte("1 0 0 0 0 0 0 1\n2 0 0 0 0 0 0 1\n"))
		put(t, dir, "rgb.txt", []byte("1 rgb/1.png\n2 rgb/1.png\n"))
		put(t, dir, "rgb/1.png", pngBomb(t, uint32(thorough.Of(8192, 16_384))))
		return []string{"batches", dir, "--hz=2", "--batch=1", "--steps=1", "--camera=rgb=8x8", "--backend=cpu", "--out", filepath.Join(t.TempDir(), "o")}
	}},
	"an array of 2^40 elements": {want: "array data: truncated", args: func(t *testing.T, dir string) []string {
		return []string{"voxelize", put(t, dir, "a.npy", npyHead(1<<40)), "--size=1", "-o", filepath.Join(dir, "o.npz")}
	}},
	"zstd pages in Parquet": {args: func(t *testing.T, dir string) []string {
		require.NoError(t, os.CopyFS(dir, os.DirFS("../../examples/data/g1")))
		name := filepath.Join(dir, "data/chunk-000/file-000.parquet")
		file, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, parquetBomb(t, file, int32(255<<20/thorough.Of(2, 1))), 0o644))
		return []string{"stats", dir}
	}},
	"LZF points in PCD": {args: func(t *testing.T, dir string) []string {
		return []string{"voxelize", put(t, dir, "a.pcd", pcdBomb(30_000_000/bombScale)), "--size=1", "-o", filepath.Join(dir, "o.npz")}
	}},
	"three-byte points in PLY": {args: func(t *testing.T, dir string) []string {
		n := 30_000_000 / bombScale
		head := fmt.Sprintf("ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty uchar x\nproperty uchar y\nproperty uchar z\nend_header\n", n)
		return []string{"voxelize", put(t, dir, "a.ply", append([]byte(head), make([]byte, 3*n)...)), "--size=1", "-o", filepath.Join(dir, "o.npz")}
	}},
	"a gzip record in RLDS": {args: func(t *testing.T, dir string) []string {
		const from = "../../dataset/rlds/testdata/kinds"
		require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
		put(t, dir, "kinds-train.tfrecord-00000-of-00002", recordBomb(t, int64(400<<20/bombScale)))
		return []string{"stats", dir}
	}},
	"byte samples in ULog": {args: func(t *testing.T, dir string) []string {
		return []string{"inspect", put(t, dir, "a.ulg", logBomb(400_000/bombScale))}
	}},
	"one-digit numbers in CSV": {args: func(t *testing.T, dir string) []string {
		row := strings.Repeat("1,", 99) + "1\n"
		return []string{"inspect", put(t, dir, "a.csv", []byte(strings.ReplaceAll(row, "1", "c")+strings.Repeat(row, 400_000/bombScale)))}
	}},
	"YAML of 100,000 lists": {want: "database header", args: func(t *testing.T, dir string) []string {
		put(t, dir, "a.db3", []byte("SQLite format 3\x00"))
		put(t, dir, "metadata.yaml", []byte("rosbag2_bagfile_information: "+strings.Repeat("- ", nested)))
		return []string{"inspect", dir}
	}},
}
