package view

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	_ "github.com/robocache/robocache/storage/s3" // so that dataset.Open knows it
)

// exactFrame has a camera's frame number by its caption, and the number that is painted into the picture: bit b in row b/8, column b%8.
type exactFrame struct {
	Frame, Painted int
	Tag            string
}

const readFrames = `[...document.querySelectorAll(".camera")].map(camera => {
	const shown = camera.querySelector("video, canvas"), copy = new OffscreenCanvas(64, 64).getContext("2d");
	copy.drawImage(shown, 0, 0, 64, 64);
	let painted = 0;
	for (let bit = 0; bit < 16; bit++) if (copy.getImageData(bit % 8 * 8 + 4, (bit >> 3) * 16 + 8, 1, 1).data[0] > 128) painted |= 1 << bit;
	return { frame: +(/frame (\d+)/.exec(camera.textContent)?.[1] ?? -1), painted, tag: shown.tagName };
})`

// videoPage opens a browser page with the shared videos. If played is false, the server has no videos for the browser.
func videoPage(t *testing.T, b *browsertest.Browser, played bool) (p *browsertest.Page, firstOf func(episode int) int) {
	s := serve(t, settest.Open(t, shared(t, "lerobot_v3_g1")), Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !played && strings.HasSuffix(r.URL.Path, "/video") && !r.URL.Query().Has("times") {
			http.NotFound(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return b.Open(s.URL(server.Listener.Addr().String())+"#e=2&t=1.01", 1200, 800), func(episode int) (n int) {
		for i := range episode {
			n += getJSON[episodeJSON](t, s, fmt.Sprintf("/api/episodes/%d", i)).Frames
		}
		return n
	}
}

// Frames on the screen are recognised by their painted numbers: in H.264 and AV1 that the browser plays, and in the server's pictures if it cannot.
func TestCamerasShowTheFrameAtTheCursor(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for _, tt := range []struct {
		name, tag string
		played    bool
	}{{"videos", "VIDEO", true}, {"pictures", "CANVAS", false}} {
		t.Run(tt.name, func(t *testing.T) {
			p, firstOf := videoPage(t, browsertest.Start(t), tt.played)
			if tt.played && !evaluated[bool](p, `['avc1.640028', 'av01.0.08M.08'].every(c => document.createElement("video").canPlayType('video/mp4; codecs="' + c + '"'))`) {
				t.Skip("this Chromium plays no H.264 or no AV1")
			}
			if tt.played {
				t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none")) // videos need no such program
			} else if _, err := exec.LookPath("ffmpeg"); err != nil && os.Getenv("ROBOCACHE_FFMPEG") == "" {
				t.Skip("no ffmpeg in PATH")
			}
			shows := func(episode, frame int) {
				t.Helper()
				p.Wait(fmt.Sprintf(`(list => list.length === 2 && list.every(f => f.frame === %d && f.painted === %d && f.tag === %q))(%s)`, frame, firstOf(episode)+frame, tt.tag, readFrames))
			}
			atCursor := func() int { // by the address, which follows a moment later
				p.Eval(`new Promise(d => setTimeout(d, 400))`, nil)
				return int(evaluated[float64](p, `+(new URLSearchParams(location.hash.slice(1)).get("t") ?? 0)`)*30 + 1e-3)
			}
			shows(2, 30)
			for range 3 {
				p.Key("ArrowRight")
			}
			shows(2, 33)
			p.Key("ArrowLeft")
			shows(2, 32)
			p.Key("End")
			shows(2, firstOf(3)-firstOf(2)-1)
			strip := p.Box("#overview")
			p.Drag(strip.X+strip.Width*0.3, strip.Y+20, strip.X+strip.Width*0.7, strip.Y+20)
			shows(2, atCursor())

			p.Key("j") // another episode in the same file
			shows(3, 0)
			if !tt.played {
				return // TestThePageInABrowser plays pictures
			}
			p.Eval(`(s => { s.value = "2"; s.dispatchEvent(new Event("change")); })(document.querySelector("#speed"))`, nil)
			p.Key(" ")
			p.Wait(`/frame [4-9]\d/.test(document.querySelector(".camera .caption").textContent)`)
			for range 5 {
				moment := evaluated[struct {
					Time   float64
					Frames []exactFrame
				}](p, `({ time: parseFloat(document.querySelector("#time").textContent), frames: `+readFrames+` })`)
				for _, f := range moment.Frames {
					assert.InDelta(t, moment.Time, float64(f.Frame)/30, 0.6, "seconds, while it plays")
					assert.InDelta(t, firstOf(3)+f.Frame, f.Painted, 8, "frames, while it plays")
				}
				p.Eval(`new Promise(d => setTimeout(d, 100))`, nil)
			}
			p.Key(" ")
			shows(3, atCursor())
			assert.Empty(t, p.Violations())
			assert.Empty(t, p.Errors())
		})
	}
}

func TestCamerasFillTheWidthAndHide(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	p, _ := videoPage(t, browsertest.Start(t), true)
	const shown = `[...document.querySelectorAll(".scene")].filter(s => s.checkVisibility()).map(s => s.dataset.camera.slice(19))`
	p.Wait(shown + `.length === 2`)
	camera := p.Box(".camera")
	p.DoubleClick(camera.X+50, camera.Y+60)
	assert.Equal(t, []string{"front"}, evaluated[[]string](p, shown))
	assert.InDelta(t, p.Box("#scenes").Width, p.Box(".camera").Width, 30)
	p.Key("Escape")
	assert.Equal(t, []string{"front", "wrist"}, evaluated[[]string](p, shown))
	assert.Equal(t, camera, p.Box(".camera"))
	p.Eval(`document.querySelector("#shown input").click()`, nil)
	assert.Equal(t, []string{"wrist"}, evaluated[[]string](p, shown))
	p.Eval(`location.reload()`, nil)
	p.Wait(`document.querySelectorAll("#shown input").length === 2`)
	p.Wait(shown + `.join() === "wrist"`)
}

// A browser needs parts of the file, from a disk, from an object store and in a folder with several datasets, and the frames' times.
func TestVideosAreServedByRanges(t *testing.T) {
	path := shared(t, "lerobot_v3_g1")
	s3test.Shared().PutFolder(t, "view-video", "set", path)
	two := t.TempDir()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.CopyFS(filepath.Join(two, name), os.DirFS(path)))
	}
	whole, err := os.ReadFile(filepath.Join(path, "videos/observation.images.front/chunk-000/file-000.mp4"))
	require.NoError(t, err)
	const video = "/api/episodes/2/video?camera=observation.images.front"
	for _, path := range []string{path, "s3://view-video/set", two} {
		s := serve(t, settest.Open(t, path), Options{})
		ranged := func(want string, cookie bool) *http.Response {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, video, nil)
			r.Host = "127.0.0.1:7380"
			r.Header.Set("Range", want)
			if cookie {
				r.AddCookie(&http.Cookie{Name: "robocache-view-7380", Value: s.token})
			}
			s.ServeHTTP(w, r)
			return w.Result()
		}
		for want, part := range map[string][]byte{"bytes=100-199": whole[100:200], "bytes=141000-": whole[141000:], "bytes=-10": whole[len(whole)-10:]} {
			r := ranged(want, true)
			b, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			assert.Equal(t, http.StatusPartialContent, r.StatusCode)
			assert.Equal(t, "video/mp4", r.Header.Get("Content-Type"))
			assert.Equal(t, part, b, want)
		}
		assert.Equal(t, http.StatusRequestedRangeNotSatisfiable, ranged("bytes=9999999-", true).StatusCode)
		assert.Equal(t, http.StatusForbidden, ranged("bytes=100-199", false).StatusCode, "without the token")
		assert.Equal(t, http.StatusNotFound, get(s, "/api/episodes/2/video?camera=../../etc/passwd").StatusCode)

		var times [343][2]float64
		require.NoError(t, binary.Read(get(s, video+"&times").Body, binary.LittleEndian, &times))
		for i, want := range map[int]float64{0: 872, 342: 1214} { // episodes 0 and 1 are before it in the file
			assert.InDelta(t, float64(i)/30, times[i][0], 1e-6)
			assert.InDelta(t, want/30, times[i][1], 1e-6)
		}
	}
	s := serve(t, robots(t, 1), Options{})
	assert.Equal(t, http.StatusNotFound, get(s, "/api/episodes/0/video?camera=front").StatusCode, "a camera of pictures")
}

// The shared videos have each frame's number among those of all episodes painted into its top, in 16 cells of 8 by 16 pixels: bit b in row b/8, column b%8.
func TestVideoFramesAreThoseAtTheCursor(t *testing.T) {
	path := shared(t, "lerobot_v3_g1")
	if _, err := exec.LookPath("ffmpeg"); err != nil && os.Getenv("ROBOCACHE_FFMPEG") == "" {
		t.Skip("no ffmpeg in PATH")
	}
	d := settest.Open(t, path)
	s := serve(t, d, Options{})
	const episode = 2
	first := 0
	for i := range episode {
		first += getJSON[episodeJSON](t, s, fmt.Sprintf("/api/episodes/%d", i)).Frames
	}
	for _, camera := range []string{"observation.images.front", "observation.images.wrist"} {
		for _, frame := range []int{0, 1, 31, 32, 33, 200, 63, 341} { // around the ends of what is decoded together, and back
			r := get(s, fmt.Sprintf("/api/episodes/%d/frame?camera=%s&at=%.4f&height=64", episode, camera, (float64(frame)+0.3)/30))
			require.Equal(t, http.StatusOK, r.StatusCode)
			var where struct{ Frame int }
			require.NoError(t, json.Unmarshal([]byte(r.Header.Get("Frame")), &where))
			assert.Equal(t, frame, where.Frame)
			im, err := jpeg.Decode(r.Body)
			require.NoError(t, err)
			painted := 0
			for bit := range 16 {
				if red, _, _, _ := im.At(bit%8*8+4, bit/8*16+8).RGBA(); red > 0x8000 {
					painted |= 1 << bit
				}
			}
			assert.Equal(t, first+frame, painted, "%s, frame %d", camera, frame)
		}
	}
}
