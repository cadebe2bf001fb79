package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// prometheus reads text of format 0.0.4 as strictly as its description has it, and returns the samples by name and labels.
func prometheus(t *testing.T, text string) map[string]float64 {
	t.Helper()
	require.True(t, strings.HasSuffix(text, "\n"), "the last line has an end")
	samples, seen := map[string]float64{}, map[string]bool{}
	var name, kind string
	help := false
	sample := regexp.MustCompile(`^([a-z_][a-z0-9_]*)(\{[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\"n])*")*\})? (\S+)$`)
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, rest, ok = strings.Cut(rest, " ")
			require.True(t, ok && rest != "", line)
			require.False(t, seen[name], "the lines of %s stand together", name)
			seen[name], help, kind = true, true, ""
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			require.True(t, help, "HELP comes first here: %s", line)
			var of string
			of, kind, _ = strings.Cut(rest, " ")
			require.Equal(t, name, of)
			require.Contains(t, []string{"counter", "gauge"}, kind)
			require.Equal(t, kind == "counter", strings.HasSuffix(name, "_total"), name)
			require.True(t, strings.HasPrefix(name, "robocache_"), name)
			help = false
			continue
		}
		m := sample.FindStringSubmatch(line)
		require.NotNil(t, m, "%q", line)
		require.Equal(t, name, m[1])
		require.NotEmpty(t, kind, "TYPE comes before: %s", line)
		v, err := strconv.ParseFloat(m[3], 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, v, 0.0)
		require.NotContains(t, samples, m[1]+m[2], "a sample comes once")
		samples[m[1]+m[2]] = v
	}
	return samples
}

func asked(t *testing.T, url string) (text string) {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	assert.Equal(t, http.StatusOK, r.StatusCode)
	assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8", r.Header.Get("Content-Type"))
	all, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(all)
}

// metered starts a command with --metrics. It returns the lines of its output, the address of the metrics and the exit code.
func metered(t *testing.T, args ...string) (lines *bufio.Scanner, url string, code chan int) {
	stdout, write := io.Pipe()
	said, tell := io.Pipe()
	code = make(chan int, 1)
	go func() {
		code <- run(args, strings.NewReader(""), write, tell)
		_ = write.Close()
		_ = tell.Close()
	}()
	in := bufio.NewScanner(said)
	require.True(t, in.Scan())
	go func() { _, _ = io.Copy(io.Discard, said) }()
	url = regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`).FindString(in.Text())
	require.NotEmpty(t, url, in.Text())
	return bufio.NewScanner(stdout), url, code
}

// During the run, Prometheus sees the numbers of the final JSON.
func TestPrometheusSeesWhatIsDone(t *testing.T) {
	lines, url, code := metered(t, "batches", kindsRLDS, "--rate=10", "--hz=20", "--batch=5", "--epochs=2", "--last=short", "--stream=action", "--backend=cpu", "--digest", "--metrics=127.0.0.1:0")
	windows := 0.0
	for n := range 2 * 8 {
		got := prometheus(t, asked(t, url))
		require.Equal(t, got["robocache_build_info"+buildLabels()], 1.0)
		if require.True(t, lines.Scan()); n < 2 {
			continue // perhaps no number is published yet
		}
		require.GreaterOrEqual(t, got["robocache_windows_total"], windows)
		windows = got["robocache_windows_total"]
		require.Contains(t, []float64{float64(n - 1), float64(n)}, got["robocache_batches_total"], "line n waits for somebody to take it")
		require.Equal(t, 1+13+6, len(got))
		require.Equal(t, 4.0, got["robocache_episodes"])
		require.Equal(t, 1.0, got["robocache_left_out_episodes"])
		require.Positive(t, got["robocache_device_bytes"])
		require.Contains(t, got, `robocache_spent_seconds_total{on="copying"}`)
		require.LessOrEqual(t, got["robocache_epoch"], 1.0)
	}
	assert.False(t, lines.Scan())
	assert.Equal(t, exitGood, <-code)
	assert.Positive(t, windows)
	_, err := http.Get(url)
	assert.Error(t, err, "it ends with the command")
}

// So it sees frames that could not be decoded, each once.
func TestPrometheusSeesBadFrames(t *testing.T) {
	store, camera := damagedStore(t)
	lines, url, code := metered(t, "batches", store, "--hz=10", "--batch=1", "--epochs=2", "--shuffle=none", "--backend=cpu", "--digest", "--metrics=127.0.0.1:0", "--camera", camera+"=8x6")
	name := `robocache_bad_frames_total{camera="` + camera + `"}`
	for n := range 8 {
		if n >= 4 { // frame 1 of 4 was drawn, and line n-1 may be published
			require.Equal(t, 1.0, prometheus(t, asked(t, url))[name])
		}
		require.True(t, lines.Scan())
	}
	assert.False(t, lines.Scan())
	assert.Equal(t, exitGood, <-code)
}

func buildLabels() string {
	v := versionOf()
	return `{version="` + v.Version + `",revision="` + v.Revision + `",go="` + v.Go + `",platform="` + v.Platform + `"}`
}

func TestLabelsAndHelpAreEscaped(t *testing.T) {
	m := &meter{}
	m.set([]metric{{"robocache_a", "one\\two\nthree", "gauge", []string{"x", "a\"b\\c\nd", "y", ""}, 0.25}})
	assert.Equal(t, "# HELP robocache_a one\\\\two\\nthree\n# TYPE robocache_a gauge\nrobocache_a{x=\"a\\\"b\\\\c\\nd\",y=\"\"} 0.25\n", string(m.text()))
	prometheus(t, string(m.text()))
}

func TestMetricsAreForThisMachineUnlessAnAddressIsGiven(t *testing.T) {
	for flag, want := range map[string]string{":9100": "127.0.0.1:9100", "0.0.0.0:9100": "0.0.0.0:9100", "[::1]:80": "[::1]:80", "node7:09": "node7:9"} {
		got, err := metricsAddress(flag)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, flag := range []string{"9100", ":", ":x", ":65536", "::1:80", "", ":-1"} {
		_, err := metricsAddress(flag)
		var usage *usageError
		assert.ErrorAs(t, err, &usage, flag)
	}
}

func TestAPortThatIsTakenIsFoundBeforeTheWork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	code, _, stderr := execute("batches", "none", "--backend=cpu", "--metrics", l.Addr().String())
	assert.Equal(t, exitOther, code)
	assert.Regexp(t, `^robocache: --metrics: cannot listen on 127\.0\.0\.1:\d+: .*in use\n$`, stderr, "not that there is no dataset")
}

// The listener has no token, so it answers with numbers alone.
func TestMetricsServeNumbersAlone(t *testing.T) {
	m, err := newMeter(":0")
	require.NoError(t, err)
	defer m.close()
	host, _, err := net.SplitHostPort(m.at)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", host)
	for _, path := range []string{"/", "/metrics/", "/metrics/../go.mod", "/debug/pprof/", "/doc.go"} {
		r, err := http.Get("http://" + m.at + path)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		assert.Equal(t, http.StatusNotFound, r.StatusCode, path)
	}
	r, err := http.Post("http://"+m.at+"/metrics", "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	assert.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
	r, err = http.Get("http://" + m.at + "/metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	assert.Regexp(t, `^(# (HELP|TYPE) robocache_.*\n|robocache_\w+(\{(\w+="[^"\n]*",?)+\})? [0-9.e+-]+\n)+$`, string(text))
}
