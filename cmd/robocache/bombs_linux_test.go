package main

import (
	"archive/zip"
	"bytes"
	"cmp"
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
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

const (
	bombSize = 300 << 20 // bytes that most bombs become: more than memory.Floor, which is the limit without --max-memory
	nested   = 100_000   // brackets
)

// bombScale divides the other bombs and their --max-memory.
var bombScale = thorough.Of(4, 1)

// zeros is n zeros as a stream.
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

// mcapRecord is an MCAP record: an opcode, a length, and fields. Texts and slices have their length before them.
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

// mcapBomb is a file with one chunk, which begins with a channel for empty messages.
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

// bz2Zeros is 45,000,000 zeros in bzip2.
const bz2Zeros = "425a6839314159265359c901b6c80158ab4020c00010000008200030cc0529a65248526c5492149e2ee48a70a12192036d90"

// bagBomb is a bag with one bzip2 chunk.
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

// zipBomb is an archive with one array, all zeros.
func zipBomb(t *testing.T, path string) {
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	points := 600 << 20 / 24 / bombScale
	addZeros(t, z, "points.npy", npyHead(points), int64(points)*24)
	require.NoError(t, z.Close())
}

// addZeros adds a member to an archive: a head and n zeros. It compresses one block of zeros, and repeats it.
func addZeros(t *testing.T, z *zip.Writer, name string, head []byte, n int64) {
	const size = 1 << 20
	var packed bytes.Buffer
	c, err := flate.NewWriter(&packed, flate.BestSpeed)
	require.NoError(t, err)
	compressed := func(data []byte) []byte {
		begin := packed.Len()
		_, err := c.Write(data)
		require.NoError(t, errors.Join(err, c.Flush()))
		return packed.Bytes()[begin:]
	}
	block, first := make([]byte, size), slices.Concat(head, make([]byte, size+n%size))
	sum := crc32.ChecksumIEEE(first)
	compressed(first)
	packed.Write(bytes.Repeat(compressed(block), int(n/size)-2))
	require.NoError(t, c.Close())
	for range n/size - 1 {
		sum = crc32.Update(sum, crc32.IEEETable, block)
	}
	w, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: sum, CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(int64(len(head)) + n)})
	require.NoError(t, err)
	_, err = packed.WriteTo(w)
	require.NoError(t, err)
}

func npyHead(n int) []byte {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 3), }", n)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	return append([]byte("\x93NUMPY\x01\x00"), append(binary.LittleEndian.AppendUint16(nil, uint16(len(head))), head...)...)
}

// bigMessage is a record with bombSize zeros.
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

// quickBombs take less than a second in 4 GiB, and stand for the others.
var quickBombs = []string{"a chunk of zstd in MCAP", "an array of 2^40 elements"}

func TestBombsAreRefusedInWordsWithinTheLimit(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	for name, bomb := range bombs {
		if bomb.long && !thorough.Long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args, want := bomb.args(t, dir), cmp.Or(bomb.want, "out of memory")
			check := func(limit string, most int64, args ...string) (int, string) {
				code, rss, stderr := measured(t, limit, args...)
				assert.Contains(t, []int{exitGood, exitInput}, code, "%s: %s", limit, stderr)
				assert.NotContains(t, stderr, "goroutine ", limit)
				assert.NotContains(t, stderr, "fatal error", limit)
				assert.Less(t, rss, most, limit)
				t.Logf("%s: exit %d, %d MiB: %.300s", limit, code, rss>>20, stderr)
				return code, stderr
			}
			most := 256 / bombScale
			code, stderr := check("unlimited", int64(most)<<20+margin, append(args, fmt.Sprintf("--max-memory=%dMiB", most))...)
			assert.Equal(t, exitInput, code)
			assert.Contains(t, stderr, want)
			if thorough.Long || slices.Contains(quickBombs, name) {
				check("4194304", 4<<30, args...)
			}
			if thorough.Long {
				check("2500000", 4<<30, args...)
			}
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
		rows := thorough.Of(3_000_000, 20_000_000)
		head := npyHead(rows)
		if numbers == 1 {
			head = bytes.Replace(head, []byte(", 3), }"), []byte(",), }  "), 1)
		}
		addZeros(t, z, name+".npy", head, int64(rows)*numbers*8)
	}
	require.NoError(t, errors.Join(z.Close(), f.Close()))
	for _, command := range []string{
		"inspect", "doctor", "stats", "plan -o OUT/p.yaml", "pack -o OUT/s.safetensors", "batches --hz=5 --batch=2 --backend=cpu --out=OUT/b", "convert --to=mcap -o OUT/c",
		"resample --hz=5 -o OUT/o.npz --backend=cpu",
	} {
		out := t.TempDir()
		cmd, _ := program(t, append(strings.Fields(strings.ReplaceAll(command, "OUT", out)), path, fmt.Sprintf("--max-memory=%dMiB", 256/bombScale))...)
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
