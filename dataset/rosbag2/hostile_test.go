package rosbag2_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/rosbag2"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/storage"
)

// memory is a store of files that a test has put there, by their URLs: "memory://bag/x.db3".
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
}

var stored = &memory{files: map[string][]byte{}}

func init() { storage.Register("memory", stored) }

func (m *memory) put(url string, data []byte) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[url] = data
	return url
}

func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.files)
}

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

func (m *memory) Open(_ context.Context, url string) (storage.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[url]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: url, Err: fs.ErrNotExist}
	}
	return memoryFile{bytes.NewReader(data)}, nil
}

func (m *memory) Stat(ctx context.Context, url string) (storage.Info, error) {
	m.mu.Lock()
	data, ok := m.files[url]
	m.mu.Unlock()
	if ok {
		return storage.Info{Name: storage.Base(url), Size: int64(len(data))}, nil
	}
	list, err := m.List(ctx, url, 0)
	if err == nil && len(list) == 0 {
		err = &fs.PathError{Op: "stat", Path: url, Err: fs.ErrNotExist}
	}
	return storage.Info{Name: storage.Base(url), Mode: fs.ModeDir}, err
}

func (m *memory) List(_ context.Context, url string, _ int) (list []storage.Info, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, data := range m.files {
		if rest, below := strings.CutPrefix(name, strings.TrimSuffix(url, "/")+"/"); below && !strings.Contains(rest, "/") {
			list = append(list, storage.Info{Name: rest, Size: int64(len(data))})
		}
	}
	return list, nil
}

// database returns a .db3 file, and its write-ahead log if there is one.
func database(t testing.TB, of schema, list []sent) (db, wal []byte) {
	path := filepath.Join(t.TempDir(), "run_0.db3")
	writeDB(t, path, of, list)
	db = filetest.Read(t, path)
	wal, _ = os.ReadFile(path + "-wal")
	return db, wal
}

func squeezed(t testing.TB, data []byte) []byte {
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return z.EncodeAll(data, nil)
}

const someMetadata = `rosbag2_bagfile_information:
  version: 5
  storage_identifier: sqlite3
  duration:
    nanoseconds: 190000000
  starting_time:
    nanoseconds_since_epoch: 1700000000000000000
  message_count: 19
  topics_with_message_count:
    - topic_metadata:
        name: /cmd_vel
        type: geometry_msgs/msg/Twist
        serialization_format: cdr
        offered_qos_profiles: "- history: 3\n  depth: 0"
      message_count: 3
  compression_format: ""
  compression_mode: ""
  relative_file_paths:
    - run_0.db3
  files:
    - path: run_0.db3
      starting_time:
        nanoseconds_since_epoch: 1700000000000000000
      duration:
        nanoseconds: 190000000
      message_count: 19
`

func TestRowsThatShareAChainOfPagesAreNotReadManyTimes(t *testing.T) {
	// The usable bytes of a page, and the sizes of rows that leave as many bytes on the leaf: each row ends with the page on which its chain begins.
	const page, rows = 512, 100
	local := func(size int) int { return (page-12)*32/255 - 23 + (size-(page-12)*32/255+23)%(page-4) }
	var list []sent // from time 2 on, as SQLite has an integer of 1 without a byte
	for i := range rows {
		data := make([]byte, 17_000)
		if i == 0 {
			data = make([]byte, 17_000+2000*(page-4))
		}
		list = append(list, sent{"/camera", "sensor_msgs/CompressedImage", int64(i + 2), []any{header{0, 1, 2, "base"}, "jpeg", data}})
	}
	db, _ := database(t, schema{page: page}, list)
	var first, long []byte // the chain of the first row, and its size
	shared := 0
	for at := page; at < len(db); at += page {
		leaf := db[at:][:page]
		count := int(binary.BigEndian.Uint16(leaf[3:]))
		if leaf[0] != 13 || count == 0 || 8+2*count > page {
			continue
		}
		for i := range count {
			cell := leaf[binary.BigEndian.Uint16(leaf[8+2*i:]):]
			size := int(cell[0]&127)<<14 | int(cell[1]&127)<<7 | int(cell[2])
			if cell[0] < 128 || cell[1] < 128 || cell[2] >= 128 || size < 17_000 || 3+1+local(size)+4 > len(cell) {
				continue // of another table
			}
			chain := cell[4+local(size):][:4]
			if size > 1e6 {
				first, long = chain, cell[:3]
				continue
			}
			require.Equal(t, local(size+2000*(page-4)), local(size))
			copy(cell, long)
			copy(chain, first)
			shared++
		}
	}
	require.Equal(t, rows-1, shared)
	defer stored.clear()
	d, err := rosbag2.Open(t.Context(), stored.put("memory://bag/run.db3", db), dataset.Options{})
	require.NoError(t, err)
	e, err := d.Episode(t.Context(), 0)
	require.NoError(t, err)
	require.NotEmpty(t, e.Notes.Damage())
	lost := 0
	for _, damage := range e.Notes.Damage() {
		if damage.Code == dataset.CodePageUnreadable {
			lost += damage.Count
		}
	}
	assert.Positive(t, lost, "%v", e.Notes.Damage())
	assert.LessOrEqual(t, e.Media[0].Len(), len(db)/1_000_000, "so many as the file's pages can be")
	require.NoError(t, d.Close())
}

// seeds are files by their names in a bag's folder.
func seeds(t testing.TB) (list []mutate.Seed) {
	add := func(name string, data []byte) { list = append(list, mutate.Seed{Name: name, Data: data}) }
	small := schema{qos: true, distro: "humble", page: 512}
	db, _ := database(t, small, robot(3))
	add("run_0.db3", db)
	add("run_0.db3.zstd", squeezed(t, db))
	small.compress, small.distro = true, ""
	db, _ = database(t, small, robot(3))
	add("run_0.db3", db)
	db, wal := database(t, schema{wal: true, page: 512}, robot(2))
	require.NotEmpty(t, wal)
	add("run_0.db3", db)
	add("run_0.db3-wal", wal)
	add("metadata.yaml", []byte(someMetadata))
	return list
}

// read reads a folder of files, and fails the test for what no reader may do.
func read(t *testing.T, files map[string][]byte) (whole bool) {
	for name, data := range files {
		stored.put("memory://bag/"+name, data)
	}
	defer stored.clear()
	for _, opt := range []dataset.Options{{Strict: true}, {}} {
		var wrong error
		whole, wrong = mutate.Read(func(opt dataset.Options) (dataset.Dataset, error) {
			return rosbag2.Open(context.Background(), "memory://bag", opt)
		}, opt)
		if wrong != nil {
			t.Fatal(wrong)
		}
	}
	return whole
}

func TestMutantsDoNoHarm(t *testing.T) {
	db, _ := database(t, schema{qos: true, distro: "humble", page: 512}, robot(3))
	words := []string{"&a ", "*a", "[", "{", "- ", ": ", "\n", "|", "!!binary ", "9223372036854775808", "run_0.db3", "..", "<<: *a"}
	odd := filetest.Read(t, "testdata/columns.db3")
	files := append(seeds(t)[:5:5], mutate.Seed{Name: "run_0.db3", Data: odd})
	for name, plan := range map[string]mutate.Plan{"files": {Seeds: files, Few: 300}, "metadata": {Seeds: seeds(t)[5:], Words: words, Few: 300}} {
		t.Run(name, func(t *testing.T) {
			plan.Most = 64 << 20
			plan.Try = func(m mutate.Mutant) {
				files := map[string][]byte{m.Seed.Name: m.Data}
				switch m.Seed.Name {
				case "metadata.yaml":
					files["run_0.db3"] = db
				case "run_0.db3-wal":
					files["run_0.db3"] = plan.Seeds[3].Data
				}
				read(t, files)
			}
			mutate.Run(t, plan)
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range seeds(f)[:3] {
		f.Add(s.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := "run_0.db3"
		if bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")) {
			name += ".zstd"
		}
		read(t, map[string][]byte{name: data})
	})
}

func FuzzMetadata(f *testing.F) {
	db, _ := database(f, schema{qos: true, distro: "humble", page: 512}, robot(3))
	f.Add([]byte(someMetadata))
	f.Fuzz(func(t *testing.T, data []byte) { read(t, map[string][]byte{"run_0.db3": db, "metadata.yaml": data}) })
}

// count returns the messages of an episode's streams of numbers, by one stream of each topic.
func count(e *dataset.Episode) (n int) {
	for _, name := range []string{"/cmd_vel", "/pose", "/joint_states.position", "/imu", "/odom", "/flag"} {
		if s := e.Stream(name); s != nil {
			n += s.Len()
		}
	}
	return n
}

func TestACutDatabaseGivesWhatIsWholeAndSaysWhatIsNot(t *testing.T) {
	db, _ := database(t, schema{qos: true, distro: "humble", page: 512}, robot(20))
	want := 6 * 20
	defer stored.clear()
	for at := 0; at < len(db); at += 64 {
		stored.put("memory://bag/run.db3", db[:at])
		d, err := rosbag2.Open(context.Background(), "memory://bag/run.db3", dataset.Options{})
		require.NoError(t, err)
		e, err := d.Episode(context.Background(), 0)
		if err != nil {
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad, at)
			require.NotNil(t, bad.Kind)
			assert.Less(t, at, 9*512, "messages can be reached from here on: %v", err)
		} else {
			assert.NotNil(t, e.Notes.Find(dataset.CodeFileShort), at)
			got := count(e)
			assert.LessOrEqual(t, got, want)
			assert.GreaterOrEqual(t, got, want*(at-9*512)/len(db), "pages are in the order of their messages: at %d", at)
		}
		require.NoError(t, d.Close())
		d, err = rosbag2.Open(context.Background(), "memory://bag/run.db3", dataset.Options{Strict: true})
		require.NoError(t, err)
		_, err = d.Episode(context.Background(), 0)
		require.Error(t, err, at)
		require.NoError(t, d.Close())
	}
}

// A tag is what the YAML library falls over.
func TestMetadataWithTagsIsReadOrRefused(t *testing.T) {
	db, _ := database(t, schema{qos: true}, robot(1))
	for _, tag := range []string{"!!seq", "!!x b", "!!null", "! null", "&x", "*x", "!!map {a: 1}", "!!binary x"} {
		for _, key := range []string{"relative_file_paths", "files", "topics_with_message_count", "duration", "storage_identifier", "ros_distro"} {
			read(t, map[string][]byte{"run_0.db3": db, "metadata.yaml": []byte("rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: sqlite3\n  " + key + ": " + tag + "\n")})
		}
	}
}

func TestDeepMetadataDoesNoHarm(t *testing.T) {
	db, _ := database(t, schema{qos: true}, robot(1))
	for _, open := range []string{"[", "{a: ", "- ", "? ", "&a [*a, "} {
		text := "rosbag2_bagfile_information: " + strings.Repeat(open, 100_000)
		read(t, map[string][]byte{"run_0.db3": db, "metadata.yaml": []byte(text)})
		read(t, map[string][]byte{"run_0.db3": db, "metadata.yaml": []byte(strings.ReplaceAll(someMetadata, "storage_identifier: sqlite3", "custom_data: "+text[30:]))})
	}
}
