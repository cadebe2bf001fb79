//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// at returns the address of a path of the page, with the token of the printed one.
func at(url, path string) string { return strings.Replace(url, "/?", "/"+path+"?", 1) }

// viewed starts the command. It returns the printed address and the other output.
func viewed(t *testing.T, args ...string) (url string, cmd *exec.Cmd, rest *bufio.Reader) {
	cmd, _ = program(t, append([]string{"view", "--no-open", "--port=0"}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	rest = bufio.NewReader(out)
	line, err := rest.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line), cmd, rest
}

func TestViewServesUntilASignalComes(t *testing.T) {
	url, cmd, _ := viewed(t, flight)
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}$`, url)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := http.Client{Jar: jar}
	for path, want := range map[string]string{"": "<!doctype html>", "api/dataset": `"format":"ulog"`, "api/episodes/0": `"vehicle_attitude"`} {
		r, err := browser.Get(at(url, path))
		require.NoError(t, err)
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		assert.Contains(t, string(b), want, path)
	}
	bare, _, _ := strings.Cut(url, "?")
	r, err := http.Get(bare)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	assert.Equal(t, http.StatusForbidden, r.StatusCode, "an address without the token")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	assert.NoError(t, cmd.Wait(), "to be ended is how it ends")
}

func TestViewShowsAFileOfPoints(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	path := filepath.Join(t.TempDir(), "three.ply")
	require.NoError(t, os.WriteFile(path, []byte("ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nend_header\n0 0 0\n1 0 0\n0 1 2\n"), 0o644))
	url, cmd, _ := viewed(t, path)
	r, err := http.Get(at(url, "api/episodes/0/cloud") + "&cloud=points")
	require.NoError(t, err)
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	assert.Len(t, b, 3*3*4)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	assert.NoError(t, cmd.Wait())
}

func TestViewSaysWhereAsJSON(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	cmd, _ := program(t, "view", flight, "--no-open", "--port=0", "--json")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var said struct {
		URL      string
		Loopback bool
	}
	var object json.RawMessage
	require.NoError(t, json.NewDecoder(out).Decode(&object))
	checkObject(t, string(object))
	require.NoError(t, json.Unmarshal(object, &said))
	assert.True(t, said.Loopback)
	assert.Regexp(t, `/\?token=[0-9a-f]{32}$`, said.URL)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	assert.NoError(t, cmd.Wait())
}

func TestViewRefusesWhatItCannotShow(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"view"}, exitUsage, "takes one file or folder"},
		{[]string{"view", flight, "--port=70000"}, exitUsage, "want 0 to 65535"},
		{[]string{"view", flight, "--port=0", "--listen=203.0.113.7"}, exitUsage, "--listen"},
		{[]string{"view", filepath.Join(t.TempDir(), "none"), "--port=0"}, exitInput, "none"},
		{[]string{"view", flight, "--port=0", "--plan=" + filepath.Join(t.TempDir(), "none.yaml")}, exitInput, "none.yaml"},
		{[]string{"view", flight, "--port=0", "--plan=" + planFile(t, "bogus: 1")}, exitInput, "robocache: plan: "},
	} {
		code, stdout, stderr := execute(append(tt.args, "--no-open")...)
		assert.Equal(t, tt.code, code, tt.args)
		assert.Contains(t, stderr, tt.want)
		assert.Empty(t, stdout)
	}
}

func TestViewTakesTheNextFreePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, used, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	url, _, _ := viewed(t, flight, "--port="+used)
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/`, url)
	assert.NotContains(t, url, ":"+used+"/")
}
