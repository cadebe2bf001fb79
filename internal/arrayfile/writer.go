package arrayfile

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/tensor"
)

// Writer writes named arrays. *npz.Writer and *safetensors.Writer are Writers. Arrays may not change before it is closed.
type Writer interface {
	Add(name string, t *tensor.Tensor) error
	AddStrings(name string, list []string) error
	Close() error
}

// New returns a Writer to w, of safetensors if path ends in ".safetensors", else of npz.
func New(path string, w io.Writer) Writer {
	if strings.EqualFold(filepath.Ext(path), ".safetensors") {
		return safetensors.NewWriter(w)
	}
	return npz.NewWriter(w, npz.Options{})
}
