package rlds

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/listed"
	"github.com/robocache/robocache/storage"
)

// versionName is what TensorFlow Datasets calls the folder of a version.
var versionName = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// Folder tells a folder of a dataset: that of a version, or one that has these below it, or builder configs that have.
func Folder(path string) bool {
	return isVersion(path) || len(versions(path)) > 0 || len(configs(path)) > 0
}

// isVersion tells the folder of a version: it has dataset_info.json and features.json, or files of records.
func isVersion(path string) bool {
	if st, err := storage.Stat(context.Background(), path); err != nil || !st.IsDir() {
		return false
	}
	list, err := storage.ReadNames(context.Background(), path, -1)
	if err != nil {
		return false
	}
	var info, features bool
	for _, f := range list {
		if f.IsDir() {
			continue
		}
		if strings.Contains(f.Name, ".tfrecord") {
			return true
		}
		info, features = info || f.Name == infoFile, features || f.Name == featuresFile
	}
	return info && features
}

// maxNames is how many names a folder of versions may have, and a folder of builder configs: others are of another kind, with a folder an episode, say,
// and looking into each would take long.
const maxNames = 1000

// namesIn lists a folder, if it has few names.
func namesIn(path string) []storage.Info {
	if st, err := storage.Stat(context.Background(), path); err != nil || !st.IsDir() { // to open a pipe would wait for who writes it
		return nil
	}
	list, err := storage.ReadNames(context.Background(), path, maxNames+1)
	if err != nil || len(list) > maxNames {
		return nil
	}
	slices.SortFunc(list, func(a, b storage.Info) int { return dataset.CompareNames(a.Name, b.Name) })
	return list
}

// versions returns the versions below a folder, the oldest first.
func versions(path string) (names []string) {
	for _, f := range namesIn(path) {
		if versionName.MatchString(f.Name) && !f.IsRegular() && isVersion(storage.Join(path, f.Name)) {
			names = append(names, f.Name)
		}
	}
	return names
}

// configs returns the folders below a folder that have versions: builder configs of a dataset, or datasets.
func configs(path string) (names []string) {
	list := slices.DeleteFunc(namesIn(path), func(f storage.Info) bool { return f.IsRegular() || strings.HasPrefix(f.Name, ".") })
	n := storage.AtOnce(path)
	for i, some := range inorder.Each(context.Background(), len(list), n, n, func(bool) int { return n }, func(_ context.Context, i int) bool {
		return len(versions(storage.Join(path, list[i].Name))) > 0
	}) {
		if some {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// newest returns the folder of the newest version at or below a folder, and which others there are beside it.
func newest(path string) (dir string, others []string, err error) {
	if isVersion(path) {
		return path, nil, nil
	}
	names := versions(path)
	if len(names) == 0 {
		list := configs(path)
		switch len(list) {
		case 0:
			return path, nil, nil // what is wrong with it is told when it is opened
		case 1:
			return newest(storage.Join(path, list[0]))
		}
		return "", nil, formatError(dataset.ErrUnsupported, path, -1, "dataset", "several datasets or builder configs: "+listed.Names(list), "the folder of one of them")
	}
	last := len(names) - 1
	return storage.Join(path, names[last]), names[:last], nil
}
