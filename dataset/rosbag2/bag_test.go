package rosbag2_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/rosbag2"
	"github.com/robocache/robocache/internal/test/filetest"
)

// whole is the robot's recording in one file.
func whole(t *testing.T, n int) *dataset.Episode {
	path := filepath.Join(t.TempDir(), "run.db3")
	writeDB(t, path, schema{qos: true, distro: "humble"}, robot(n))
	return episode(t, path, dataset.Options{})
}

func namesIn(t *testing.T, dir string) (names []string) {
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestSchemasOfAllVersionsAreRead(t *testing.T) {
	want := whole(t, 8)
	for i, of := range []schema{{}, {qos: true}, {qos: true, distro: "jazzy"}, {compress: true}, {page: 512}, {page: 65536}} {
		path := filepath.Join(t.TempDir(), "run.db3")
		writeDB(t, path, of, robot(8))
		e := episode(t, path, dataset.Options{Strict: true})
		same(t, want, e, fmt.Sprint(i))
		why := dataset.CodeDefinitionsNewest
		if of.distro != "" {
			why = dataset.CodeDefinitionsAssumed
		}
		assert.NotNil(t, e.Notes.Find(why), "%v", e.Notes)
		assert.Equal(t, path, e.Attributes.Source)
		assert.Equal(t, "run", e.Name)
	}
	path := filepath.Join(t.TempDir(), "run.db3")
	writeDB(t, path, schema{qos: true, distro: "iron", definitions: definitions(t, false)}, robot(8))
	e := episode(t, path, dataset.Options{Strict: true})
	same(t, want, e, "definitions of its own")
	for _, code := range []dataset.Code{dataset.CodeDefinitionsAssumed, dataset.CodeDefinitionsNewest, dataset.CodeDefinitionsFitting, dataset.CodeDefinitionsUnfit} {
		assert.Nil(t, e.Notes.Find(code))
	}
}

func TestWhatTheRecorderLeftInItsLogIsRead(t *testing.T) {
	want := whole(t, 30)
	path := filepath.Join(t.TempDir(), "run", "run_0.db3")
	writeDB(t, path, schema{wal: true}, robot(30))
	before := namesIn(t, filepath.Dir(path))
	assert.Equal(t, []string{"run_0.db3", "run_0.db3-wal"}, before)
	for _, name := range []string{path, filepath.Dir(path)} {
		e := episode(t, name, dataset.Options{})
		assert.Empty(t, e.Notes.Damage())
		same(t, want, e, name)
	}
	assert.Equal(t, before, namesIn(t, filepath.Dir(path)), "nothing is written beside a recording")

	log := filetest.Read(t, path+"-wal")
	read := func(log []byte) *dataset.Episode {
		filetest.Write(t, path+"-wal", log)
		return episode(t, path, dataset.Options{})
	}
	all := count(want)
	cut := read(log[:len(log)*3/4])
	assert.Empty(t, cut.Notes.Damage(), "a transaction that did not end is none")
	require.NotNil(t, cut.Notes.Find(dataset.CodeTransactionOpen))
	assert.Equal(t, "run_0.db3-wal", cut.Notes.Find(dataset.CodeTransactionOpen).Subject)
	assert.InDelta(t, all*7/8, count(cut), 8)
	flipped := slices.Clone(log)
	flipped[len(log)/2] ^= 1
	e := read(flipped)
	assert.InDelta(t, all*3/4, count(e), 8, "what follows what is broken is not taken")
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, dataset.CodeWALBroken, e.Notes.Damage()[0].Code)
	flipped = slices.Clone(log)
	flipped[0] ^= 1
	e = read(flipped)
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, dataset.CodeWALBroken, e.Notes.Damage()[0].Code)
	assert.InDelta(t, all/2, count(e), 4)
	assert.InDelta(t, all/2, count(read(nil)), 4)
}

func TestAFolderIsOneEpisodeOfItsFilesInOrder(t *testing.T) {
	list := robot(40)
	want := whole(t, 40)
	for _, compressed := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		for i := range 11 { // run_10 after run_9
			n := len(list) / 11
			end := (i + 1) * n
			if i == 10 {
				end = len(list)
			}
			path := filepath.Join(dir, fmt.Sprintf("run_%d.db3", i))
			writeDB(t, path, schema{qos: true, distro: "humble"}, list[i*n:end])
			if compressed {
				data := filetest.Read(t, path)
				filetest.Write(t, path+".zstd", squeezed(t, data))
				require.NoError(t, os.Remove(path))
			}
		}
		temporary := t.TempDir()
		t.Setenv("TMPDIR", temporary)
		d, err := dataset.Open(t.Context(), dir, dataset.Options{Strict: true})
		require.NoError(t, err)
		assert.Equal(t, "rosbag2", d.Format())
		assert.Equal(t, "run", d.Name())
		for range 2 {
			e, err := d.Episode(t.Context(), 0)
			require.NoError(t, err)
			same(t, want, e, dir)
			for i := range e.Media[0].Times { // of all files, of which not all stay open
				_, err := e.Media[0].Frame(t.Context(), i)
				require.NoError(t, err)
			}
			require.Equal(t, want.Media[0].Times, e.Media[0].Times)
		}
		e, err := d.Episode(t.Context(), 0)
		require.NoError(t, err)
		require.NoError(t, d.Close())
		require.NoError(t, d.Close())
		assert.Empty(t, namesIn(t, temporary), "temporary files")
		_, err = e.Media[0].Frame(t.Context(), 0)
		assert.ErrorIs(t, err, dataset.ErrClosed)
		_, err = d.Episode(t.Context(), 0)
		assert.ErrorIs(t, err, dataset.ErrClosed)
		_, err = d.Episode(t.Context(), 1)
		assert.ErrorIs(t, err, dataset.ErrNotFound)
	}
}

func TestPiecesWithoutMetadataAreOneEpisodeOnlyIfTheyFollowEachOther(t *testing.T) {
	list := robot(10)
	half := len(list) / 2
	for _, c := range []struct {
		files    map[string][]sent
		episodes int
	}{
		{map[string][]sent{"run_0.db3": list[:half], "run_1.db3": list[half:]}, 1},
		{map[string][]sent{"run_0.mcap": list[:half], "run_1.mcap": list[half:]}, 1},
		{map[string][]sent{"run_0.mcap": list}, 1},
		{map[string][]sent{"run.db3": list}, 1},
		{map[string][]sent{"run_0.db3": list, "run_1.db3": list}, 2}, // of the same time
		{map[string][]sent{"run_0.db3": list[half:], "run_1.db3": list[:half]}, 2},
		{map[string][]sent{"run_0.mcap": list, "run_1.mcap": list}, 2},
		{map[string][]sent{"kitchen.db3": list[:half], "garden.db3": list[half:]}, 2},
	} {
		dir := t.TempDir()
		for name, part := range c.files {
			if strings.HasSuffix(name, ".mcap") {
				writeMCAP(t, filepath.Join(dir, name), part, definitions(t, false))
			} else {
				writeDB(t, filepath.Join(dir, name), schema{qos: true, distro: "humble"}, part)
			}
		}
		d, err := dataset.Open(t.Context(), dir, dataset.Options{Strict: true})
		require.NoError(t, err)
		require.Equal(t, c.episodes, d.Len(), "%v", c.files)
		if c.episodes == 1 {
			for range 2 { // what is read again is the same
				e, err := d.Episode(t.Context(), 0)
				require.NoError(t, err)
				same(t, whole(t, 10), e, dir)
				assert.Equal(t, len(c.files) > 1, e.Notes.Find(dataset.CodePiecesAssumed) != nil, "%v", e.Notes)
			}
		}
		require.NoError(t, d.Close())
	}
	dir := t.TempDir()
	writeDB(t, filepath.Join(dir, "stray.db3"), schema{}, list)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bag"), 0o777))
	d, err := dataset.Open(t.Context(), dir, dataset.Options{})
	if err == nil { // by whom it may be, but not as a bag
		assert.NotEqual(t, filepath.Base(dir), func() string { e, _ := d.Episode(t.Context(), 0); return e.Name }())
		require.NoError(t, d.Close())
	}
}

func TestAFileIsWhatItBeginsWith(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.db3")
	writeDB(t, path, schema{qos: true, distro: "humble"}, robot(4))
	data := filetest.Read(t, path)
	for name, b := range map[string][]byte{"stdin": data, "stdin.copy": squeezed(t, data)} {
		filetest.Write(t, filepath.Join(dir, name), b)
		same(t, whole(t, 4), episode(t, filepath.Join(dir, name), dataset.Options{Strict: true}), name)
	}
}

// metadataOf is metadata.yaml of some files, with as many messages as said.
func metadataOf(count int, files ...string) string {
	text := strings.Replace(someMetadata, "message_count: 19\n  topics", fmt.Sprintf("message_count: %d\n  topics", count), 1)
	before, after, _ := strings.Cut(text, "    - run_0.db3\n")
	for _, f := range files {
		before += "    - " + f + "\n"
	}
	return before + after
}

func TestMetadataSaysWhichFilesAndIsCheckedAgainstThem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bag")
	list := robot(6)
	half := len(list) / 2
	writeDB(t, filepath.Join(dir, "run_0.db3"), schema{qos: true}, list[:half])
	writeDB(t, filepath.Join(dir, "run_1.db3"), schema{qos: true}, list[half:])
	meta := func(text string) {
		filetest.Write(t, filepath.Join(dir, "metadata.yaml"), text)
	}
	open := func(opt dataset.Options) (dataset.Dataset, *dataset.Episode) {
		d, err := dataset.Open(t.Context(), dir, opt)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		e, err := d.Episode(t.Context(), 0)
		require.NoError(t, err)
		return d, e
	}

	meta(metadataOf(len(list), "bag/run_0.db3", "bag/run_1.db3.zstd")) // as old versions have them, and not compressed after all
	d, e := open(dataset.Options{})
	assert.Empty(t, d.Info().Notes)
	same(t, whole(t, 6), e, dir)
	count := dataset.Note{Code: dataset.CodeMessageCount, Subject: "/cmd_vel", Detail: dataset.Detail{Got: "6", Want: "3", Names: []string{"metadata.yaml"}}}
	assert.Equal(t, &count, e.Notes.Find(dataset.CodeMessageCount))
	assert.NotNil(t, e.Notes.Find(dataset.CodeTimeRange))

	meta(metadataOf(len(list), "run_0.db3", "run_1.db3") + "  custom_data:\n    operator: \"7\"\n  ros_distro: galactic\n")
	_, e = open(dataset.Options{})
	assert.Equal(t, map[string]string{"operator": "7", "ros_distro": "galactic"}, e.Attributes.Other)
	assert.Equal(t, "Galactic", e.Notes.Find(dataset.CodeDefinitionsAssumed).Got)

	meta(metadataOf(99, "run_0.db3", "gone.db3"))
	d, e = open(dataset.Options{})
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFileMissing, Subject: "gone.db3", Count: 1}, {Code: dataset.CodeFileUnlisted, Subject: "run_1.db3", Count: 1, Detail: dataset.Detail{Want: "metadata.yaml"}}},
		d.Info().Notes)
	assert.Contains(t, e.Notes, dataset.Note{Code: dataset.CodeMessageCount, Detail: dataset.Detail{Got: fmt.Sprint(half), Want: "99", Names: []string{"metadata.yaml"}}})
	_, err := dataset.Open(t.Context(), dir, dataset.Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrNotFound)

	meta(metadataOf(0, "gone.db3"))
	_, err = dataset.Open(t.Context(), dir, dataset.Options{})
	assert.ErrorIs(t, err, dataset.ErrNotFound)

	meta("rosbag2_bagfile_information:\n  version: [\n")
	d, e = open(dataset.Options{})
	require.Len(t, d.Info().Notes, 1)
	assert.Equal(t, []any{dataset.CodeUnreadable, "metadata.yaml"}, []any{d.Info().Notes[0].Code, d.Info().Notes[0].Subject})
	same(t, whole(t, 6), e, dir)
	_, err = dataset.Open(t.Context(), dir, dataset.Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
}

func TestABagWithoutMessagesIsAnEpisodeWithoutStreams(t *testing.T) {
	dir := t.TempDir()
	writeDB(t, filepath.Join(dir, "run_0.db3"), schema{qos: true, distro: "iron"}, nil)
	text := strings.ReplaceAll(metadataOf(0, "run_0.db3"), "1700000000000000000", fmt.Sprint(int64(math.MaxInt64)))
	filetest.Write(t, filepath.Join(dir, "metadata.yaml"), strings.ReplaceAll(text, "      message_count: 3\n", "      message_count: 0\n"))
	e := episode(t, dir, dataset.Options{Strict: true})
	assert.Empty(t, e.Streams)
	assert.Empty(t, e.Notes)
}

func TestABrokenFileOfABagCostsItself(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	list := robot(6)
	writeDB(t, filepath.Join(dir, "run_0.db3"), schema{qos: true}, list[:len(list)/2])
	filetest.Write(t, filepath.Join(dir, "run_1.db3"), "SQLite format 3\x00 and no more")
	e := episode(t, dir, dataset.Options{})
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, dataset.CodeFileLost, e.Notes.Damage()[0].Code)
	assert.Equal(t, filepath.Join(dir, "run_1.db3"), e.Notes.Damage()[0].Cause.(*dataset.FormatError).Path)
	assert.Equal(t, 3, e.Stream("/cmd_vel").Len())
	d, err := dataset.Open(t.Context(), dir, dataset.Options{Strict: true})
	require.NoError(t, err)
	_, err = d.Episode(t.Context(), 0)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	require.NoError(t, d.Close())

	require.NoError(t, os.Remove(filepath.Join(dir, "run_0.db3")))
	d, err = dataset.Open(t.Context(), dir, dataset.Options{})
	require.NoError(t, err)
	_, err = d.Episode(t.Context(), 0)
	assert.ErrorIs(t, err, dataset.ErrTruncated, "of a bag of no other file")
	require.NoError(t, d.Close())
}

func TestABrokenPageCostsItsMessages(t *testing.T) {
	db, _ := database(t, schema{qos: true, distro: "humble", page: 512}, robot(20))
	defer stored.clear()
	lost := 0
	for page := 512; page < len(db); page += 512 {
		broken := slices.Clone(db)
		clear(broken[page : page+512])
		stored.put("memory://bag/run.db3", broken)
		d, err := rosbag2.Open(t.Context(), "memory://bag/run.db3", dataset.Options{})
		require.NoError(t, err)
		e, err := d.Episode(t.Context(), 0)
		if err == nil && count(e) < 120 {
			lost++
			require.NotEmpty(t, e.Notes.Damage(), page)
			assert.Equal(t, 1, e.Notes.Damage()[0].Count, "%d: %v", page, e.Notes.Damage())
			if page == 2*512 {
				assert.Zero(t, count(e), "the root of the messages: %v", e.Notes.Damage())
				continue
			}
			// A page of the tree's middle has some leaves below it, one of a leaf some messages.
			assert.Greater(t, count(e), 60, "%d: %v", page, e.Notes.Damage())
		} else if err != nil {
			assert.Less(t, page, 8*512, "the schema, and the first pages of the tables: %v", err)
		}
		require.NoError(t, d.Close())
	}
	assert.Greater(t, lost, 30)
}

func TestABrokenCompressedFileGivesWhatIsBeforeThat(t *testing.T) {
	db, _ := database(t, schema{qos: true, distro: "humble", page: 512}, robot(200))
	small := squeezed(t, db)
	defer stored.clear()
	stored.put("memory://bag/run.db3.zstd", small[:len(small)*2/3])
	d, err := rosbag2.Open(t.Context(), "memory://bag/run.db3.zstd", dataset.Options{})
	require.NoError(t, err)
	e, err := d.Episode(t.Context(), 0)
	if err == nil {
		assert.Contains(t, fmt.Sprint(e.Notes.Damage()), dataset.CodeCompressionBroken.String())
	} else {
		assert.ErrorIs(t, err, dataset.ErrTruncated)
	}
	require.NoError(t, d.Close())
}

func TestAnEndOfTheContextIsItsError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db3")
	writeDB(t, path, schema{}, robot(3))
	d, err := dataset.Open(t.Context(), path, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = d.Episode(ctx, 0)
	assert.True(t, errors.Is(err, context.Canceled), "%v", err)
}

func TestOpenRefusesAnUnknownClock(t *testing.T) {
	_, err := rosbag2.Open(t.Context(), "there is none.db3", dataset.Options{Clock: "wall"})
	var e *dataset.OptionError
	require.ErrorAs(t, err, &e, "before the file is looked for")
	assert.Equal(t, dataset.OptionError{Arg: "Clock", Got: "wall", Want: "log or publish or header"}, *e)
}

// A database has one topic for all publishers, which the frames of their headers tell apart.
func TestTwoFramesInTurnAreTwoPublishers(t *testing.T) {
	for name, frame := range map[string]func(i int) string{
		"in turn": func(i int) string { return []string{"left", "right"}[i%2] },
		"one":     func(int) string { return "left" },
	} {
		var list []sent
		for i := range 40 {
			list = append(list, sent{"/pose", "geometry_msgs/PoseStamped", int64(1e18 + i*1e7), []any{header{0, 1, uint32(i), frame(i)}, 1., 2., 3., 0., 0., 0., 1.}})
		}
		path := filepath.Join(t.TempDir(), "run.db3")
		writeDB(t, path, schema{qos: true, distro: "humble"}, list)
		n := episode(t, path, dataset.Options{}).Notes.Find(dataset.CodePublishersAlternate)
		if name == "one" {
			assert.Nil(t, n)
			continue
		}
		require.NotNil(t, n)
		assert.Equal(t, []any{"/pose", 38, []string{"left", "right"}}, []any{n.Subject, n.Count, n.Names})
	}
}
