package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/view"
)

// The codes that a command may have beyond inspect's, or lack. Each other code in inspect's report is in every command's, in all classes: damage,
// problems, remarks and left-out data.
var (
	// An episode's field has these facts, and inspect makes a sentence from it. The other reports have the field itself.
	fieldCodes = []dataset.Code{dataset.CodeStepsOnly, dataset.CodeIntegersRounded}
	// Doctor examines LeRobot's recorded timestamps itself, so no reader chooses between them and the frame numbers.
	doctorLacks = []dataset.Code{dataset.CodeFrameTimeOwn, dataset.CodeFrameTimeSteps, dataset.CodeFrameTimeUnsorted}
	// Doctor reads each frame, and finds images that are empty.
	doctorAdds = []dataset.Code{dataset.CodeEmptyImages}
	// Convert lists data that the output format has no place for.
	convertAdds = []dataset.Code{dataset.CodeNoPlace}
	// Commands note their own choices: clock, windows and dtype, and also a dataset that has only cameras.
	commandAdds = []dataset.Code{dataset.CodeRateDeclared, dataset.CodeWindowsInGaps, "values-rounded", "no-streams"}
)

// codeSet holds the names of codes, without their classes.
type codeSet map[string]bool

// add adds the values of all keys "code" in a JSON value that are text.
func (s codeSet) add(v any) {
	switch v := v.(type) {
	case map[string]any:
		if code, ok := v["code"].(string); ok {
			s[dataset.Code(code).String()] = true
		}
		for _, below := range v {
			s.add(below)
		}
	case []any:
		for _, below := range v {
			s.add(below)
		}
	}
}

// read adds the codes in JSON text.
func (s codeSet) read(t *testing.T, text []byte) {
	var v any
	require.NoError(t, json.Unmarshal(text, &v), string(text))
	s.add(v)
}

// without returns the sorted names that neither a set nor lists have.
func (s codeSet) without(other codeSet, lists ...[]dataset.Code) []string {
	list := []string{}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !other[name] && !slices.ContainsFunc(slices.Concat(lists...), func(c dataset.Code) bool { return c.String() == name }) {
			list = append(list, name)
		}
	}
	return list
}

// helper is a connection to the helper of the Python package in this process.
type helper struct {
	*testing.T
	*os.File
}

func newHelper(t *testing.T) *helper {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- serve.Run(t.Context(), fds[1], versionOf().Version, func() {}) }()
	h := &helper{t, os.NewFile(uintptr(fds[0]), "helper")}
	t.Cleanup(func() {
		assert.NoError(t, h.Close())
		assert.NoError(t, <-ended)
	})
	h.ask(map[string]any{"do": "hello", "protocol": 1, "version": versionOf().Version})
	return h
}

// ask sends a request, and returns the JSON of the reply. The arrays of an episode are closed unread.
func (h *helper) ask(request map[string]any) []byte {
	text, err := json.Marshal(request)
	require.NoError(h, err)
	head := append([]byte("RCF1"), make([]byte, 12)...)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(text)))
	_, err = h.Write(append(head, text...))
	require.NoError(h, err)
	_, err = io.ReadFull(h, head)
	require.NoError(h, err)
	reply := make([]byte, binary.LittleEndian.Uint32(head[4:])+binary.LittleEndian.Uint32(head[8:]))
	_, err = io.ReadFull(h, reply)
	require.NoError(h, err)
	return reply[:binary.LittleEndian.Uint32(head[4:])]
}

// recording returns the codes that rc.Recording and its episodes have.
func (h *helper) recording(path string, stretch int) codeSet {
	set := codeSet{}
	text := h.ask(map[string]any{"do": "open", "path": path, "stretch": stretch})
	var opened struct{ Handle, Episodes int }
	require.NoError(h, json.Unmarshal(text, &opened))
	set.read(h.T, text)
	for i := range opened.Episodes {
		set.read(h.T, h.ask(map[string]any{"do": "episode", "handle": opened.Handle, "episode": i}))
	}
	h.ask(map[string]any{"do": "close", "handles": []int{opened.Handle}})
	return set
}

// viewedCodes returns the codes in all that the page of a recording loads.
func viewedCodes(t *testing.T, path string, stretch int) codeSet {
	d, err := inspection.Open(t.Context(), path, dataset.Options{Stretch: stretch})
	require.NoError(t, err)
	defer d.Close()
	server, err := view.New(d, view.Options{Path: path})
	require.NoError(t, err)
	set := codeSet{}
	paths := []string{"dataset", "episodes"}
	for i := range d.Len() {
		paths = append(paths, fmt.Sprintf("episodes/%d", i))
	}
	for _, path := range paths {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("GET", strings.Replace(server.URL("localhost"), "/?", "/api/"+path+"?", 1), nil))
		set.read(t, w.Body.Bytes())
	}
	require.NoError(t, server.Close())
	return set
}

// recordingsIn returns a case's files and folders that inspect reads. They lie in the case's folder, or one below.
func recordingsIn(t *testing.T, dir string) (list []string) {
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, path := range entries {
		switch ext := filepath.Ext(path); {
		case slices.Contains([]string{".md", ".txt", ".py", ".sh", ".mjs", ".yaml"}, ext):
		case filepath.Base(path) == "bz2_4k_to_1g.bag": // 1 GiB of zeros, whose reading takes minutes
		default:
			list = append(list, path)
		}
	}
	return list
}

// Everything that opening and reading a dataset reveals reaches each command, the viewer and Python with the same code.
func TestEachCommandReportsTheSameCodes(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dirs, err := filepath.Glob("../../../shared/cases/*/case.md")
	require.NoError(t, err)
	if len(dirs) == 0 {
		t.Skip("no shared recordings")
	}
	helper := newHelper(t)
	kinds := doctor.Kinds()
	found, compared := codeSet{}, 0
	for _, dir := range dirs {
		for _, path := range recordingsIn(t, filepath.Dir(dir)) {
			n := compareCodes(t, helper, path, kinds, found)
			compared += n
		}
	}
	assert.Greater(t, compared, 60, "recordings that each command reads")
	assert.Greater(t, len(found), 20, found)
}

// compareCodes compares the codes of all commands for a recording. It returns 1, or 0 if inspect does not read it.
func compareCodes(t *testing.T, helper *helper, path string, kinds []doctor.Kind, found codeSet) int {
	name, stretch, options := strings.TrimPrefix(path, "../../../shared/cases/"), 0, []string{"--json"}
	code, stdout, _ := execute("inspect", path, "--json")
	if strings.Contains(stdout, "want stretch") {
		stretch, options = 1, append(options, "--stretch=1")
		code, stdout, _ = execute("inspect", path, "--json", "--stretch=1")
	}
	if code != exitGood {
		return 0
	}
	common := codeSet{}
	common.read(t, []byte(stdout))
	maps.Copy(found, common)
	compare := func(command string, set codeSet, lacks, adds []dataset.Code) {
		assert.Empty(t, common.without(set, fieldCodes, lacks), "%s: codes of inspect that %s lacks", name, command)
		assert.Empty(t, set.without(common, adds, commandAdds), "%s: codes of %s that inspect lacks", name, command)
	}
	run := func(command string, args ...string) (set codeSet, ok bool) {
		code, stdout, stderr := execute(slices.Concat([]string{command, path}, args, options)...)
		if code == exitUsage { // a recording without a rate
			code, stdout, stderr = execute(slices.Concat([]string{command, path, "--hz=30"}, args, options)...)
		}
		set = codeSet{}
		set.read(t, []byte(stdout))
		assert.Contains(t, []int{exitGood, exitInput}, code, "%s: %s: %s", name, command, stderr)
		return set, code == exitGood
	}
	doctors := slices.Clone(doctorAdds)
	for _, kind := range kinds { // findings of its own have the kind as their code
		doctors = append(doctors, dataset.Code(kind))
	}
	set, ok := run("doctor")
	assert.True(t, ok, name)
	compare("doctor", set, doctorLacks, doctors)
	set, ok = run("stats")
	assert.True(t, ok, name)
	compare("stats", set, nil, nil)
	// If nothing can be drawn or written, the error is about that, and there is no report.
	if set, ok = run("batches", "--batch=1", "--steps=1", "--backend=cpu"); ok {
		compare("batches", set, nil, nil)
	}
	if set, ok = run("convert", "--to=npz", "-o", filepath.Join(t.TempDir(), "out")); ok {
		compare("convert", set, nil, convertAdds)
	}
	compare("view", viewedCodes(t, path, stretch), nil, nil)
	compare("rc.Recording", helper.recording(path, stretch), nil, nil)
	return 1
}

// A case of another format: codes of damage, of a row that cannot be read, and of a column of text.
func TestEachCommandReportsTheCodesOfATable(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	path := filepath.Join(t.TempDir(), "a.csv")
	var b bytes.Buffer
	b.WriteString("time,x,word\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%.1f,%d,w%d\n", float64(i)/10, i, i)
	}
	b.WriteString("4.0,1\n4.1,x,")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	found := codeSet{}
	assert.Equal(t, 1, compareCodes(t, newHelper(t), path, doctor.Kinds(), found))
	assert.GreaterOrEqual(t, len(found), 2, found)
}
