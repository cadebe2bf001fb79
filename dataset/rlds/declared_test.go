package rlds

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
)

func TestFeaturesAreDeclaredByNameDTypeAndShape(t *testing.T) {
	s := open(t, folder(t, stepsOf(map[string]string{
		"action": array("float32", 3), "open": array("int8", -1, 2), "box": class("BBoxFeature", ""), "text": class("Text", ""), "touch": sequence(-1, array("float64", 2)), "fixed": sequence(4, array("bool")),
		"what": array("complex64"), "image": picture("uint8", "jpeg", -1, 5, 3), "video": class("Video", `,"video":{"dtype":"uint8","shape":`+dims([]int{9, 4, 5, 3})+`}`),
	}), 1, examples(1)), Options{})
	assert.Equal(t, []dataset.Feature{
		{Name: "action", DType: "float32", Shape: []int{3}},
		{Name: "box", DType: "float32", Shape: []int{4}, Names: []string{"ymin", "xmin", "ymax", "xmax"}},
		{Name: "fixed", DType: "bool", Shape: []int{4}},
		{Name: "image", DType: "uint8", Shape: []int{-1, 5, 3}, Media: true},
		{Name: "open", DType: "int8", Shape: []int{-1, 2}},
		{Name: "touch", DType: "float64", Shape: []int{2}},
		{Name: "video", DType: "uint8", Shape: []int{9, 4, 5, 3}, Media: true},
	}, s.Info().Features)
}

func TestNamesOfClassLabelsAreAttributes(t *testing.T) {
	features := plainWith("observation", dict(map[string]string{"mode": class("ClassLabel", `,"classLabel":{"numClasses":"3"}`), "kind": class("ClassLabel", `,"classLabel":{}`),
		"broken": class("ClassLabel", ``), "long": class("ClassLabel", ``)}))
	dir := write(t, map[string]string{infoFile: info(1), featuresFile: features, onlyShard: string(examples(1)), "steps-observation-mode.labels.txt": "open\r\n\n closed \n",
		"steps-observation-kind.labels.txt": "é", "steps-observation-broken.labels.txt": "\xff", "steps-observation-long.labels.txt": strings.Repeat("a", maxLabels+1), "steps-action.labels.txt": "none"})
	in := open(t, dir, Options{}).Info()
	assert.Equal(t, map[string]string{"version": "1.2.3", "steps-observation-mode.labels.txt": "open\nclosed", "steps-observation-kind.labels.txt": "é"}, in.Attributes)
	require.Len(t, in.Notes, 3)
	assert.Equal(t, dataset.Note{Code: dataset.CodeLabelCount, Subject: "steps-observation-mode.labels.txt", Count: 2, Detail: dataset.Detail{Of: 3}}, in.Notes[2])
	assert.Contains(t, in.Notes[0].Cause.Error(), "no UTF-8")
	assert.Contains(t, in.Notes[1].Cause.Error(), "at most 1048576")
}

// versioned makes folders below one, each a dataset of as many episodes as its number says.
func versioned(t *testing.T, folders ...string) string {
	root := t.TempDir()
	for i, name := range folders {
		dir := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		for file, text := range map[string]string{infoFile: info(i + 1), featuresFile: stepsOf(plainFeatures), onlyShard: string(examples(i + 1))} {
			filetest.Write(t, filepath.Join(dir, file), text)
		}
	}
	return root
}

func TestTheNewestVersionIsOpened(t *testing.T) {
	root := versioned(t, "1.9.0", "1.10.0", "0.1.0", "2.0", "other/3.0.0")
	require.NoError(t, os.Mkdir(filepath.Join(root, "9.0.0"), 0o700)) // which has no dataset in it
	assert.True(t, Folder(t.Context(), root))
	s := open(t, root, Options{Strict: true})
	assert.Equal(t, 2, s.Len())
	assert.Equal(t, "0.1.0, 1.9.0", s.Info().Attributes["other versions"])
	e := settest.Episode(t, s, 0)
	assert.Equal(t, filepath.Join(root, "1.10.0", onlyShard), e.Attributes.Source)
	d, err := dataset.Open(context.Background(), root, Options{})
	require.NoError(t, err)
	assert.Equal(t, 2, d.Len())
	require.NoError(t, d.Close())
	s = open(t, filepath.Join(root, "1.9.0"), Options{})
	assert.Equal(t, []any{1, ""}, []any{s.Len(), s.Info().Attributes["other versions"]})
}

func TestOfSeveralBuilderConfigsOneIsAskedFor(t *testing.T) {
	root := versioned(t, "push/1.0.0", "push/1.0.1")
	require.NoError(t, os.Mkdir(filepath.Join(root, "empty"), 0o700))
	assert.True(t, Folder(t.Context(), root))
	s := open(t, root, Options{})
	assert.Equal(t, []any{2, "1.0.0"}, []any{s.Len(), s.Info().Attributes["other versions"]})
	var names []string
	for i := range 22 {
		names = append(names, string(rune('a'+i))+"/1.0.0")
	}
	_, err := Open(context.Background(), versioned(t, names[:2]...), Options{})
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "got several datasets or builder configs: a, b, want the folder of one of them")
	slices.Sort(names)
	_, err = dataset.Open(context.Background(), versioned(t, names...), Options{})
	assert.ErrorContains(t, err, "s, t and 2 more")
	assert.False(t, Folder(t.Context(), filepath.Join(root, "empty")))
	root = versioned(t, "a/1.0.0")
	for i := range maxNames {
		require.NoError(t, os.Mkdir(filepath.Join(root, fmt.Sprint("episode_", i)), 0o700))
	}
	assert.False(t, Folder(t.Context(), root), "a folder of so many is another kind of dataset, which is not looked through")
}
