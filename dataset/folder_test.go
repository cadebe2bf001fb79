package dataset_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/fault"
)

// box is a format for tests: "BOX", a letter that says what is inside, and how many episodes there are. Each has a media stream of one frame.
type box struct {
	path  string
	count int
	info  dataset.Info
	open  bool
}

var openBoxes, boxesOpened atomic.Int32

func openBox(_ context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &box{path: path, open: true}
	if b.count, err = strconv.Atoi(string(text[min(4, len(text)):])); err != nil {
		return nil, &dataset.FormatError{Format: "box", Path: path, Offset: 4, Kind: dataset.ErrCorrupt, Msg: "count", Err: err}
	}
	if err := b.info.ChooseRate(opt.Rate, 10, 0); err != nil {
		return nil, err
	}
	b.info.Frames, b.info.Tasks = b.count, []string{"carry", dataset.BaseName(path)}
	b.info.Attributes = map[string]string{"robot": "arm", "file": path}
	b.info.Splits = []dataset.Split{{Name: "last", Episodes: []int{b.count - 1}}}
	b.info.Notes = dataset.Notes{{Code: dataset.CodeFileMissing, Subject: "lid"}}
	openBoxes.Add(1)
	boxesOpened.Add(1)
	return b, nil
}

func (b *box) Name() string       { return dataset.BaseName(b.path) }
func (b *box) Format() string     { return "box" }
func (b *box) Info() dataset.Info { return b.info }
func (b *box) Len() int           { return b.count }
func (b *box) Close() error {
	if b.open {
		openBoxes.Add(-1)
	}
	b.open = false
	return nil
}

func (b *box) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	return &dataset.Episode{Name: fmt.Sprint("e", i), Media: []dataset.Media{{Name: "m", Times: []int64{0}, Source: boxFrame{b, i}}},
		Clouds: []dataset.CloudStream{{Name: "c", Times: []int64{0}, Source: boxFrame{b, i}}}}, nil
}

type boxFrame struct {
	b *box
	i int
}

func (f boxFrame) ReadFrame(context.Context, int) ([]byte, error) {
	if !f.b.open {
		return nil, dataset.ErrClosed
	}
	return fmt.Append(nil, f.b.Name(), f.i), nil
}

func (f boxFrame) ReadCloud(context.Context, int) (*dataset.Cloud, error) {
	if !f.b.open {
		return nil, dataset.ErrClosed
	}
	return dataset.NewCloud([]float32{float32(f.i), 0, 0}, nil, nil)
}

func init() {
	match := func(head []byte) bool { return bytes.HasPrefix(head, []byte("BOX")) }
	holds := func(letter byte) func(context.Context, string) (bool, error) {
		return func(_ context.Context, path string) (bool, error) {
			text, err := os.ReadFile(path)
			if err == nil && len(text) < 4 {
				err = &dataset.FormatError{Format: "box", Path: path, Kind: dataset.ErrTruncated, Msg: "letter"}
			}
			return err == nil && text[3] == letter, err
		}
	}
	dataset.Register(dataset.Format{Name: "a box of anything", Match: match, Open: openBox})
	dataset.Register(dataset.Format{Name: "box of apples", Extensions: []string{".box"}, Match: match, Inside: holds('a'), Open: openBox})
	dataset.Register(dataset.Format{Name: "box of pears", Match: match, Inside: holds('p'), Open: openBox})
}

func write(t *testing.T, dir, name, text string) string {
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestWhatSharesAContainerIsToldApartInside(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"BOXa1": "box of apples", "BOXp1": "box of pears", "BOXx1": "a box of anything", "BOX": "a box of anything"} {
		f, err := dataset.Recognise(t.Context(), write(t, dir, "a", text))
		require.NoError(t, err)
		assert.Equal(t, want, f.Name)
	}
	_, err := dataset.Recognise(t.Context(), write(t, dir, "a", "sack"))
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}

func TestAFolderHasTheEpisodesOfAllItsFiles(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	for i := range 12 {
		write(t, dir, fmt.Sprintf("part_%d", i), fmt.Sprintf("BOXa%d", i%3+1))
	}
	write(t, dir, "part_4", "BOX")      // broken: nothing says of what it is
	write(t, dir, "part_5", "BOXamany") // broken, and known
	write(t, dir, "notes.txt", "of another format")
	d, err := dataset.Open(ctx, dir, dataset.Options{})
	require.NoError(t, err)
	var names []string
	var all []*dataset.Episode
	for e, err := range dataset.Episodes(ctx, d) {
		if err != nil {
			names = append(names, "broken")
			continue
		}
		names = append(names, e.Name)
		all = append(all, e)
		assert.LessOrEqual(t, openBoxes.Load(), int32(9), "files that are open")
	}
	assert.Equal(t, "part_0/e0 part_1/e0 part_1/e1 part_2/e0 part_2/e1 part_2/e2 part_3/e0 broken broken part_6/e0 part_7/e0 part_7/e1 part_8/e0 part_8/e1 "+
		"part_8/e2 part_9/e0 part_10/e0 part_10/e1 part_11/e0 part_11/e1 part_11/e2", strings.Join(names, " "))
	assert.Equal(t, len(names), d.Len())

	info := d.Info()
	assert.Equal(t, "box", d.Format())
	assert.Equal(t, [2]any{10.0, "file"}, [2]any{info.Rate, info.RateFrom})
	assert.Equal(t, 4*1+3*2+3*3, info.Frames)
	assert.Equal(t, map[string]string{"robot": "arm", "other files": "notes.txt"}, info.Attributes, "what all say")
	assert.Len(t, info.Tasks, 11)
	assert.Equal(t, []int{0, 2, 5, 6, 9, 11, 14, 15, 17, 20}, info.Splits[0].Episodes)
	require.Len(t, info.Notes, 12)
	assert.Equal(t, dataset.Note{Code: dataset.CodeFileMissing, Subject: "part_0: lid"}, info.Notes[0])
	assert.Equal(t, []any{dataset.CodeUnreadable, "part_5"}, []any{info.Notes[5].Code, info.Notes[5].Subject})
	assert.Contains(t, info.Notes[5].Cause.Error(), "count: corrupt")

	opened := boxesOpened.Load()
	for _, e := range all { // although most files were closed since
		frame, err := e.Media[0].Frame(ctx, 0)
		require.NoError(t, err)
		part, number, _ := strings.Cut(e.Name, "/")
		assert.Equal(t, part+number[1:], string(frame))
		cloud, err := e.Clouds[0].Cloud(ctx, 0)
		require.NoError(t, err)
		lo, _, _ := cloud.Bounds()
		assert.Equal(t, number[1:], fmt.Sprint(lo[0]))
		assert.LessOrEqual(t, openBoxes.Load(), int32(9))
	}
	assert.LessOrEqual(t, boxesOpened.Load()-opened, int32(10), "each once")
	require.NoError(t, d.Close())
	assert.Zero(t, openBoxes.Load())
	_, err = all[0].Media[0].Frame(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	_, err = all[0].Clouds[0].Cloud(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	_, err = d.Episode(ctx, d.Len())
	assert.ErrorIs(t, err, dataset.ErrNotFound)
}

func TestAFolderOfSeveralFormatsIsRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1", "BOXa1")
	write(t, dir, "2", "BOXp1")
	_, err := dataset.Open(context.Background(), dir, dataset.Options{})
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "1 of box of apples, 1 of box of pears")
	require.NoError(t, os.Remove(filepath.Join(dir, "2")))
	_, err = dataset.Open(context.Background(), dir, dataset.Options{Rate: -1})
	assert.ErrorIs(t, err, dataset.ErrOption, "it is wrong for every file")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = dataset.Open(ctx, dir, dataset.Options{})
	assert.True(t, errors.Is(err, context.Canceled))
}

func TestFilesOfAFolderThatCannotBeReadAreEpisodesThatAreErrors(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	write(t, dir, "1.box", "BOXa1")
	write(t, dir, "2.box", "")     // empty
	write(t, dir, "3.box", "sack") // its beginning is broken
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "4.box")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "notes")))
	write(t, dir, "5 of\nfive.BOX", "BOXa1")
	write(t, dir, "._1.box", "of another system")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "6.box"), 0o700))
	write(t, dir, "notes.txt", "")
	d, err := dataset.Open(ctx, dir, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	var got []string
	for e, err := range dataset.Episodes(ctx, d) {
		if err != nil {
			got = append(got, "error")
			continue
		}
		got = append(got, e.Name)
	}
	assert.Equal(t, []string{"1/e0", "error", "error", "error", "5 of\nfive/e0"}, got)
	_, err = d.Episode(ctx, 3)
	assert.ErrorIs(t, err, os.ErrNotExist)
	var where []string
	for _, n := range d.Info().Notes {
		where = append(where, n.Subject)
	}
	assert.Equal(t, []string{"1.box: lid", "2.box", "3.box", "4.box", "5 of\nfive.BOX: lid"}, where)

	_, err = dataset.Open(ctx, dir, dataset.Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrCorrupt, "strict refuses the first")
}

func TestAFolderOfWhichNothingCanBeReadSaysWhy(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	_, err := dataset.Open(context.Background(), dir, dataset.Options{})
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, `folders in it that are none, such as "a", are not looked into`)
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "1.box")))
	_, err = dataset.Open(context.Background(), dir, dataset.Options{})
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestWhatAFolderSaysOfItselfIsTheCallers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1", "BOXa1")
	d, err := dataset.Open(context.Background(), dir, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	info := d.Info()
	info.Tasks[0], info.Attributes["robot"], info.Notes[0].Subject = "", "", ""
	assert.Equal(t, "carry", d.Info().Tasks[0])
	assert.Equal(t, "arm", d.Info().Attributes["robot"])
	assert.Equal(t, "1: lid", d.Info().Notes[0].Subject)
}

func TestNamesAreOfOneOrderOnly(t *testing.T) {
	names := []string{"", "a", "a01", "a1", "a1b", "a2", "a10", "b"}
	for i, a := range names {
		for k, b := range names {
			assert.Equal(t, cmp.Compare(i, k), cmp.Compare(dataset.CompareNames(a, b), 0), "%q %q", a, b)
		}
	}
}

func TestFilesOfAFolderAreOpenedAtTheSameTimeAndEachOnce(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	const files = 4
	for i := range files {
		write(t, dir, fmt.Sprint(i), "SLOW")
	}
	var all sync.WaitGroup
	var slowly atomic.Bool
	var opened atomic.Int32
	all.Add(files)
	dataset.Register(dataset.Format{
		Name: "slow box", Match: func(head []byte) bool { return string(head) == "SLOW" },
		Open: func(_ context.Context, path string, _ dataset.Options) (dataset.Dataset, error) {
			if slowly.Load() {
				opened.Add(1)
				all.Done()
				all.Wait() // for the other files
			}
			return &box{path: path, count: 2}, nil
		},
	})
	d, err := dataset.Open(ctx, dir, dataset.Options{})
	require.NoError(t, err)
	slowly.Store(true)
	n := 0
	for e, err := range dataset.Parallel(ctx, d, 2*files) {
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%d/e%d", n/2, n%2), e.Name)
		n++
	}
	assert.Equal(t, [2]int{2 * files, files}, [2]int{n, int(opened.Load())})
	require.NoError(t, d.Close())
}

func TestWhoGivesUpOpeningAFileIsNoErrorOfOthers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1", "GIVE UP")
	began := make(chan struct{}, 2)
	var waits atomic.Bool
	dataset.Register(dataset.Format{
		Name: "box that waits", Match: func(head []byte) bool { return string(head) == "GIVE UP" },
		Open: func(ctx context.Context, path string, _ dataset.Options) (dataset.Dataset, error) {
			if waits.CompareAndSwap(true, false) {
				began <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &box{path: path, count: 1}, nil
		},
	})
	d, err := dataset.Open(context.Background(), dir, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	waits.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	var both sync.WaitGroup
	both.Go(func() {
		_, err := d.Episode(ctx, 0)
		assert.ErrorIs(t, err, context.Canceled)
	})
	<-began
	both.Go(func() {
		_, err := d.Episode(context.Background(), 0)
		assert.NoError(t, err)
	})
	cancel()
	both.Wait()
}

func TestAFileOfAFolderThatMayNotBeReadEndsTheFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1.box", "BOXa1")
	write(t, dir, "2.box", "BOXa1")
	write(t, dir, "notes", "")
	for _, name := range []string{"1.box", "2.box"} {
		restore := fault.Inject(func(op, path string) error {
			if op == "open" && filepath.Base(path) == name {
				return syscall.EACCES
			}
			return nil
		})
		d, err := dataset.Open(context.Background(), dir, dataset.Options{})
		if err == nil {
			for i := range d.Len() {
				_, failed := d.Episode(context.Background(), i)
				err = errors.Join(err, failed)
			}
			require.NoError(t, d.Close())
		}
		restore()
		assert.ErrorIs(t, err, os.ErrPermission, name)
		assert.ErrorContains(t, err, name)
		assert.True(t, dataset.IsSystem(err), name)
	}
}
