package rlds

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/storage"
)

// versionName matches a version's folder name in TensorFlow Datasets.
var versionName = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// Folder reports whether a folder is a dataset: one version, or a folder with versions, or a folder with builder configs that have
// versions.
func Folder(ctx context.Context, path string) bool {
	return isVersion(ctx, path) || len(versions(ctx, path)) > 0 || len(configs(ctx, path)) > 0
}

// isVersion recognises a version's folder: it has dataset_info.json and features.json, or record files.
func isVersion(ctx context.Context, path string) bool {
	if st, err := storage.Stat(ctx, path); err != nil || !st.IsDir() {
		return false
	}
	list, err := storage.ReadNames(ctx, path, -1)
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

// maxNames limits the names in a folder with versions or builder configs. A folder with more is something else, such as a folder with a
// subfolder per episode, and searching each would be slow.
const maxNames = 1000

// namesIn lists a folder if it has few names.
func namesIn(ctx context.Context, path string) []storage.Info {
	if st, err := storage.Stat(ctx, path); err != nil || !st.IsDir() { // opening a pipe would wait for a writer
		return nil
	}
	list, err := storage.ReadNames(ctx, path, maxNames+1)
	if err != nil || len(list) > maxNames {
		return nil
	}
	slices.SortFunc(list, func(a, b storage.Info) int { return dataset.CompareNames(a.Name, b.Name) })
	return list
}

// versions returns the versions below a folder, the oldest first.
func versions(ctx context.Context, path string) (names []string) {
	for _, f := range namesIn(ctx, path) {
		if versionName.MatchString(f.Name) && !f.IsRegular() && isVersion(ctx, storage.Join(path, f.Name)) {
			names = append(names, f.Name)
		}
	}
	return names
}

// configs returns the subfolders that have versions: a dataset's builder configs, or datasets.
func configs(ctx context.Context, path string) (names []string) {
	list := slices.DeleteFunc(namesIn(ctx, path), func(f storage.Info) bool { return f.IsRegular() || strings.HasPrefix(f.Name, ".") })
	n := storage.AtOnce(path)
	for i, some := range inorder.Each(ctx, len(list), n, n, func(bool) int { return n }, func(ctx context.Context, i int) bool {
		return len(versions(ctx, storage.Join(path, list[i].Name))) > 0
	}) {
		if some {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// newest returns the folder of the newest version at or below a folder, and the names of the other versions.
func newest(ctx context.Context, path string) (dir string, others []string, err error) {
	if isVersion(ctx, path) {
		return path, nil, nil
	}
	names := versions(ctx, path)
	if len(names) == 0 {
		list := configs(ctx, path)
		switch len(list) {
		case 0:
			return path, nil, nil // opening it reports the errors
		case 1:
			return newest(ctx, storage.Join(path, list[0]))
		}
		return "", nil, formatError(dataset.ErrUnsupported, path, -1, "dataset", "several datasets or builder configs: "+text.Names(list), "the folder of one of them")
	}
	last := len(names) - 1
	return storage.Join(path, names[last]), names[:last], nil
}
