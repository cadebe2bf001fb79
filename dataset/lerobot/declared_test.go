package lerobot

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/test/filetest"
)

// A dataset whose info.json is broken is one of LeRobot all the same, by what lies beside it, and the error says where.
func TestABrokenHeaderIsToldAsOne(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int64
		kind error
	}{{"hello", 1, dataset.ErrCorrupt}, {"", 0, dataset.ErrCorrupt}, {"{\"codebase_version\": \"v3.0\",, }", 29, dataset.ErrCorrupt},
		{"[1]", -1, dataset.ErrCorrupt}, {"{\"fps\": 30}", -1, dataset.ErrUnsupported}} {
		root := t.TempDir()
		require.NoError(t, os.CopyFS(root, os.DirFS("../../examples/data/g1")))
		filetest.Write(t, filepath.Join(root, "meta/info.json"), c.text)
		_, err := dataset.Open(context.Background(), root, dataset.Options{})
		var bad *dataset.FormatError
		require.True(t, errors.As(err, &bad), "%v", err)
		assert.ErrorIs(t, err, c.kind)
		assert.Equal(t, []any{"lerobot", filepath.Join(root, "meta/info.json"), c.at}, []any{bad.Format, bad.Path, bad.Offset}, "%q: %v", c.text, err)
	}
	other := t.TempDir() // which has an info.json of its own
	require.NoError(t, os.Mkdir(filepath.Join(other, "meta"), 0o700))
	filetest.Write(t, filepath.Join(other, "meta/info.json"), "hello")
	_, err := dataset.Open(context.Background(), other, dataset.Options{})
	var bad *dataset.FormatError
	require.True(t, errors.As(err, &bad), "%v", err)
	assert.NotEqual(t, "lerobot", bad.Format)
}

func TestTheSizeAndTheRateOfAVideoAreRead(t *testing.T) {
	for _, c := range []struct {
		feature       string
		width, height int
		rate          float64
		why           string
	}{
		{`{"dtype": "video", "shape": [48, 64, 3], "names": ["height", "width", "channels"], "info": {"video.fps": 30}}`, 64, 48, 30, ""},
		{`{"dtype": "video", "shape": [3, 48, 64], "names": ["channels", "height", "width"], "video_info": {"video.fps": 15.0}}`, 64, 48, 15, ""},
		{`{"dtype": "video", "shape": [3, 48, 64], "info": {"video.width": 64, "video.height": 48}}`, 64, 48, 0, ""},
		{`{"dtype": "video", "shape": [3, 3, 3], "info": {"video.width": 64, "video.height": 48}}`, 64, 48, 0, ""},
		{`{"dtype": "video", "shape": [48, 64, 3], "info": {"video.width": 32, "video.height": 48}}`, 64, 48, 0, "a shape of 64x48 pixels, and a video of 32x48"},
		{`{"dtype": "video", "shape": [48, 64], "info": {"video.fps": -1}}`, 0, 0, 0, ""},
		{`{"dtype": "float32", "shape": [48, 64, 3]}`, 0, 0, 0, ""},
		{`{"dtype": "image", "shape": [48, 64, 3]}`, 0, 0, 0, ""},
	} {
		f, why := featureOf(orderjson.Member{Name: "camera", Value: json.RawMessage(c.feature)})
		assert.Equal(t, []any{c.width, c.height, c.rate, c.why}, []any{f.Width, f.Height, f.Rate, why}, c.feature)
		assert.Equal(t, !strings.Contains(c.feature, "float32"), f.Media, c.feature)
	}
}
