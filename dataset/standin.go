package dataset

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
)

// standIns are files that replace others, by their first bytes in lower case.
var standIns = []struct{ begin, what string }{
	{"version https://git-lfs", "a pointer of Git LFS stands for the file, which was not fetched"},
	{"/annex/objects/", "a pointer of git-annex stands for the file, which was not fetched"},
	{"<!doctype html", webPage},
	{"<html", webPage},
}

const webPage = "a web page stands for the file: a server answered the download with it"

// StandIn improves an error about a file that is not the recording itself but a Git LFS or git-annex pointer, a web page or empty.
// It returns a *FormatError that names the replacement; any other err is returned unchanged. path is the file if err does not name
// it.
func StandIn(ctx context.Context, err error, path string) error {
	var bad *FormatError
	if !errors.As(err, &bad) {
		return err
	}
	named := &FormatError{Format: bad.Format, Path: cmp.Or(bad.Path, path), Kind: ErrCorrupt, Msg: "file"}
	head, failed := headOf(ctx, named.Path)
	if failed != nil {
		return err
	}
	text := bytes.ToLower(bytes.TrimSpace(head[:min(len(head), 256)]))
	for _, s := range standIns {
		if bytes.HasPrefix(text, []byte(s.begin)) {
			named.Got, named.Want = fmt.Sprintf("%q", s.begin), "a recording: "+s.what
			return named
		}
	}
	if len(head) == 0 {
		named.Msg, named.Kind, named.Got, named.Want = "the file is empty", bad.Kind, "0 bytes", "a recording"
		return named
	}
	return err
}
