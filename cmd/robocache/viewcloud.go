package main

import (
	"context"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/pcd"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/inspection"
)

// openViewed opens what is to be looked at: a recording or dataset, or a file that is one point cloud.
func openViewed(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
	read := map[string]func(string, dataset.Options) (*dataset.Cloud, error){"pcd": pcd.ReadFile, "ply": ply.ReadFile}
	form, none := cloudFormat(path, false)
	if none != nil || read[form] == nil {
		d, err := inspection.Open(ctx, path, opt)
		if err != nil {
			return nil, readError(path, err)
		}
		return d, nil
	}
	cloud, err := read[form](path, opt)
	if err != nil {
		return nil, readError(path, err)
	}
	return dataset.Single(form, path, func(context.Context) (*dataset.Episode, error) {
		e := &dataset.Episode{Name: dataset.BaseName(path), Notes: cloud.Notes}
		e.Attributes.Source = path
		e.Clouds = []dataset.CloudStream{{Name: "points", Times: []int64{0}, Source: oneCloud{cloud}}}
		return e, nil
	}), nil
}

// oneCloud is a series of one cloud. It is read and not written, so all may have it.
type oneCloud struct{ cloud *dataset.Cloud }

func (o oneCloud) ReadCloud(context.Context, int) (*dataset.Cloud, error) { return o.cloud, nil }
