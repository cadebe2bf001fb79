package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

const (
	bombSize = 600 << 20 // bytes that most bombs become
	nested   = 100_000   // brackets
)

// zeros is a stream of n zeros.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// squeezed returns a stream compressed by zstd or lz4.
func squeezed(t *testing.T, codec string, in io.Reader) []byte {
	var out bytes.Buffer
	var w io.WriteCloser = lz4.NewWriter(&out)
	if codec == "zstd" {
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		w = z
	}
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{in}, make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// mcapRecord is a record of MCAP: an opcode, a length, and fields. Texts and slices have their length before them.
func mcapRecord(op byte, fields ...any) []byte {
	var b []byte
	for _, f := range fields {
		switch f := f.(type) {
		case string:
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(f))), f...)
		case []byte: // with its own length
			b = append(b, f...)
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, f)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, f)
		case int:
			b = binary.LittleEndian.AppendUint64(b, uint64(f))
		}
	}
	return append(binary.LittleEndian.AppendUint64([]byte{op}, uint64(len(b))), b...)
}

// mcapBomb is a file of one chunk, which begins with a channel of an empty message type.
func mcapBomb(t *testing.T, codec string, size int64, messages io.Reader) []byte {
	begin := append(mcapRecord(3, uint16(1), "std_msgs/msg/Empty", "ros2msg", ""), mcapRecord(4, uint16(1), uint16(1), "/a", "cdr", uint32(0))...)
	packed := squeezed(t, codec, io.MultiReader(bytes.NewReader(begin), messages))
	file := append([]byte("\x89MCAP0\r\n"), mcapRecord(1, "ros2", "")...)
	return append(file, mcapRecord(6, 0, 0, int(size)+len(begin), uint32(0), codec, len(packed), packed)...)
}

// repeated is a stream that repeats a record n times.
func repeated(record []byte, n int) io.Reader {
	many := bytes.Repeat(record, 1000)
	readers := make([]io.Reader, n/1000)
	for i := range readers {
		readers[i] = bytes.NewReader(many)
	}
	return io.MultiReader(readers...)
}

// bz2Zeros is a bzip2 stream of 45,000,000 zeros.
const bz2Zeros = "425a6839314159265359c901b6c80158ab4020c00010000008200030cc0529a65248526c5492149e2ee48a70a12192036d90"

// bagBomb is a bag of one chunk of bzip2.
func bagBomb(t *testing.T, times int) []byte {
	one, err := hex.DecodeString(bz2Zeros)
	require.NoError(t, err)
	data := bytes.Repeat(one, times)
	record := func(data []byte, fields ...string) (b []byte) {
		var head []byte
		for _, f := range fields {
			head = append(binary.LittleEndian.AppendUint32(head, uint32(len(f))), f...)
		}
		b = append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
	}
	size := string(binary.LittleEndian.AppendUint32([]byte("size="), uint32(times*45_000_000)))
	file := append([]byte("#ROSBAG V2.0\n"), record(make([]byte, 4027), "op=\x03", "index_pos=\x00\x00\x00\x00\x00\x00\x00\x00", "conn_count=\x00\x00\x00\x00", "chunk_count=\x00\x00\x00\x00")...)
	return append(file, record(data, "op=\x05", "compression=bz2", size)...)
}

// deflated returns a head and n zeros compressed by deflate. One block of zeros is compressed, and repeated.
func deflated(t *testing.T, head []byte, n int64) []byte {
	const size = 1 << 20
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	require.NoError(t, err)
	write := func(data []byte) []byte {
		begin := out.Len()
		_, err := w.Write(data)
		require.NoError(t, errors.Join(err, w.Flush()))
		return out.Bytes()[begin:]
	}
	write(slices.Concat(head, make([]byte, size+n%size)))
	out.Write(bytes.Repeat(write(make([]byte, size)), int(n/size)-2))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// addZeros adds an array of n zeros to an archive.
func addZeros(t *testing.T, z *zip.Writer, name string, head []byte, n int64) {
	packed, sum, block := deflated(t, head, n), crc32.ChecksumIEEE(head), make([]byte, 1<<20)
	for left := n; left > 0; left -= int64(len(block)) {
		sum = crc32.Update(sum, crc32.IEEETable, block[:min(left, int64(len(block)))])
	}
	w, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: sum, CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(int64(len(head)) + n)})
	require.NoError(t, err)
	_, err = w.Write(packed)
	require.NoError(t, err)
}

// zipBomb is an archive of an array of zeros.
func zipBomb(t *testing.T, path string) {
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	addZeros(t, z, "points.npy", npyHead(bombSize/24), bombSize)
	require.NoError(t, z.Close())
}

func npyHead(n int) []byte {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 3), }", n)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	return append([]byte("\x93NUMPY\x01\x00"), append(binary.LittleEndian.AppendUint16(nil, uint16(len(head))), head...)...)
}

// pngBomb is an image of 60,000x60,000 pixels of one bit each.
func pngBomb(t *testing.T) []byte {
	const size = 60_000 * 7_501
	data := append([]byte("\x78\x01"), deflated(t, nil, size)...)
	data = binary.BigEndian.AppendUint32(data, size%65521<<16|1) // Adler-32 of zeros
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		name string
		data []byte
	}{{"IHDR", append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 60_000), 60_000), 1, 0, 0, 0, 0)}, {"IDAT", data}, {"IEND", nil}} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c.data)))
		named := append([]byte(c.name), c.data...)
		out = binary.BigEndian.AppendUint32(append(out, named...), crc32.ChecksumIEEE(named))
	}
	return out
}

// parquetBomb makes every column of a file one run of 1e9 equal values.
func parquetBomb(t *testing.T, file []byte) []byte {
	const rows = 1_000_000_000
	protocol := &thrift.CompactProtocol{}
	var meta format.FileMetaData
	length := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	require.NoError(t, thrift.Unmarshal(protocol, file[len(file)-8-length:len(file)-8], &meta))
	page := func(h format.PageHeader, data []byte) []byte {
		h.CompressedPageSize, h.UncompressedPageSize = int32(len(data)), int32(len(data))
		head, err := thrift.Marshal(protocol, &h)
		require.NoError(t, err)
		return append(head, data...)
	}
	out := []byte("PAR1")
	meta.RowGroups = meta.RowGroups[:1]
	meta.NumRows, meta.RowGroups[0].NumRows = rows, rows
	width := map[format.Type]int{format.Boolean: 1, format.Int32: 4, format.Float: 4, format.Int64: 8, format.Double: 8, format.ByteArray: 4}
	run := func(value byte) []byte { return append(binary.AppendUvarint(nil, rows<<1), value) }
	levels := func(value byte) []byte {
		b := run(value)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	for i := range meta.RowGroups[0].Columns {
		c := &meta.RowGroups[0].Columns[i].MetaData
		begin := len(out)
		out = append(out, page(format.PageHeader{Type: format.DictionaryPage,
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1, Encoding: format.Plain})}, make([]byte, width[c.Type]))...)
		c.DictionaryPageOffset, c.DataPageOffset = int64(begin), int64(len(out))
		var body []byte
		if len(c.PathInSchema) > 1 {
			body = append(levels(0), levels(3)...)
		} else {
			body = levels(1)
		}
		body = append(append(body, 1), run(0)...)
		out = append(out, page(format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: rows,
			Encoding: format.RLEDictionary, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})}, body)...)
		c.Codec, c.NumValues, c.TotalCompressedSize, c.TotalUncompressedSize = format.Uncompressed, rows, int64(len(out)-begin), int64(len(out)-begin)
	}
	footer, err := thrift.Marshal(protocol, &meta)
	require.NoError(t, err)
	out = append(out, footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), "PAR1"...)
}

// bombs are commands on files that unpack to far more than they take.
var bombs = map[string]func(t *testing.T, dir string) []string{
	"a chunk of bzip2 in a bag": func(t *testing.T, dir string) []string {
		return []string{"inspect", put(t, dir, "a.bag", bagBomb(t, 22))}
	},
	"a chunk of zstd in MCAP": func(t *testing.T, dir string) []string {
		return []string{"inspect", put(t, dir, "a.mcap", mcapBomb(t, "zstd", bombSize+9, bigMessage()))}
	},
	"a chunk of lz4 in MCAP": func(t *testing.T, dir string) []string {
		return []string{"inspect", put(t, dir, "a.mcap", mcapBomb(t, "lz4", bombSize+9, bigMessage()))}
	},
	"20 M empty messages": func(t *testing.T, dir string) []string {
		message := mcapRecord(5, uint16(1), uint32(0), 0, 0)
		return []string{"inspect", put(t, dir, "a.mcap", mcapBomb(t, "zstd", 20_000_000*int64(len(message)), repeated(message, 20_000_000)))}
	},
	"a database compressed by zstd": func(t *testing.T, dir string) []string {
		return []string{"inspect", put(t, dir, "a.db3.zstd", squeezed(t, "zstd", io.MultiReader(strings.NewReader("SQLite format 3\x00"), zeros(bombSize))))}
	},
	"an archive of zeros": func(t *testing.T, dir string) []string {
		path := filepath.Join(dir, "a.npz")
		zipBomb(t, path)
		return []string{"voxelize", path, "--size=1", "-o", filepath.Join(dir, "o.npz")}
	},
	"a picture of 60000x60000": func(t *testing.T, dir string) []string {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "rgb"), 0o755))
		put(t, dir, "groundtruth.txt", []byte("1 0 0 0 0 0 0 1\n2 0 0 0 0 0 0 1\n"))
		put(t, dir, "rgb.txt", []byte("1 rgb/1.png\n2 rgb/1.png\n"))
		put(t, dir, "rgb/1.png", pngBomb(t))
		return []string{"doctor", dir}
	},
	"an array of 2^40 elements": func(t *testing.T, dir string) []string {
		return []string{"voxelize", put(t, dir, "a.npy", npyHead(1<<40)), "--size=1", "-o", filepath.Join(dir, "o.npz")}
	},
	"a run of 1e9 rows in Parquet": func(t *testing.T, dir string) []string {
		require.NoError(t, os.CopyFS(dir, os.DirFS("../../examples/data/g1")))
		name := filepath.Join(dir, "data/chunk-000/file-000.parquet")
		file, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, parquetBomb(t, file), 0o644))
		return []string{"inspect", dir}
	},
	"YAML of 100,000 lists": func(t *testing.T, dir string) []string {
		put(t, dir, "a.db3", []byte("SQLite format 3\x00"))
		put(t, dir, "metadata.yaml", []byte("rosbag2_bagfile_information: "+strings.Repeat("- ", nested)))
		return []string{"inspect", dir}
	},
}

// bigMessage is a record of bombSize zeros.
func bigMessage() io.Reader {
	return io.MultiReader(bytes.NewReader(binary.LittleEndian.AppendUint64([]byte{5}, bombSize)), strings.NewReader("\x01\x00"), zeros(bombSize-2))
}

func put(t *testing.T, dir, name string, data []byte) string {
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

// margin is the memory above --max-memory: the program's code, and allocations between two looks of the watch.
const margin = 96 << 20

func TestBombsAreRefusedInWordsWithinTheLimit(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := bomb(t, dir)
			check := func(limit string, most int64, args ...string) {
				code, rss, stderr := measured(t, limit, args...)
				assert.Contains(t, []int{exitGood, exitInput}, code, "%s: %s", limit, stderr)
				assert.NotContains(t, stderr, "goroutine ", limit)
				assert.NotContains(t, stderr, "fatal error", limit)
				assert.Less(t, rss, most, limit)
				t.Logf("%s: exit %d, %d MiB: %.300s", limit, code, rss>>20, stderr)
			}
			check("unlimited", 256<<20+margin, append(args, "--max-memory=256MiB")...)
			if args[0] == "voxelize" && strings.HasSuffix(args[1], ".npz") {
				return // below RLIMIT_AS Go may still end a command that grows arrays: docs/limits.md
			}
			check("4194304", 4<<30, args...)
		})
	}
}

// measured runs a command with a limit on its address space, KiB. It returns the exit code, the peak memory, and the messages.
func measured(t *testing.T, limit string, args ...string) (code int, rss int64, stderr string) {
	cmd, _ := program(t, append([]string{"-c", `ulimit -v "$0"; exec "$@"`, limit, os.Args[0]}, args...)...)
	var text bytes.Buffer
	cmd.Env, cmd.Stderr = append(cmd.Env, "ROBOCACHE_MEASURED=1"), &text
	_ = cmd.Run()
	stderr, number, found := strings.Cut(text.String(), "\x00")
	require.True(t, found, text.String())
	_, err := fmt.Sscan(number, &rss)
	require.NoError(t, err)
	return cmd.ProcessState.ExitCode(), rss, stderr
}

// An episode that does not fit the memory ends each command with the cure. No command skips it, because the output would depend on the machine.
func TestAnEpisodeBeyondTheMemoryIsNotSkipped(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	path := filepath.Join(dir, "large.npz")
	f, err := os.Create(path)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for name, numbers := range map[string]int64{"arm.times": 1, "arm.values": 3} { // of a row
		const rows = 20_000_000
		head := npyHead(rows)
		if numbers == 1 {
			head = bytes.Replace(head, []byte(", 3), }"), []byte(",), }  "), 1)
		}
		addZeros(t, z, name+".npy", head, rows*numbers*8)
	}
	require.NoError(t, errors.Join(z.Close(), f.Close()))
	for _, command := range []string{
		"inspect", "doctor", "stats", "plan -o OUT/p.yaml", "pack -o OUT/s.safetensors", "batches --hz=5 --batch=2 --backend=cpu --out=OUT/b", "convert --to=mcap -o OUT/c",
		"resample --hz=5 -o OUT/o.npz --backend=cpu",
	} {
		out := t.TempDir()
		cmd, _ := program(t, append(strings.Fields(strings.ReplaceAll(command, "OUT", out)), path, "--max-memory=256MiB")...)
		text, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		require.ErrorAs(t, err, &ended, command)
		assert.Equal(t, exitInput, ended.ExitCode(), "%s: %s", command, text)
		assert.Contains(t, string(text), "a larger --max-memory allows more", command)
		assert.NotContains(t, string(text), "corrupt", command)
		assert.Empty(t, listed(t, out), command)
	}
}

// Texts that nest 100,000 deep are refused in words, by each parser of text that commands have.
func TestTextsThatNestTooDeepAreRefused(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	deep, list := strings.Repeat("[", nested), strings.Repeat("- ", nested)
	require.NoError(t, os.CopyFS(filepath.Join(dir, "g1"), os.DirFS(filepath.Join("..", "..", "examples", "data", "g1"))))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "g1", "meta", "info.json"), []byte(`{"codebase_version": "v3.0", "a": `+deep), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bag"), 0o700))
	log, err := os.ReadFile(filepath.Join("..", "..", "dataset", "rosbag2", "testdata", "log.db3"))
	require.NoError(t, err)
	put(t, dir, "bag/log.db3", log)
	put(t, dir, "bag/metadata.yaml", []byte("rosbag2_bagfile_information:\n  "+list))
	put(t, dir, "flow.yaml", []byte(deep))
	put(t, dir, "block.yaml", []byte(list))
	turtles := filepath.Join("..", "..", "examples", "data", "turtles.bag")
	for _, c := range []struct {
		code          int
		command, want string
	}{
		{exitInput, "inspect DIR/g1", "exceeded max depth"},
		{exitInput, "batches DIR/g1 --batch=2 --backend=cpu", "exceeded max depth"},
		{exitInput, "resample " + turtles + " --plan=DIR/flow.yaml -o DIR/o.npz", "too deep, want at most 100"},
		{exitInput, "resample " + turtles + " --plan=DIR/block.yaml -o DIR/o.npz", "too deep, want at most 100"},
		{exitGood, "inspect DIR/bag", "metadata.yaml: cannot be read"}, // the log beside it is read
	} {
		code, stdout, stderr := execute(strings.Fields(strings.ReplaceAll(c.command, "DIR", dir))...)
		assert.Equal(t, c.code, code, "%s: %s", c.command, stderr)
		assert.Contains(t, stdout+stderr, c.want, c.command)
	}
}
