package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
)

// readers returns the values of --for.
func readers() (names []string) {
	for _, r := range convert.Readers() {
		names = append(names, r.Name)
	}
	return names
}

// fit adds findings to r about the content that a reader refuses or leaves out.
func (a *app) fit(ctx context.Context, name string, opt dataset.Options, path string, r *doctor.Report) error {
	reader := convert.Readers()[slices.Index(readers(), name)]
	target, err := a.targets[reader.Target]()
	if err != nil {
		return err
	}
	c, err := convert.New(ctx, []string{path}, filepath.Join(os.TempDir(), "unused"), target, convert.Options{Reading: opt})
	if err != nil {
		return readError(path, err)
	}
	defer c.Close()
	progress := a.Counting("checking episodes for "+name, c.Episodes(0))
	defer progress.Done()
	f, err := c.Check(ctx, reader, func() { progress.Add(1) })
	if err != nil {
		return readError(path, err)
	}
	r.AddMisfits(r.Checked.Paths[0].Path, f.Refused, f.LeftOut)
	return nil
}
