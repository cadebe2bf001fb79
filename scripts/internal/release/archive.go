package release

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
)

// archive writes a compressed tar of the entries. All are owned by root and have the same time.
func archive(to io.Writer, list []entry) error {
	z := gzip.NewWriter(to)
	w := tar.NewWriter(z)
	for _, e := range list {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode & fs.ModePerm), Size: int64(len(e.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return z.Close()
}
