package rlds

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

func TestACompressedFileThatHasChangedIsAnError(t *testing.T) {
	whole := gzipped(examples(3))
	for name, b := range map[string][]byte{"shorter": whole[:len(whole)/2], "another": []byte("1234567890123"), "empty": nil} {
		dir := folder(t, stepsOf(plainFeatures), 3, whole)
		s := open(t, dir, Options{})
		require.NoError(t, os.WriteFile(filepath.Join(dir, onlyShard), b, 0o600))
		_, err := s.Episode(context.Background(), 2)
		assert.ErrorIs(t, err, dataset.ErrCorrupt, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, onlyShard), whole, 0o600))
		assert.Equal(t, []int{0, 1, 2}, rewards(t, s), "and it recovers")
	}
}
