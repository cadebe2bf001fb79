package all_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all"
	"github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// sweep is a small recording, whose files are cut.
type sweep struct {
	name  string
	files map[string][]byte // by their paths below a folder
	open  string            // the file or folder that is opened
	opt   dataset.Options
	grows bool // elements lie in the order of the file: a longer part never has fewer
	// ends are the lengths of a file at which an element or a transaction ends, so that a shorter recording is the same bytes; nil for none.
	ends    func(name string, data []byte) map[int]bool
	changes bool // a part may have other values: numbers become text, steps get another clock
}

// content is everything that a reader returns for a recording.
type content struct {
	elements map[string]int // rows, frames, clouds and texts, how often each is there
	notes    map[string]int
	count    int
	errs     []error
}

// read opens a recording and reads each row, frame and cloud.
func (s *sweep) read(ctx context.Context, path string) (c content, err error) {
	c = content{elements: map[string]int{}, notes: map[string]int{}}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	add := func(name string, time int64, b []byte) {
		h := fnv.New64a()
		_, _ = h.Write(b)
		c.elements[fmt.Sprintf("%s@%d:%x", name, time, h.Sum64())]++
		c.count++
	}
	note := func(list dataset.Notes) {
		for _, n := range list {
			text := fmt.Sprint(n.Code, n.Subject)
			if class := n.Code.Class(); class == dataset.ClassDamage || class == dataset.ClassProblem {
				text += fmt.Sprint(n.Count, n.Bytes)
			}
			c.notes[text]++
		}
	}
	d, bad := dataset.Open(ctx, path, s.opt)
	if bad != nil {
		c.errs = append(c.errs, bad)
		return c, nil
	}
	defer d.Close()
	note(d.Info().Notes)
	for i := range d.Len() {
		e, bad := d.Episode(ctx, i)
		if bad != nil {
			c.errs = append(c.errs, bad)
			continue
		}
		note(e.Notes)
		info := d.Info()
		at := fmt.Sprintf("%d/", info.Number(i))
		for k := range e.Streams {
			stream := &e.Streams[k]
			if bad := stream.Check(); bad != nil {
				return c, bad
			}
			values, bad := tensor.Floats(stream.Values)
			if bad != nil {
				return c, bad
			}
			times, width := stream.Nanoseconds(), len(stream.Columns)
			for row, time := range times {
				var b []byte
				for _, v := range values[row*width : (row+1)*width] {
					b = fmt.Appendln(b, v)
				}
				add(at+stream.Name, time, b)
			}
		}
		for k := range e.Media {
			m := &e.Media[k]
			for f, time := range m.Times {
				if b, bad := m.Frame(ctx, f); bad == nil {
					add(at+m.Name, time, b)
				} else {
					c.errs = append(c.errs, bad)
				}
			}
		}
		for k := range e.Clouds {
			for f, time := range e.Clouds[k].Times {
				if cloud, bad := e.Clouds[k].Cloud(ctx, f); bad == nil {
					add(at+e.Clouds[k].Name, time, fmt.Append(nil, cloud.Len()))
				} else {
					c.errs = append(c.errs, bad)
				}
			}
		}
		for _, text := range e.Texts {
			for row, v := range text.Values {
				add(at+text.Name, text.Times[row], []byte(v))
			}
		}
	}
	return c, nil
}

// compare returns the fault of a changed recording: an error without a type, or a missing or new element without a note.
func (s *sweep) compare(whole, part content) error {
	for _, err := range part.errs {
		if wrong := mutate.Untyped(err); wrong != nil {
			return wrong
		}
	}
	if len(part.errs) > len(whole.errs) {
		return nil
	}
	for name, n := range part.notes {
		if whole.notes[name] < n {
			return nil
		}
	}
	for name, n := range whole.elements {
		if part.elements[name] < n {
			return fmt.Errorf("%d of %d elements, and no note: %s is missing", part.count, whole.count, name)
		}
	}
	return nil
}

// strange returns an element that the whole recording does not have.
func (s *sweep) strange(whole, part content) error {
	for name, n := range part.elements {
		if whole.elements[name] < n && !s.changes {
			return fmt.Errorf("%s is not in the whole recording", name)
		}
	}
	return nil
}

// lines are the ends of lines.
func lines(_ string, data []byte) map[int]bool {
	ends := map[int]bool{}
	for i, c := range data {
		ends[i+1] = c == '\n'
	}
	return ends
}

// messages are the ends of messages in a ULog file.
func messages(_ string, data []byte) map[int]bool {
	ends := map[int]bool{16: true}
	for at := 16; at+3 <= len(data); {
		at += 3 + int(binary.LittleEndian.Uint16(data[at:]))
		ends[at] = true
	}
	return ends
}

// transactions are the ends of transactions in a write-ahead log, and the lengths of one without any.
func transactions(name string, data []byte) map[int]bool {
	ends := map[int]bool{}
	if strings.HasSuffix(name, "-wal") {
		ends[0], ends[32] = true, true
		page := 24 + int(binary.BigEndian.Uint32(data[8:]))
		for at := 32; at+page <= len(data); at += page {
			ends[at+page] = binary.BigEndian.Uint32(data[at+4:]) > 0
		}
	}
	return ends
}

// stored reads files of a folder, all of them if none is named.
func stored(t *testing.T, dir string, names ...string) map[string][]byte {
	files := map[string][]byte{}
	if len(names) == 0 {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				name, _ := filepath.Rel(dir, path)
				names = append(names, name)
			}
			return err
		}))
	}
	for _, name := range names {
		files[filepath.ToSlash(name)] = filetest.Read(t, filepath.Join(dir, name))
	}
	return files
}

// ulogFile is a log of two topics.
func ulogFile() []byte {
	b := append([]byte("ULog\x01\x12\x35\x01"), 0, 0, 0, 0, 0, 0, 0, 0)
	put := func(kind byte, body []byte) {
		b = append(append(binary.LittleEndian.AppendUint16(b, uint16(len(body))), kind), body...)
	}
	put('F', []byte("pose:uint64_t timestamp;float[3] x;"))
	put('F', []byte("battery:uint64_t timestamp;uint8_t warning;double v;"))
	put('A', []byte("\x00\x01\x00pose"))
	put('A', []byte("\x00\x02\x00battery"))
	for i := range uint64(20) {
		put('D', binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte{1, 0}, 1000*i+5), 7*i), uint32(i)))
		if i%2 == 0 {
			put('D', binary.LittleEndian.AppendUint64(append(binary.LittleEndian.AppendUint64([]byte{2, 0}, 1000*i+6), byte(i)), 0x4028000000000000+i))
		}
	}
	return b
}

// pngs are frames of one size.
type pngs struct{}

func (pngs) ReadFrame(_ context.Context, i int) ([]byte, error) { return picture(i, 4), nil }

// lerobotFiles is a dataset of two episodes with a camera.
func lerobotFiles(t *testing.T) map[string][]byte {
	path := filepath.Join(t.TempDir(), "set")
	w, err := write.Create(path, write.Options{FPS: 10})
	require.NoError(t, err)
	for n := range 2 {
		times, err := dataset.StepTimes(6, 10)
		require.NoError(t, err)
		values := make([]float32, 12)
		for i := range values {
			values[i] = float32(100*n + i)
		}
		s, err := dataset.NewStream("observation.state", times, tensor.Must(tensor.Of(values, 6, 2)), []dataset.Column{{Name: "a", Type: "float32"}, {Name: "b", Type: "float32"}})
		require.NoError(t, err)
		camera := dataset.Media{Name: "front", Times: s.Nanoseconds(), Encoding: "png", Width: 4, Height: 4, Source: pngs{}}
		require.NoError(t, w.Add(t.Context(), &dataset.Episode{Streams: []dataset.Stream{s}, Media: []dataset.Media{camera}, Attributes: dataset.Attributes{Task: "lift"}}))
	}
	require.NoError(t, w.Commit(t.Context()))
	require.NoError(t, w.Close())
	return stored(t, path)
}

// sweeps are recordings of all formats.
func sweeps(t *testing.T) (list []sweep) {
	one := func(name string, data []byte) {
		list = append(list, sweep{name: name, files: map[string][]byte{name: data}, open: name})
	}
	file := func(path string) {
		name := filepath.Base(path)
		list = append(list, sweep{name: path, files: map[string][]byte{name: filetest.Read(t, filepath.Join("..", path))}, open: name})
	}
	ends := func(of func(string, []byte) map[int]bool) { list[len(list)-1].ends = of }
	grow := func() { list[len(list)-1].grows = true }
	var table, trajectory bytes.Buffer
	table.WriteString("time,x,y,note\n")
	for i := range 12 {
		fmt.Fprintf(&table, "%d.5,%d,%g,\"a, %d\"\n", i, i, float64(i)/3, i)
		fmt.Fprintf(&trajectory, "%d.25 %d 1.5 2 0 0 0 1\n", 1305031102+i, i)
	}
	one("table.csv", table.Bytes())
	list[len(list)-1].changes = true // numbers of a column whose last text is cut
	ends(lines)
	one("trajectory.txt", trajectory.Bytes())
	ends(lines)
	list[len(list)-1].changes = true // the last number of a file without a newline may be cut
	one("log.ulg", ulogFile())
	ends(messages)
	grow()
	for _, path := range []string{"mcap/testdata/lz4.mcap", "mcap/testdata/zstd.mcap", "mcap/testdata/uncompressed.mcap", "mcap/testdata/bare.mcap", "mcap/testdata/episode_json.mcap",
		"mcap/testdata/episode_protobuf.mcap", "rosbag/testdata/small-none.bag", "rosbag/testdata/small-lz4.bag", "rosbag/testdata/small-bz2.bag"} {
		file(path)
		grow()
	}
	for _, path := range []string{"npz/testdata/streams.npz", "safetensors/testdata/streams.safetensors", "aloha/testdata/small.hdf5", "aloha/testdata/jpeg.hdf5",
		"hdf5/plain/testdata/one.hdf5", "hdf5/plain/testdata/several.hdf5", "hdf5/plain/testdata/layouts/rates.hdf5", "hdf5/plain/testdata/layouts/cameras.hdf5", "isaaclab/testdata/demos.hdf5",
		"robomimic/testdata/kinds.hdf5", "rosbag2/testdata/plain.db3", "rosbag2/testdata/vacuum.db3", "zarr/testdata/kinds3.zarr.zip"} {
		file(path)
	}
	list = append(list,
		sweep{name: "rosbag2 with a write-ahead log", files: stored(t, "../rosbag2/testdata", "log.db3", "log.db3-wal"), open: "log.db3", ends: transactions},
		sweep{name: "rlds", files: stored(t, "../rlds/testdata/kinds"), open: ".", changes: true}, // numbers of episodes
		sweep{name: "calvin", files: stored(t, "../calvin/testdata/small"), open: ".", changes: true},
		sweep{name: "lerobot", files: lerobotFiles(t), open: "."},
	)
	for _, dir := range []string{"rosbag2_sqlite/talker_zstd_file", "rosbag2_sqlite/talker_zstd_message", "rosbag2_sqlite/cdr_test", "rosbag2_mcap/cdr_test", "lerobot_studio/lerobotv2-image"} {
		if dir = filepath.Join("../../../shared/data", filepath.FromSlash(dir)); exists(dir) {
			list = append(list, sweep{name: dir, files: stored(t, dir), open: "."})
		}
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lay writes the files of a recording, and returns the path that is opened.
func (s *sweep) lay(t *testing.T) (root, path string) {
	root = filepath.Join(t.TempDir(), "recording")
	for name, data := range s.files {
		to := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		filetest.Write(t, to, data)
	}
	return root, filepath.Join(root, s.open)
}

// cuts are the lengths at which a file of n bytes is cut: all of a small one, and about 80 of others.
func cuts(n, files int) (list []int) {
	step := 1
	if n*files > 2000 && !thorough.Long {
		step = max(1, n*files/80)
	} else if n > 20_000 {
		step = n / 20_000
	}
	for at := 0; at < n; at += step {
		list = append(list, at)
	}
	return append(list, n-1)
}

// A part of a recording gives its whole elements and a note about the rest, or an error with a type.
func TestAPartOfARecordingGivesWhatIsWholeAndANoteOfTheRest(t *testing.T) {
	formats := map[string]bool{}
	for _, s := range sweeps(t) {
		t.Run(s.name, func(t *testing.T) {
			root, path := s.lay(t)
			whole, err := s.read(t.Context(), path)
			require.NoError(t, err)
			require.Empty(t, whole.errs)
			require.NotZero(t, whole.count)
			d, err := dataset.Open(t.Context(), path, s.opt)
			require.NoError(t, err)
			formats[d.Format()] = true
			require.NoError(t, d.Close())
			wrong := map[string]int{}
			for name, data := range s.files {
				to, before := filepath.Join(root, filepath.FromSlash(name)), 0
				for _, at := range cuts(len(data), len(s.files)) {
					filetest.Write(t, to, data[:at])
					part, err := s.read(t.Context(), path)
					if err == nil && (s.ends == nil || !s.ends(name, data)[at]) {
						err = s.compare(whole, part)
					}
					if err == nil {
						err = s.strange(whole, part)
					}
					if err == nil && s.grows && part.count < before {
						err = fmt.Errorf("%d elements, and %d of a shorter part", part.count, before)
					}
					if before = part.count; err != nil {
						what := err.Error()
						if wrong[what]++; len(wrong) < 6 && wrong[what] == 1 {
							t.Errorf("%s cut at byte %d of %d: %v", name, at, len(data), err)
						}
					}
				}
				filetest.Write(t, to, data)
			}
		})
	}
	if !t.Failed() {
		for _, f := range dataset.Formats() {
			require.True(t, formats[f.Name], "no recording of "+f.Name)
		}
	}
}

// picture is a PNG of a shade and a size.
func picture(shade, size int) []byte {
	var b bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, size, size))
	for i := range m.Pix {
		m.Pix[i] = uint8(shade * i)
	}
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// If an element is empty, doubled or has another size, all other elements are still read.
func TestAnElementOfAnotherSizeCostsItself(t *testing.T) {
	for _, s := range sweeps(t)[:3] { // their elements stand for themselves in the bytes
		t.Run(s.name, func(t *testing.T) {
			root, path := s.lay(t)
			whole, err := s.read(t.Context(), path)
			require.NoError(t, err)
			data, to := s.files[s.open], filepath.Join(root, s.open)
			var at []int
			for n := range len(data) + 1 {
				if s.ends(s.open, data)[n] {
					at = append(at, n)
				}
			}
			first := 0 // the header of a table, and the definitions of a log
			if s.open == "table.csv" {
				first = 1
			} else if s.open == "log.ulg" {
				first = 4
			}
			for i := first; i < len(at); i++ {
				from := 0
				if i > 0 {
					from = at[i-1]
				}
				element := data[from:at[i]]
				if s.open == "log.ulg" && i == first {
					continue
				}
				for what, with := range map[string][]byte{"empty": emptied(s.open, element), "doubled": append(bytes.Clone(element), element...), "short": shortened(s.open, element)} {
					filetest.Write(t, to, slices.Concat(data[:from], with, data[at[i]:]))
					part, err := s.read(t.Context(), path)
					require.NoError(t, err, "%s %d", what, i)
					require.Empty(t, part.errs, "%s %d", what, i)
					require.GreaterOrEqual(t, part.count, whole.count-1, "%s %d", what, i)
					lost := 0
					for name, n := range whole.elements {
						lost += max(0, n-part.elements[name])
					}
					require.LessOrEqual(t, lost, 1, "%s %d", what, i)
					if lost > 0 && (what != "empty" || s.open == "log.ulg") {
						require.Error(t, part.noted(whole), "%s %d", what, i)
					}
				}
			}
		})
	}
}

// noted returns an error that names a note missing in another content, or nil.
func (c content) noted(other content) error {
	for name, n := range c.notes {
		if other.notes[name] < n {
			return errors.New(name)
		}
	}
	return nil
}

// emptied is an element without content: an empty line in a table, a message without bytes in a log.
func emptied(file string, element []byte) []byte {
	if file == "log.ulg" {
		return []byte{0, 0, element[2]}
	}
	return []byte("\n")
}

// shortened is an element that lacks its last value.
func shortened(file string, element []byte) []byte {
	if file == "log.ulg" {
		short := bytes.Clone(element[:len(element)-4])
		binary.LittleEndian.PutUint16(short, uint16(len(short)-3))
		return short
	}
	return append(bytes.Clone(element[:bytes.LastIndexAny(element, ", ")]), '\n')
}
