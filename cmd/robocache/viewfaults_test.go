//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/internal/test/thorough"
)

// answers has view's answers to its page's requests, by path. A status other than 200 precedes the text.
type answers map[string]string

// ofRun matches the part in an answer that differs between two programs.
var ofRun = regexp.MustCompile(`"run":"\w+"`)

// get makes a request and keeps the answer.
func (p answers) get(t *testing.T, address, path string) string {
	t.Helper()
	head, token, _ := strings.Cut(address, "?")
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	r, err := http.Get(head + path + join + token)
	require.NoError(t, err)
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	text := ofRun.ReplaceAllString(string(b), "")
	if r.StatusCode != http.StatusOK {
		text = fmt.Sprintf("%d %s", r.StatusCode, text)
	}
	p[path] = text
	return text
}

// browse makes the page's requests, one at a time, after the list is complete. first has the answers from an undisturbed program, or is nil.
func browse(t *testing.T, address string, first answers) answers {
	t.Helper()
	p := answers{}
	var list struct {
		Episodes []struct{ Number int }
		Done     bool
	}
	for !list.Done {
		time.Sleep(time.Millisecond)
		require.NoError(t, json.Unmarshal([]byte(p.get(t, address, "api/episodes")), &list))
	}
	p.get(t, address, "api/dataset")
	if first != nil {
		for path := range first {
			if p[path] == "" {
				p.get(t, address, path)
			}
		}
		return p
	}
	for _, e := range list.Episodes {
		at := fmt.Sprintf("api/episodes/%d", e.Number)
		var episode struct {
			Streams, Media, Clouds []struct{ Name string }
			Paths                  []struct{ Name string }
		}
		require.NoError(t, json.Unmarshal([]byte(p.get(t, address, at)), &episode))
		p.get(t, address, at+"/thumbnail")
		for i, kind := range []string{"series?width=50&stream=", "frame?height=32&camera=", "cloud?cloud="} {
			list := [][]struct{ Name string }{episode.Streams, episode.Media, episode.Clouds}[i]
			for _, s := range list[:min(2, len(list))] {
				p.get(t, address, at+"/"+kind+url.QueryEscape(s.Name))
			}
		}
	}
	return p
}

// A call that fails while view begins ends it with code 1. After that each answer is whole, or a system error with status 503, and the list has the
// error if an episode was not read.
func TestAnErrorOfTheSystemIsAnAnswerOfView(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	data := filepath.Join("..", "..", "dataset")
	folder := t.TempDir()
	streams, err := os.ReadFile(numpyStreams)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.npz", i)), streams, 0o600))
	}
	s3test.Shared().PutFolder(t, "view", "set", folder)
	list := []string{
		folder, g1, "../../examples/data/turtles2", data + "/aloha/testdata/jpeg.hdf5", data + "/rlds/testdata/kinds", data + "/mcap/testdata/zstd.mcap",
		data + "/calvin/testdata/small", data + "/ply/testdata/lidar.ply", data + "/ulog/testdata/sample_log_small.ulg",
		"s3://view/set",
	}
	if _, err := exec.LookPath("ffmpeg"); err == nil {
		list = append(list, greyLog(t, 0))
	}
	for _, path := range list {
		t.Run(filepath.Base(path), func(t *testing.T) { sweepView(t, path) })
	}
}

func sweepView(t *testing.T, path string) {
	run := func(f *faultyCall, first answers) (code int, stderr string, p answers) {
		defer fault.Inject(f.check)()
		read, write := io.Pipe()
		var said bytes.Buffer
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			code = run([]string{"view", path, "--no-open", "--port=0"}, strings.NewReader(""), write, &said)
			write.Close()
		}()
		if address, err := bufio.NewReader(read).ReadString('\n'); err == nil {
			p = browse(t, strings.TrimSpace(address), first)
			require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
		}
		<-ended
		return code, said.String(), p
	}
	var all faultyCall
	all.k.Store(-1)
	code, stderr, whole := run(&all, nil)
	require.Equal(t, exitGood, code, stderr)
	for path, text := range whole {
		require.NotRegexp(t, "^5", text, path)
	}
	n, points := all.calls.Load(), 8
	if filepath.Ext(path) == ".mcap" { // ffmpeg takes most of the time
		points = 4
	}
	step := max(1, n/int64(thorough.Of(points, 1<<20)))
	for k := int64(0); k < n; k += step {
		for _, errno := range errorOf(k / step) {
			f := faultyCall{error: errno}
			f.k.Store(k)
			code, stderr, p := run(&f, whole)
			if f.op.Load() == nil {
				continue // fewer calls than before
			}
			what := fmt.Sprintf("call %d/%d: %s %s: %v", k, n, *f.op.Load(), *f.path.Load(), errno)
			if p == nil {
				assert.Equal(t, exitOther, code, "%s: %s", what, stderr)
				assert.Contains(t, stderr, errno.Error(), what)
				assert.Contains(t, stderr, filepath.Base(*f.path.Load()), what)
				continue
			}
			assert.Equal(t, exitGood, code, "%s: %s", what, stderr)
			p.check(t, whole, errno, what)
		}
	}
}

// check compares the answers with an undisturbed program's.
func (p answers) check(t *testing.T, whole answers, errno error, what string) {
	t.Helper()
	shown := false
	for path, text := range p {
		if text == whole[path] {
			continue
		}
		assert.Contains(t, text, errno.Error(), "%s: %s is another", what, path)
		shown = true
		if path != "api/episodes" && path != "api/dataset" {
			assert.Regexp(t, `^503 .*"system":true`, text, "%s: %s", what, path)
		}
	}
	assert.True(t, shown, "%s: no answer has the error", what)
}
