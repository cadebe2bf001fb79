//go:build unix

package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/msgpack"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// aPolicy trains a policy for two steps, and returns its folder.
func aPolicy(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trained")
	good(t, append([]string{"train", g1, shortPlan(t), "--hold-out=2", "--steps=2", "--lr=0.01", "--backend=cpu", "--out", dir}, args...)...)
	return dir
}

// packed32 is rows lo to hi-1 of a stream as an array of a request.
func packed32(t *testing.T, s *dataset.Stream, lo, hi int) msgpack.Binary {
	t.Helper()
	v, err := tensor.Elements[float32](tensor.Must(s.Values.Slice(0, max(lo, 0), hi)))
	require.NoError(t, err)
	data, err := binary.Append(nil, binary.LittleEndian, v)
	require.NoError(t, err)
	d := len(s.Columns)
	return msgpack.Binary{"__ndarray__": true, "data": data, "dtype": "<f4", "shape": []int{len(v) / d, d}}
}

// The server's actions for a recording's windows are equal to the chunks in the file from policy -o.
func TestPolicyServeGivesTheActionsOfPolicy(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	t.Run("bc-transformer", func(t *testing.T) { servedActions(t, aPolicy(t), "bc-transformer", 3) })
	t.Run("flow", func(t *testing.T) {
		servedActions(t, aPolicy(t, "--policy=flow", "--size=tiny", "--condition=cross", "--sample-steps=2", "--execute=2"), "flow", 2)
	})
}

func servedActions(t *testing.T, dir, kind string, execute int64) {
	npz := filepath.Join(t.TempDir(), "made.npz")
	good(t, "policy", dir, g1, "--episode=2", "--backend=cpu", "-o", npz)
	f := open(t, npz)
	made, err := f.Tensor("chunks")
	require.NoError(t, err)
	chunks, err := tensor.Elements[float64](made)
	require.NoError(t, err)
	numbers, err := f.Tensor("ticks")
	require.NoError(t, err)
	ticks, err := tensor.Elements[int64](numbers)
	require.NoError(t, err)
	d, err := dataset.Open(t.Context(), g1, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	e, err := d.Episode(t.Context(), 2)
	require.NoError(t, err)

	begin := time.Now()
	cmd, _ := program(t, "policy", "serve", dir, "--port=0", "--backend=cpu", "--json")
	cmd.Env = append(cmd.Env, tokenVariable+"=secret")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var object json.RawMessage
	require.NoError(t, json.NewDecoder(out).Decode(&object))
	checkObject(t, string(object))
	var said serving
	require.NoError(t, json.Unmarshal(object, &said))
	assert.True(t, said.Loopback)
	assert.Equal(t, dir, said.Policy)
	header := http.Header{"Authorization": {"Api-Key secret"}}
	c, _, err := websocket.Dial(t.Context(), said.URL, &websocket.DialOptions{HTTPHeader: header})
	require.NoError(t, err)
	defer c.CloseNow()
	read := func() map[string]any {
		kind, b, err := c.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, websocket.MessageBinary, kind, string(b))
		v, err := msgpack.Decode(b)
		require.NoError(t, err)
		return v.(map[string]any)
	}
	about := read()
	assert.Equal(t, []any{kind, int64(2), int64(3), execute, 30.0}, []any{about["policy"], about["history"], about["chunk"], about["execute"], about["hz"]})
	size := len(chunks) / len(ticks)
	for i, tick := range ticks {
		if i%10 != 0 {
			continue
		}
		at := int(tick)
		request := map[string]any{"observation.state": packed32(t, e.Stream("observation.state"), at-1, at+1), "action": packed32(t, e.Stream("action"), at-2, at)}
		require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, msgpack.Append(nil, request)))
		a := read()["actions"].(map[string]any)
		got := make([]float64, size)
		_, err := binary.Decode(a["data"].([]byte), binary.LittleEndian, got)
		require.NoError(t, err)
		require.Equal(t, chunks[i*size:(i+1)*size], got, "tick %d", tick)
		if i == 0 {
			t.Logf("first action after %v", time.Since(begin))
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(said.URL, "ws:", "http:", 1)+"/metrics", nil)
	require.NoError(t, err)
	r.Header = header
	a, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	samples := prometheus(t, string(text))
	assert.EqualValues(t, (len(ticks)+9)/10, samples["robocache_policy_requests_total"])
	assert.EqualValues(t, 1, samples["robocache_policy_connections"])
	assert.Zero(t, samples["robocache_policy_errors_total"])
	assert.Positive(t, samples["robocache_policy_predict_seconds_total"])
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	assert.NoError(t, cmd.Wait(), "a signal is the normal end, with a client too")
}

func TestPolicyServeRefusesWhatItCannotServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"policy serve takes a folder that train has written, got none":           {},
		"address 70000: invalid port":                                            {dir, "--port=70000"},
		"--listen, --port: ":                                                     {dir, fmt.Sprint("--port=", l.Addr().(*net.TCPAddr).Port)},
		"--listen: got 0.0.0.0 without a token, want --token or ROBOCACHE_TOKEN": {dir, "--port=0", "--listen=0.0.0.0"},
		"--max-connections: got 0, want 1 or more":                               {dir, "--max-connections=0"},
		"--timeout: got 0s, want more than 0":                                    {dir, "--timeout=0s"},
		"--tls-cert, --tls-key: open : no such file":                             {dir, "--tls-key=key.pem"},
		"--tls-cert, --tls-key: open ":                                           {dir, "--tls-key=" + dir + "/none", "--tls-cert=" + dir + "/none"},
		"max-message":                                                            {dir, "--max-message=many"},
	} {
		code, stdout, stderr := execute(append([]string{"policy", "serve"}, args...)...)
		assert.Equal(t, exitUsage, code, want)
		assert.Contains(t, stderr, want)
		assert.Empty(t, stdout)
	}
	code, _, stderr := execute("policy", "serve", dir, "--port=0", "--backend=cpu")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, dir+": got no config.json")
}

// Of others than this machine, it warns that nothing is encrypted.
func TestPolicyServeListensToOthersWithAToken(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	cmd, _ := program(t, "policy", "serve", aPolicy(t), "--port=0", "--backend=cpu", "--listen=0.0.0.0", "--token=secret")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var remarks strings.Builder
	cmd.Stderr = &remarks
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	assert.Regexp(t, `^ws://localhost:\d+\n$`, line)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
	assert.Contains(t, remarks.String(), "nothing is encrypted")
}
