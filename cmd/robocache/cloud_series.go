package main

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/kitti"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/pcd"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// cloudReaders read the files with points that view shows, by format.
var cloudReaders = map[string]func(string, dataset.Options) (*dataset.Cloud, error){
	"pcd": pcd.ReadFile, "ply": ply.ReadFile, "npz": readArrays,
	"bin": func(path string, opt dataset.Options) (*dataset.Cloud, error) {
		return kitti.ReadFile(path, kitti.Options{Strict: opt.Strict})
	},
}

// readArrays reads an archive of voxelize: the points of a surface with normals and colours, or the middles of a grid's cells that are not 0,
// with their values.
func readArrays(path string, _ dataset.Options) (*dataset.Cloud, error) {
	f, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var shape []int // of the last array
	array := func(name string) (values []float64) {
		if err == nil && f.Has(name) {
			var t *tensor.Tensor
			if t, err = f.Tensor(name); err == nil {
				shape = t.Shape()
				values, err = tensor.Floats(t)
			}
		}
		return values
	}
	points := tensor.Cast[float32](array("points"))
	var features []float32
	var columns []dataset.Column
	var parts [][]float64
	for _, a := range [][]string{{"normals", "nx", "ny", "nz"}, {"colors", "red", "green", "blue"}} {
		if list := array(a[0]); list != nil && len(list) == len(points) {
			parts, columns = append(parts, list), append(columns, dataset.Column{Name: a[1]}, dataset.Column{Name: a[2]}, dataset.Column{Name: a[3]})
		}
	}
	for i := 0; parts != nil && i+3 <= len(points); i += 3 {
		for _, list := range parts {
			features = append(features, tensor.Cast[float32](list[i:i+3])...)
		}
	}
	lo, hi, grid := array("min"), array("max"), array("grid")
	if grid != nil && (f.Has("times") || len(shape) < 3 || len(grid) == 0 || len(lo) != 3 || len(hi) != 3) {
		return nil, &inputError{Path: path, Array: "grid", Got: "a batch, or no bounds", Want: "a grid [Z,Y,X] of one cloud, with min and max"}
	}
	if grid != nil {
		columns = []dataset.Column{{Name: "value"}}
		width := len(grid) / (shape[0] * shape[1] * shape[2])
		for i := 0; i < len(grid); i += width {
			if grid[i] == 0 {
				continue
			}
			features = append(features, float32(grid[i]))
			cell := i / width
			for k, at := range []int{cell % shape[2], cell / shape[2] % shape[1], cell / shape[2] / shape[1]} {
				points = append(points, float32(lo[k]+(float64(at)+0.5)*(hi[k]-lo[k])/float64(shape[2-k])))
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return dataset.NewCloud(points, features, columns)
}

// hasCells reports whether an archive has no streams, and may be a cloud.
func hasCells(path string) bool {
	f, err := npz.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return len(f.StreamNames()) == 0 && (f.Has("points") || f.Has("grid"))
}

// cloudSeries reads clouds from files, one cloud in each. It keeps the latest cloud, because the page requests it again with other fields.
// Nobody may write to a cloud.
type cloudSeries struct {
	paths []string
	opt   dataset.Options
	mu    sync.Mutex
	at    int
	cloud *dataset.Cloud // the cloud in paths[at]; nil before the first
}

func (s *cloudSeries) ReadCloud(_ context.Context, i int) (*dataset.Cloud, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cloud != nil && s.at == i {
		return s.cloud, nil
	}
	form, err := cloudFormat(s.paths[i], false)
	if err != nil {
		return nil, err
	}
	c, err := cloudReaders[form](s.paths[i], s.opt)
	if err == nil {
		s.at, s.cloud = i, c
	}
	return c, err
}

// openClouds returns a dataset with one episode, which has a cloud from each file, and reads the first cloud. The files are in the order of
// the timestamps in their names. If a name has no timestamp, they are in the order of their names and count as steps.
func openClouds(ctx context.Context, path, form string, files []string, opt dataset.Options) (dataset.Dataset, error) {
	times := make([]int64, len(files))
	slices.SortFunc(files, dataset.CompareNames)
	steps := len(files) > 1 && slices.ContainsFunc(files, func(file string) bool { return timeInName(file) == 0 })
	if !steps {
		slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(timeInName(a), timeInName(b)) })
	}
	for i, file := range files {
		if times[i] = timeInName(file); steps {
			times[i] = int64(i) * 1e9
		}
	}
	s := &cloudSeries{paths: files, opt: opt}
	first, err := s.ReadCloud(ctx, 0)
	if err != nil {
		return nil, err
	}
	return dataset.Single(form, path, func(context.Context) (*dataset.Episode, error) {
		e := &dataset.Episode{Name: dataset.BaseName(path), Steps: steps, Notes: first.Notes}
		e.Attributes.Source = path
		e.Clouds = []dataset.CloudStream{{Name: "points", Times: times, Source: s}}
		return e, nil
	}), nil
}

// nameTime matches the seconds since 1970 and their fraction at the end of a name: "1531883530.949", "LIDAR_TOP__1532402927647951".
var nameTime = regexp.MustCompile(`(?:^|\D)([1-9]\d{9})[._]?(\d{0,9})$`)

// timeInName returns the timestamp in a file's name, in nanoseconds since 1970; 0 if there is none.
func timeInName(path string) int64 {
	m := nameTime.FindStringSubmatch(strings.TrimSuffix(dataset.BaseName(path), ".pcd")) // nuScenes has .pcd.bin
	if m == nil {
		return 0
	}
	ns, _ := strconv.ParseInt(m[1]+(m[2] + "000000000")[:9], 10, 64) // 19 digits; 0 if they are too many
	return ns
}

// cloudFiles returns the files with points in a folder, and the format of the last one; both are empty if there are none.
func cloudFiles(ctx context.Context, folder string) (form string, files []string) {
	entries, _ := storage.ReadDir(ctx, folder) // the folder was read before
	for _, e := range entries {
		ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(e.Name)), ".")
		if e.IsRegular() && !strings.HasPrefix(e.Name, ".") && cloudReaders[ext] != nil {
			form, files = ext, append(files, storage.Join(folder, e.Name))
		}
	}
	return form, files
}
