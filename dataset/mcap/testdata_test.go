package mcap

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
)

// goldens returns the files of testdata as the writer writes them now, by name, and the messages of those that have no episode.
func goldens(t testing.TB) (files map[string][]byte, messages []seen) {
	files = map[string][]byte{}
	for _, name := range []string{"zstd", "lz4", "uncompressed", "bare"} {
		files[name+".mcap"], messages = written(t, variants[name], 40)
	}
	for _, encoding := range []Encoding{Protobuf, JSON} {
		var out bytes.Buffer
		w, err := NewWriter(&out, WriterOptions{Library: "robocache", Compression: NoCompression})
		require.NoError(t, err)
		require.NoError(t, w.Episode(context.Background(), recorded(t), encoding))
		require.NoError(t, w.Close())
		files["episode_"+encoding.String()+".mcap"] = out.Bytes()
	}
	return files, messages
}

// The files of testdata were written once: what reads them must go on to, and what is not compressed is still written so. ROBOCACHE_TESTDATA=write makes
// them anew.
func TestFilesThatWereWrittenBeforeAreReadAndWrittenAsTheyAre(t *testing.T) {
	files, messages := goldens(t)
	for name, b := range files {
		path := filepath.Join("testdata", name)
		if os.Getenv("ROBOCACHE_TESTDATA") == "write" {
			filetest.Write(t, path, b)
		}
		before := filetest.Read(t, path)
		if name != "zstd.mcap" && name != "lz4.mcap" { // whose bytes are the libraries' business
			assert.Equal(t, b, before, name)
		}
		if filepath.Base(name)[0] == 'e' {
			d, err := dataset.Open(context.Background(), path, dataset.Options{Strict: true})
			require.NoError(t, err)
			e := settest.Episode(t, d, 0)
			assert.Equal(t, []string{"/joints", "pose"}, e.Names())
			require.NoError(t, d.Close())
			_, err = d.Episode(context.Background(), 0)
			require.ErrorIs(t, err, dataset.ErrClosed)
			_, err = e.Media[0].Frame(context.Background(), 0)
			require.ErrorIs(t, err, dataset.ErrClosed)
			continue
		}
		_, got, damage := readLog(t, before)
		assert.Empty(t, damage, name)
		assert.Equal(t, messages, got, name)
	}
}
