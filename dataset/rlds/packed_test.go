package rlds

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

func TestACompressedFileThatHasChangedIsAnError(t *testing.T) {
	whole := gzipped(examples(3))
	for name, b := range map[string][]byte{"shorter": whole[:len(whole)/2], "another": []byte("1234567890123"), "empty": nil} {
		dir := folder(t, stepsOf(plainFeatures), 3, whole)
		s := open(t, dir, Options{})
		filetest.Write(t, filepath.Join(dir, onlyShard), b)
		_, err := s.Episode(context.Background(), 2)
		assert.ErrorIs(t, err, dataset.ErrCorrupt, name)
		filetest.Write(t, filepath.Join(dir, onlyShard), whole)
		assert.Equal(t, []int{0, 1, 2}, rewards(t, s), "and it recovers")
	}
}
