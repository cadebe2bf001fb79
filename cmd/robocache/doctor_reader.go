package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/doctor"
)

// readers returns the values of --for.
func readers() (names []string) {
	for _, r := range convert.Readers() {
		names = append(names, r.Name)
	}
	return names
}

// fit adds findings to r about the content that the reader of --for refuses or leaves out.
func (a *app) fit(ctx context.Context, p *physician, path string, r *doctor.Report) error {
	reader := convert.Readers()[slices.Index(readers(), p.reader)]
	make, known := a.targets[reader.Target]
	if !known {
		return usagef("--for: got %q, and convert has no --to %s", p.reader, reader.Target)
	}
	target, err := make()
	if err != nil {
		return err
	}
	c, err := convert.New(ctx, []string{path}, filepath.Join(os.TempDir(), "unused"), target, convert.Options{Reading: p.opt})
	if err != nil {
		return readError(path, err)
	}
	defer c.Close()
	progress := a.Counting("checking episodes for "+p.reader, c.Episodes(0))
	defer progress.Done()
	f, err := c.Check(ctx, reader, func() { progress.Add(1) })
	if err != nil {
		return readError(path, err)
	}
	r.AddMisfits(r.Checked.Paths[0].Path, f.Refused, f.LeftOut)
	return nil
}
