package webdataset_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/webdataset"
)

func members(t *testing.T, b []byte) (names []string, data map[string]string) {
	t.Helper()
	data = map[string]string{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names, data
		}
		require.NoError(t, err)
		body, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.EqualValues(t, 0o444, h.Mode)
		assert.Zero(t, h.Uid+h.Gid)
		assert.Empty(t, h.Uname+h.Gname)
		assert.Zero(t, h.ModTime.Unix())
		names, data[h.Name] = append(names, h.Name), string(body)
	}
}

func TestSamplesLieTogetherAndAreTheSameBytes(t *testing.T) {
	long := strings.Repeat("long_", 40) + ".npy"
	write := func() []byte {
		var b bytes.Buffer
		w := webdataset.NewWriter(&b)
		require.NoError(t, w.Add("a/0001", webdataset.Member{"json", []byte("{}")}, webdataset.Member{"action.npy", nil}, webdataset.Member{long, []byte("x")}))
		require.NoError(t, w.Add("a/0002", webdataset.Member{"über.jpg", []byte("picture")}))
		assert.Equal(t, 2, w.Len())
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	b := write()
	assert.Equal(t, b, write())
	names, data := members(t, b)
	assert.Equal(t, []string{"a/0001.json", "a/0001.action.npy", "a/0001." + long, "a/0002.über.jpg"}, names)
	assert.Equal(t, map[string]string{"a/0001.json": "{}", "a/0001.action.npy": "", "a/0001." + long: "x", "a/0002.über.jpg": "picture"}, data)
	assert.Contains(t, string(b[:512]), "ustar\x0000", "no more than ustar where that is enough")
	assert.Zero(t, len(b)%512)
}

func TestWhatReadersWouldNotFindIsRefused(t *testing.T) {
	var b bytes.Buffer
	w := webdataset.NewWriter(&b)
	one := webdataset.Member{"npy", nil}
	require.NoError(t, w.Add("there", one))
	size := b.Len()
	for name, try := range map[string]func() error{
		"empty key":      func() error { return w.Add("", one) },
		"dot":            func() error { return w.Add("a.b", one) },
		"parent":         func() error { return w.Add("../a", one) },
		"root":           func() error { return w.Add("/a", one) },
		"folder":         func() error { return w.Add("a/", one) },
		"passed over":    func() error { return w.Add("__a__/b", one) },
		"no text":        func() error { return w.Add("a\x00b", one) },
		"twice":          func() error { return w.Add("there", one) },
		"no members":     func() error { return w.Add("a") },
		"no name":        func() error { return w.Add("a", webdataset.Member{}) },
		"slash":          func() error { return w.Add("a", webdataset.Member{"b/c", nil}) },
		"too long":       func() error { return w.Add("a", webdataset.Member{strings.Repeat("x", 254), nil}) },
		"another letter": func() error { return w.Add("a", one, webdataset.Member{"NPY", nil}) },
	} {
		var bad *dataset.FormatError
		err := try()
		assert.ErrorAs(t, err, &bad, name)
		assert.ErrorIs(t, err, dataset.ErrOption, name)
	}
	assert.Equal(t, size, b.Len())
	require.NoError(t, w.Add("a", one), "a refusal is no failure")
	require.NoError(t, w.Close())
}

func TestNamesOfStreamsBecomeNamesOfMembers(t *testing.T) {
	for name, want := range map[string]string{
		"action": "action", "/joint_states.position": "joint_states.position", "obs/robot0 eef": "obs_robot0_eef", "/": "_", "": "_", "a\x00\\b": "a__b", "..": "_", "/tf (p/T)": "tf_(p_T)",
	} {
		assert.Equal(t, want, webdataset.Ext(name))
	}
}

type failing struct{}

var errDisk = errors.New("disk")

func (failing) Write([]byte) (int, error) { return 0, errDisk }

func TestAFailedWriteIsReportedByEveryLaterCall(t *testing.T) {
	w := webdataset.NewWriter(failing{})
	assert.ErrorIs(t, w.Add("a", webdataset.Member{"x", []byte("y")}), errDisk)
	assert.ErrorIs(t, w.Add("b", webdataset.Member{"x", nil}), errDisk)
	assert.ErrorIs(t, w.Close(), errDisk)
}
