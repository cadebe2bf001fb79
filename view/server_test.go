package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"io/fs"
	"iter"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestOnlyItsOwnNamesAreAnswered(t *testing.T) {
	s := serve(t, robots(t, 1), Options{Host: "robot.lab"})
	for host, want := range map[string]int{
		"127.0.0.1:7380": 200, "localhost:7380": 200, "[::1]:7380": 200, "192.168.1.7:7380": 200, "robot.lab:7380": 200, "Robot.Lab.": 200, "LOCALHOST": 200,
		"evil.example": 421, "evil.example:7380": 421, "": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:7380": 421,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/api/dataset?token="+s.token, nil)
		r.Host = host
		s.ServeHTTP(w, r)
		assert.Equal(t, want, w.Code, "host %q", host)
	}
}

func TestNothingIsTakenButQuestions(t *testing.T) {
	s := serve(t, robots(t, 1), Options{})
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, "/api/dataset", strings.NewReader("{}"))
		r.Host = "localhost"
		s.ServeHTTP(w, r)
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/api/dataset", nil)
	r.Host = "localhost"
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Sec-Fetch-Mode", "no-cors")
	s.ServeHTTP(w, r)
	assert.Equal(t, http.StatusForbidden, w.Code, "requested by another site's page")
	assert.Equal(t, "same-origin", w.Header().Get("Cross-Origin-Resource-Policy"))
}

func TestNoFileOfTheMachineIsServed(t *testing.T) {
	s := serve(t, robots(t, 1), Options{})
	for _, path := range []string{"/../server.go", "/..%2fserver.go", "/%2e%2e/%2e%2e/etc/passwd", "/vendor/../../server.go", "/etc/passwd", "//etc/passwd", "/page/index.html", "/vendor", "/vendor/", "/.git/config", "/%00", "/vendor/uplot/..%5c..%5cserver.go"} {
		r := get(s, path)
		assert.NotEqual(t, http.StatusOK, r.StatusCode, path)
	}
	r := get(s, "/")
	assert.Equal(t, http.StatusOK, r.StatusCode)
	assert.Contains(t, r.Header.Get("Content-Security-Policy"), "default-src 'self'")
}

func TestThePageNeedsNoNetwork(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	away := regexp.MustCompile(`(?i)(src|href)\s*=\s*["']?(https?:)?//|@import|url\(\s*["']?(https?:)?//|fetch\(\s*["'\x60](https?:)?//|import[^;]*from\s*["'](https?:)?//`)
	err := fs.WalkDir(page, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(page, name)
		assert.Empty(t, away.FindString(string(b)), name)
		return err
	})
	require.NoError(t, err)
	assert.NotEmpty(t, away.FindString(`<script src="https://cdn.example/x.js">`), "this test looks for the wrong thing")
}

// The library is as it was published: see page/vendor/uplot/VERSION.
func TestVendoredFilesAreAsPublished(t *testing.T) {
	for name, want := range map[string]string{"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f", "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04", "LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd"} {
		b, err := fs.ReadFile(page, "page/vendor/uplot/"+name)
		require.NoError(t, err)
		sum := sha256.Sum256(b)
		assert.Equal(t, want, hex.EncodeToString(sum[:]), name)
	}
}

func TestWrongQuestionsAreRefused(t *testing.T) {
	s := serve(t, robots(t, 3), Options{})
	for path, want := range map[string]int{
		"/api/episodes/9": 404, "/api/episodes/-1": 404, "/api/episodes/x": 400, "/api/episodes/99999999999999999999": 400, "/api/episodes/1": 422, "/api/episodes/1/thumbnail": 422,
		"/api/episodes/0/series?stream=none": 404, "/api/episodes/0/series?stream=odom&width=0": 400, "/api/episodes/0/series?stream=odom&width=1e9": 400,
		"/api/episodes/0/series?stream=odom&width=1.5": 400, "/api/episodes/0/series?stream=odom&from=NaN": 400, "/api/episodes/0/series?stream=odom&from=5&to=4": 400,
		"/api/episodes/0/series?stream=odom&columns=3": 400, "/api/episodes/0/series?stream=odom&columns=0,0,0,0": 400, "/api/episodes/0/series?stream=odom&hz=-2": 400,
		"/api/episodes/0/series?stream=odom&from=-1e300": 400, "/api/episodes/0/frame?camera=none": 404, "/api/episodes/0/frame?camera=front&at=x": 400,
		"/api/episodes/0/frame?camera=front&height=1": 400, "/api/episodes/0/cloud?cloud=none": 404, "/api/episodes/0/cloud?cloud=lidar&voxel=-1": 400,
		"/api/episodes/0/path?stream=odom&columns=0": 400, "/api/episodes/0/nothing": 404, "/api/episodes?after=-1": 400,
	} {
		r := get(s, path)
		assert.Equal(t, want, r.StatusCode, path)
		if want != 404 || !strings.HasSuffix(path, "nothing") {
			var said struct{ Error string }
			assert.NoError(t, json.NewDecoder(r.Body).Decode(&said), path)
			assert.NotEmpty(t, said.Error, path)
		}
	}
}

func TestOneBrokenEpisodeCostsItself(t *testing.T) {
	s := serve(t, robots(t, 4), Options{})
	var list listJSON
	require.Eventually(t, func() bool {
		list = getJSON[listJSON](t, s, "/api/episodes")
		return len(list.Episodes) == 4
	}, browsertest.Patience, 10*time.Millisecond)
	for _, e := range list.Episodes {
		if e.Number == 1 {
			assert.Contains(t, e.Error, "header")
			assert.Equal(t, []string{"unreadable"}, e.Kinds)
			continue
		}
		assert.Empty(t, e.Error)
		assert.Contains(t, e.Kinds, "gap")
		assert.InDelta(t, 10, e.Seconds, 1e-6)
	}
	rest := getJSON[struct{ Episodes []summary }](t, s, "/api/episodes?after=3")
	assert.Equal(t, list.Episodes[3:], rest.Episodes)
}

func TestWhatTheDatasetDeclaresAndIsNotSoIsFound(t *testing.T) {
	m := robots(t, 1)
	m.info.Notes = dataset.Notes{{Code: dataset.CodeFileMissing, Subject: "videos/front.mp4"}}
	s := serve(t, m, Options{})
	d := getJSON[struct{ Findings []findingJSON }](t, s, "/api/dataset")
	require.Len(t, d.Findings, 1)
	assert.Contains(t, d.Findings[0].Why, "not there")
}

func TestAnEpisodeSaysWhatItHolds(t *testing.T) {
	s := serve(t, robots(t, 1), Options{})
	e := getJSON[episodeJSON](t, s, "/api/episodes/0")
	assert.Equal(t, "1700000000000000000", e.Start)
	assert.Equal(t, "stack 1 cups", e.Task)
	require.Len(t, e.Streams, 2)
	assert.Equal(t, [][2]float64{{4, 4.5}}, e.Streams[0].Gaps)
	assert.InDelta(t, 200, e.Streams[0].Rate, 1e-6)
	assert.Equal(t, []track{{"odom", "position", [3]int{0, 1, 2}}}, e.Paths)
	require.NotEmpty(t, e.Findings)
	assert.Equal(t, [][2]float64{{4, 4.5}}, e.Findings[0].Ranges, "on the page's clock")
	assert.Equal(t, 100, e.Media[0].Frames)
	assert.Equal(t, 20, e.Clouds[0].Frames)
}

type seriesJSON struct {
	Samples int
	Each    bool
	T       []float64
	V       [][]*float64
	Gaps    [][]float64
	Made    *struct {
		Error   string
		Columns []int
		T       []float64
		V       [][]*float64
	}
}

func TestManyColumnsAreDrawnCoarser(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	names := make([]string, 20_000)
	m := &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) {
		return &dataset.Episode{Streams: []dataset.Stream{stream(t, "wide", 0, 100, 2.5, names, func(s float64, _ int) float32 { return float32(s) })}}, nil
	}}}
	s := serve(t, m, Options{})
	got := getJSON[seriesJSON](t, s, "/api/episodes/0/series?stream=wide&width=8192")
	assert.Len(t, got.V, 20_000)
	assert.LessOrEqual(t, len(got.T), 2*100)
	few := getJSON[seriesJSON](t, s, "/api/episodes/0/series?stream=wide&width=8192&columns=7")
	assert.Len(t, few.T, 251, "of one column every sample")
}

func TestAPlansCurveLiesOverTheSamples(t *testing.T) {
	plan, err := planfile.Parse("plan.yaml", []byte("version: 1\nrate: 20\nstreams:\n  - {name: state, from: joints, columns: [elbow]}\n"))
	require.NoError(t, err)
	s := serve(t, robots(t, 1), Options{Plan: &plan})
	got := getJSON[seriesJSON](t, s, "/api/episodes/0/series?stream=joints&columns=0,1&hz=0&from=0&to=2")
	require.NotNil(t, got.Made)
	require.Empty(t, got.Made.Error)
	assert.Equal(t, []int{1}, got.Made.Columns, "the column that the plan takes, by its place in what was asked for")
	assert.InDelta(t, 0.05, got.Made.T[1]-got.Made.T[0], 1e-9)
	for i, at := range got.Made.T {
		assert.InDelta(t, math.Sin(2*at), *got.Made.V[0][i], 1e-3)
	}
	other := getJSON[seriesJSON](t, s, "/api/episodes/0/series?stream=odom&hz=0")
	assert.NotEmpty(t, other.Made.Error, "of a stream that the plan leaves out")
	faster := getJSON[seriesJSON](t, s, "/api/episodes/0/series?stream=joints&hz=100&from=0&to=2")
	assert.InDelta(t, 0.01, faster.Made.T[1]-faster.Made.T[0], 1e-9)
}

func TestARateThatDoesNotFitIsSaidBesideTheSamples(t *testing.T) {
	s := serve(t, robots(t, 1), Options{})
	got := getJSON[seriesJSON](t, s, "/api/episodes/0/series?stream=joints&hz=1e6&width=100")
	assert.NotEmpty(t, got.T)
	assert.Contains(t, got.Made.Error, "at most")
	none := get(s, "/api/episodes/0/series?stream=joints&hz=0")
	assert.Equal(t, http.StatusOK, none.StatusCode)
}

func TestFramesAreThoseAtTheCursor(t *testing.T) {
	s := serve(t, robots(t, 1), Options{})
	for at, want := range map[string]string{
		"-5":    `{"frame":0,"at":0,"until":0.1}`,
		"0.05":  `{"frame":0,"at":0,"until":0.1}`,
		"0.1":   `{"frame":1,"at":0.1,"until":0.2}`,
		"3.999": `{"frame":39,"at":3.9,"until":4}`,
	} {
		r := get(s, "/api/episodes/0/frame?camera=front&at="+at)
		require.Equal(t, http.StatusOK, r.StatusCode)
		assert.JSONEq(t, want, r.Header.Get("Frame"), at)
		im, err := jpeg.Decode(r.Body)
		require.NoError(t, err)
		assert.Equal(t, 64, im.Bounds().Dx(), "a JPEG goes as it is")
	}
	r := get(s, "/api/episodes/0/frame?camera=front&at=1&height=16")
	im, err := jpeg.Decode(r.Body)
	require.NoError(t, err)
	assert.Equal(t, 16, im.Bounds().Dy())
	assert.Equal(t, 21, im.Bounds().Dx())
}

func TestCloudsAndVoxelsAreThoseAtTheCursor(t *testing.T) {
	s := serve(t, robots(t, 1), Options{})
	r := get(s, "/api/episodes/0/cloud?cloud=lidar&at=0.15")
	assert.JSONEq(t, `{"cloud":1,"at":0.1,"until":0.2,"points":2001,"not_finite":1,"width":3,"cut":false}`, r.Header.Get("Cloud"))
	w := httptest.NewRecorder()
	_, err := w.Body.ReadFrom(r.Body)
	require.NoError(t, err)
	assert.Equal(t, 2000*12, w.Body.Len())
	r = get(s, "/api/episodes/0/cloud?cloud=lidar&at=0.15&voxel=0.5")
	b := make([]byte, 1<<16)
	n, _ := r.Body.Read(b)
	assert.Positive(t, n)
	sum := float32(0)
	for i := 0; i < n; i += 16 {
		sum += math.Float32frombits(uint32(b[i+12]) | uint32(b[i+13])<<8 | uint32(b[i+14])<<16 | uint32(b[i+15])<<24)
	}
	assert.Equal(t, float32(2000), sum, "points in all voxels together")
}

func TestPositionsAreKnownByTheirNames(t *testing.T) {
	for _, tt := range []struct {
		stream string
		names  []string
		want   []track
	}{
		{"pose", []string{"tx", "ty", "tz", "qx", "qy", "qz", "qw"}, []track{{"pose", "t", [3]int{0, 1, 2}}}},
		{"/odom", []string{"pose.pose.position.x", "pose.pose.position.y", "pose.pose.position.z", "twist.twist.linear.x", "twist.twist.linear.y", "twist.twist.linear.z"}, []track{{"/odom", "pose.pose.position", [3]int{0, 1, 2}}}},
		{"ee", []string{"eef_pos[0]", "eef_pos[1]", "eef_pos[2]"}, []track{{"ee", "eef_pos", [3]int{0, 1, 2}}}},
		{"local", []string{"x", "y", "z", "vx", "vy", "vz"}, []track{{"local", "", [3]int{0, 1, 2}}}},
		{"imu", []string{"accel_x", "accel_y", "accel_z", "gyro[0]", "gyro[1]", "gyro[2]"}, nil},
		{"joint_states", []string{"position[0]", "position[1]", "position[2]"}, nil},
		{"arm", []string{"position[0]", "position[1]", "position[2]", "position[3]"}, nil},
		{"manual_control_setpoint", []string{"x", "y", "z"}, nil},
		{"two", []string{"x", "y"}, nil},
	} {
		e, err := newEntry(0, &dataset.Episode{Streams: []dataset.Stream{stream(t, tt.stream, 0, 10, 1, tt.names, func(float64, int) float32 { return 0 })}})
		require.NoError(t, err)
		assert.Equal(t, append([]track{}, tt.want...), e.tracks(), tt.stream)
	}
}

func TestWhoWaitsForAnEpisodeSharesIt(t *testing.T) {
	m := robots(t, 1)
	s := serve(t, m, Options{})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { assert.Equal(t, http.StatusOK, get(s, "/api/episodes/0").StatusCode) })
	}
	all.Wait()
	assert.Equal(t, int64(1), m.reads.Load())
}

// Who is gone before an episode is read has asked for it all the same: it is kept from the moment it is no longer being read, so that who comes next finds it.
func TestAnEpisodeIsKeptThoughWhoAskedIsGone(t *testing.T) {
	s := serve(t, robots(t, 3), Options{})
	ctx, leave := context.WithCancel(context.Background())
	leave()
	s.get(ctx, 2, latest)
	for {
		s.episodes.Lock()
		read, kept := s.episodes.reading[2] == nil, len(s.episodes.recent)
		s.episodes.Unlock()
		if read {
			assert.Equal(t, 1, kept)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestMemoryHasAnEnd(t *testing.T) {
	m := &memory{}
	for i := range 6 {
		m.list = append(m.list, func() (*dataset.Episode, error) { return robot(t, 2*i), nil })
	}
	s := serve(t, m, Options{Memory: 2 * robot(t, 0).Bytes() * 5 / 4})
	for i := range 6 {
		require.Equal(t, http.StatusOK, get(s, "/api/episodes/"+string(rune('0'+i))).StatusCode)
		s.episodes.Lock()
		assert.LessOrEqual(t, len(s.episodes.recent), 2)
		assert.LessOrEqual(t, s.episodes.bytes, s.opt.Memory)
		assert.Equal(t, i, s.episodes.recent[len(s.episodes.recent)-1].number)
		s.episodes.Unlock()
	}
}

// The episode that is read ahead is dropped before the one that is looked at, if there is no room for both.
func TestReadingAheadDoesNotDropWhatIsLookedAt(t *testing.T) {
	m := &memory{}
	for i := range 6 {
		m.list = append(m.list, func() (*dataset.Episode, error) { return robot(t, i), nil })
	}
	s := serve(t, m, Options{Memory: robot(t, 0).Bytes() * 3 / 2})
	require.Equal(t, http.StatusOK, get(s, "/api/episodes/0").StatusCode)
	require.Equal(t, http.StatusOK, get(s, "/api/episodes/1?ahead").StatusCode)
	assert.Equal(t, 0, s.episodes.recent[0].number)
	s = serve(t, m, Options{})
	for i, path := range []string{"0", "1", "2?ahead", "0?ahead"} {
		require.Equal(t, http.StatusOK, get(s, "/api/episodes/"+path).StatusCode, i)
	}
	var order []int
	for _, e := range s.episodes.recent {
		order = append(order, e.number)
	}
	assert.Equal(t, []int{0, 2, 1}, order)
}

// What a plan makes of an episode, which may be far more than the episode, is kept of the latest two alone.
func TestWhatPlansMakeIsKeptOfTheLatestEpisodes(t *testing.T) {
	m := &memory{}
	for i := range 6 {
		m.list = append(m.list, func() (*dataset.Episode, error) { return robot(t, i), nil })
	}
	s := serve(t, m, Options{})
	for i := range 6 {
		require.Equal(t, http.StatusOK, get(s, fmt.Sprintf("/api/episodes/%d/series?stream=joints&hz=100", i)).StatusCode)
	}
	require.Len(t, s.episodes.recent, 6)
	for i, e := range s.episodes.recent {
		assert.Equal(t, i >= 4, len(e.resamplings) > 0, i)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	before := runtime.NumGoroutine()
	s, err := New(robots(t, 3), Options{})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()
	r, err := http.Get("http://" + l.Addr().String() + "/api/episodes/0?token=" + s.token)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, s.Close())
	http.DefaultClient.CloseIdleConnections()
	for end := time.Now().Add(browsertest.Patience); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "goroutines are left")
}

// falls is a video whose decoder panics after some frames. One frame is damaged.
type falls struct{ after, damaged int }

func (falls) ReadFrame(context.Context, int) ([]byte, error) { panic("a mistake") }

func (f falls) DecodeFrames(_ context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		for i := from; i < to; i++ {
			if i >= f.after {
				panic("a mistake")
			}
			var err error
			if i == f.damaged {
				err = fmt.Errorf("frame %d: %w", i, dataset.ErrCorrupt)
			}
			if !yield(tensor.Must(tensor.Of(make([]uint8, 16*16*3), 16, 16, 3)), err) {
				return
			}
		}
	}
}

func TestADecoderThatFallsCostsItsFrames(t *testing.T) {
	e := robot(t, 0)
	e.Media[0].Encoding, e.Media[0].Source = "h264", falls{3, -1}
	s := serve(t, &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) { return e, nil }}}, Options{})
	assert.Equal(t, http.StatusOK, get(s, "/api/episodes/0/frame?camera=front&at=0.1").StatusCode)
	assert.Equal(t, http.StatusUnprocessableEntity, get(s, "/api/episodes/0/frame?camera=front&at=0.5").StatusCode)
	assert.Equal(t, http.StatusUnprocessableEntity, get(s, "/api/episodes/0/thumbnail").StatusCode)
}

func TestADamagedFrameCostsItself(t *testing.T) {
	e := robot(t, 0)
	e.Media[0].Encoding, e.Media[0].Source = "h264", falls{e.Media[0].Len(), 2}
	s := serve(t, &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) { return e, nil }}}, Options{})
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusUnprocessableEntity, http.StatusOK} {
		at := float64(e.Media[0].Times[i]-e.Media[0].Times[0])/1e9 + 1e-6
		assert.Equal(t, want, get(s, fmt.Sprintf("/api/episodes/0/frame?camera=front&at=%f", at)).StatusCode, i)
	}
}

func TestAnErrorOfTheSystemIsNoBrokenRecording(t *testing.T) {
	answer := httptest.NewRecorder()
	failWith(answer, &fs.PathError{Op: "read", Path: "a.mcap", Err: syscall.EIO})
	assert.Equal(t, http.StatusServiceUnavailable, answer.Code)
	assert.Contains(t, answer.Body.String(), "read a.mcap: input/output error")
}

// Requests and answers have the dataset's own numbers of episodes.
func TestEpisodesHaveTheNumbersOfTheDataset(t *testing.T) {
	d := robots(t, 3)
	d.info.Numbers = []int{3, 7, 12}
	s := serve(t, d, Options{})
	assert.Equal(t, []int{3, 7, 12}, getJSON[struct{ Numbers []int }](t, s, "/api/dataset").Numbers)
	assert.Equal(t, "run_2", getJSON[episodeJSON](t, s, "/api/episodes/12").Name)
	assert.Equal(t, 12, getJSON[episodeJSON](t, s, "/api/episodes/12").Number)
	for path, want := range map[string]int{"/api/episodes/0": 404, "/api/episodes/7": 422, "/api/episodes/3/thumbnail": 200} {
		assert.Equal(t, want, get(s, path).StatusCode, path)
	}
	var numbers []int
	require.Eventually(t, func() bool {
		list := getJSON[struct {
			Episodes []summary
			Done     bool
		}](t, s, "/api/episodes")
		numbers = nil
		for _, e := range list.Episodes {
			if !slices.Contains(numbers, e.Number) {
				numbers = append(numbers, e.Number)
			}
		}
		return list.Done
	}, browsertest.Patience, 10*time.Millisecond)
	assert.ElementsMatch(t, []int{3, 7, 12}, numbers)
}
