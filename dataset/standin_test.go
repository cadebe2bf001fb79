package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatStandsInPlaceOfAFileIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n": "Git LFS",
		"/annex/objects/SHA256E-s3--00.mp4\n":                                 "git-annex",
		"\n<!DOCTYPE html>\n<html></html>":                                    "a web page",
		"<HTML><body>404</body></HTML>":                                       "a web page",
		"":                                                                    "0 bytes",
	} {
		path := filepath.Join(t.TempDir(), "a.bin")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Open(t.Context(), path, Options{})
		assert.ErrorContains(t, err, want)
		broken := &FormatError{Format: "mp4", Kind: ErrTruncated, Msg: "moov"}
		err = StandIn(t.Context(), broken, path)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, path)
	}
	assert.NoError(t, StandIn(t.Context(), nil, "none"))
	assert.ErrorIs(t, StandIn(t.Context(), os.ErrNotExist, "none"), os.ErrNotExist)
	whole := filepath.Join(t.TempDir(), "a.bin")
	require.NoError(t, os.WriteFile(whole, []byte("\x00\x00html"), 0o600))
	broken := &FormatError{Format: "mp4", Path: whole, Kind: ErrTruncated, Msg: "moov"}
	assert.Same(t, broken, StandIn(t.Context(), broken, ""))
}
