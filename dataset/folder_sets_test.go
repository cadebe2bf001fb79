package dataset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// A crate is a folder with a file "boxes", which says how many episodes there are as a box does.
func init() {
	dataset.Register(dataset.Format{
		Name: "crate", Extensions: []string{".crate"},
		Match: func(head []byte) bool { return len(head) > 4 && string(head[:4]) == "LIDc" },
		Folder: func(_ context.Context, path string) bool {
			_, err := os.Stat(filepath.Join(path, "boxes"))
			return err == nil
		},
		Open: func(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			if st, err := os.Stat(path); err == nil && st.IsDir() {
				d, err := openBox(ctx, filepath.Join(path, "boxes"), opt)
				if err == nil {
					d.(*box).path = path
				}
				return d, err
			}
			return openBox(ctx, path, opt)
		},
	})
}

func crate(t *testing.T, dir, name, text string) string {
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(path, 0o700))
	write(t, path, "boxes", text)
	return path
}

func namesOf(t *testing.T, d dataset.Dataset) (names []string) {
	for e, err := range dataset.Episodes(context.Background(), d) {
		if err != nil {
			names = append(names, "error")
			continue
		}
		names = append(names, e.Name)
	}
	assert.Len(t, names, d.Len())
	return names
}

func TestAFolderOfFoldersHasTheEpisodesOfEach(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	crate(t, dir, "demo_10", "BOXc1")
	crate(t, dir, "demo_2.5", "BOXc2") // which is no extension
	crate(t, dir, "demo_1", "BOXcmany")
	crate(t, dir, ".demo_0", "BOXc1")
	crate(t, dir, "plots/inner", "BOXc1") // too deep
	require.NoError(t, os.Symlink(filepath.Join(dir, "demo_10"), filepath.Join(dir, "demo_11")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "killed"), 0o700))
	write(t, filepath.Join(dir, "killed"), "killed_0.box", "BOXa1")
	write(t, filepath.Join(dir, "killed"), ".hidden.box", "BOXa1")
	write(t, filepath.Join(dir, "plots"), "a.note", "text")
	write(t, dir, "README", "of no format")
	write(t, dir, "convert.json", "{}") // as those of convert, which are passed over
	write(t, dir, "convert-00000-of-00003.json", "{}")
	write(t, dir, "3.crate", "LIDc1") // a file of the same format
	write(t, dir, "4.crate", "")
	d, err := dataset.Open(ctx, dir, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	assert.Equal(t, []string{"3/e0", "error", "error", "demo_2.5/e0", "demo_2.5/e1", "demo_10/e0", "demo_11/e0"}, namesOf(t, d))
	info := d.Info()
	assert.Equal(t, "README, killed/, plots/", info.Attributes["other files"])
	var problems []string
	for _, n := range info.Notes {
		if n.Code != dataset.CodeFileMissing {
			problems = append(problems, n.String())
		}
	}
	require.Len(t, problems, 3)
	assert.Contains(t, problems[0], "unreadable 4.crate: ")
	assert.Contains(t, problems[1], "demo_1: 1, box: ")
	assert.Equal(t, dataset.CodeFolderUnread.String()+" killed: 1, killed_0.box", problems[2])

	e, err := d.Episode(ctx, 6)
	require.NoError(t, err)
	frame, err := e.Media[0].Frame(ctx, 0)
	require.NoError(t, err)
	assert.Equal(t, "demo_110", string(frame))

	_, err = dataset.Open(ctx, dir, dataset.Options{Strict: true})
	assert.Error(t, err, "strict refuses the first that is broken")
}

func TestFoldersAreOpenedWhenTheyAreAskedForAndFewStayOpen(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	for i := range 20 {
		crate(t, dir, fmt.Sprintf("demo_%d", i), "BOXc1")
	}
	d, err := dataset.Open(ctx, dir, dataset.Options{})
	require.NoError(t, err)
	assert.Zero(t, openBoxes.Load())
	for range dataset.Episodes(ctx, d) {
		assert.LessOrEqual(t, openBoxes.Load(), int32(9))
	}
	assert.Positive(t, openBoxes.Load())
	require.NoError(t, d.Close())
	assert.Zero(t, openBoxes.Load())
}

func TestFilesAndFoldersOfSeveralFormatsAreRefused(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	crate(t, dir, "demo_1", "BOXc1")
	crate(t, dir, "demo_2", "BOXc1")
	write(t, dir, "a.note", "text") // lies beside recordings
	d, err := dataset.Open(ctx, dir, dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"demo_1/e0", "demo_2/e0"}, namesOf(t, d))
	require.NoError(t, d.Close())

	write(t, dir, "1.box", "BOXa1")
	_, err = dataset.Open(ctx, dir, dataset.Options{})
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "got a folder with recordings of several: 1 of box of apples, 2 of crate, want those of one in a folder")
}

func TestAFolderThatIsADatasetItselfIsNotLookedInto(t *testing.T) {
	dir := t.TempDir()
	crate(t, dir, "demo_1", "BOXc1")
	crate(t, dir, ".", "BOXc3")
	d, err := dataset.Open(context.Background(), dir, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	assert.Equal(t, []string{"e0", "e1", "e2"}, namesOf(t, d))
}

func TestAFolderOfFoldersOfFilesSaysThatTheseAreNotRead(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "task_a"), 0o700))
	write(t, filepath.Join(dir, "task_a"), "2.box", "BOXa1")
	write(t, filepath.Join(dir, "task_a"), "10.box", "BOXa1")
	_, err := dataset.Open(context.Background(), dir, dataset.Options{})
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, `in it "task_a", a folder in no known format, with recordings in it that are not read: 2.box, 10.box, want files or folders of one: `)
}
