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

	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	_ "github.com/robocache/robocache/storage/s3" // so that dataset.Open knows it
)

// readFrames reads for each camera the frame number in its caption, and the number that is painted into the picture: bit b in row b/8, column b%8.
const readFrames = `[...document.querySelectorAll(".camera")].map(camera => {
	const shown = camera.querySelector("video, canvas"), copy = new OffscreenCanvas(64, 64).getContext("2d");
	copy.drawImage(shown, 0, 0, 64, 64);
	let painted = 0;
	for (let bit = 0; bit < 16; bit++) if (copy.getImageData(bit % 8 * 8 + 4, (bit >> 3) * 16 + 8, 1, 1).data[0] > 128) painted |= 1 << bit;
	return { frame: +(/frame (\d+)/.exec(camera.textContent)?.[1] ?? -1), painted, tag: shown.tagName };
})`

// both waits until the two cameras show a frame, with its painted number, in an element with a tag.
func both(p *browsertest.Page, frame, painted int, tag string) {
	p.Wait(fmt.Sprintf(`(list => list.length === 2 && list.every(f => f.frame === %d && f.painted === %d && f.tag === %q))(%s)`, frame, painted, tag, readFrames))
}

// plays is whether Chromium can play the shared videos.
const plays = `['avc1.640028', 'av01.0.08M.08'].every(c => document.createElement("video").canPlayType('video/mp4; codecs="' + c + '"'))`

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
			if tt.played && !evaluated[bool](p, plays) {
				t.Skip("this Chromium plays no H.264 or no AV1")
			}
			if tt.played {
				t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none")) // videos need no such program
			} else if _, err := exec.LookPath("ffmpeg"); err != nil && os.Getenv("ROBOCACHE_FFMPEG") == "" {
				t.Skip("no ffmpeg in PATH")
			}
			shows := func(episode, frame int) {
				t.Helper()
				both(p, frame, firstOf(episode)+frame, tt.tag)
			}
			atCursor := func() int {
				return int(evaluated[float64](p, `import("/common.js").then(c => c.state.cursor)`)*30 + 1e-3)
			}
			shows(2, 30)
			for range 3 {
				p.Key("ArrowRight")
			}
			shows(2, 33)
			if tt.played || thorough.Long { // because a picture starts ffmpeg
				p.Key("ArrowLeft")
				shows(2, 32)
			}
			p.Key("End")
			shows(2, firstOf(3)-firstOf(2)-1)
			if tt.played || thorough.Long {
				strip := p.Box("#overview")
				p.Drag(strip.X+strip.Width*0.3, strip.Y+20, strip.X+strip.Width*0.7, strip.Y+20)
				shows(2, atCursor())
			}
			p.Key("j") // another episode in the same file
			shows(3, 0)
			if !tt.played {
				return // TestThePageInABrowser plays pictures
			}
			p.Eval(`(s => { s.value = "2"; s.dispatchEvent(new Event("change")); })(document.querySelector("#speed"))`, nil)
			p.Key(" ")
			p.Key("l") // again at the end, because a busy machine may need a second turn
			p.Eval(`window.last = 0`, nil)
			for range 5 { // moments at which both pictures are those of the time, apart from the last frames
				p.Wait(fmt.Sprintf(`(time => time !== last && time > 1 && %s.every(f => Math.abs(f.frame / 30 - time) < 0.6 && Math.abs(%d + f.frame - f.painted) <= 8) && (window.last = time))(
					parseFloat(document.querySelector("#time").textContent))`, readFrames, firstOf(3)))
			}
			p.Key(" ")
			shows(3, atCursor())
			assert.Empty(t, p.Violations())
			assert.Empty(t, p.Errors())
		})
	}
}

func TestAMissingDecoderIsNoDamage(t *testing.T) {
	t.Setenv("ROBOCACHE_DEVICE", "off")
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	s := serve(t, settest.Open(t, shared(t, "lerobot_v3_g1")), Options{})
	r := get(s, "/api/episodes/0/frame?camera=observation.images.front")
	assert.Equal(t, http.StatusUnprocessableEntity, r.StatusCode)
	var answer map[string]any
	require.NoError(t, json.NewDecoder(r.Body).Decode(&answer))
	assert.Equal(t, doctor.NoDecoder, answer["what_to_do"])
}

func TestCamerasFillTheWidthAndHide(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none")) // the list needs no pictures
	p, _ := videoPage(t, browsertest.Start(t), true)
	const shown = `[...document.querySelectorAll(".scene")].filter(s => s.checkVisibility()).map(s => s.dataset.camera.slice(19))`
	p.Wait(shown + `.length === 2`)
	p.Settle()
	camera := p.Box(".camera")
	p.DoubleClick(camera.X+50, camera.Y+60)
	assert.Equal(t, []string{"front"}, evaluated[[]string](p, shown))
	assert.InDelta(t, p.Box("#scenes").Width, p.Box(".camera").Width, 30)
	p.Key("Escape")
	assert.Equal(t, []string{"front", "wrist"}, evaluated[[]string](p, shown))
	assert.Equal(t, camera, p.Box(".camera"))
	p.Eval(`document.querySelector("#shown input").click()`, nil)
	assert.Equal(t, []string{"wrist"}, evaluated[[]string](p, shown))
	p.Reload()
	p.Wait(`document.querySelectorAll("#shown input").length === 2`)
	p.Wait(shown + `.join() === "wrist"`)
}

// A frame that never comes onto the screen is replaced by the server's picture. If the server has none, the video stays, and so does the reason until the
// next frame is shown.
func TestAVideoThatMissesAFrame(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	p, firstOf := videoPage(t, browsertest.Start(t), true)
	if !evaluated[bool](p, plays) {
		t.Skip("this Chromium plays no H.264 or no AV1")
	}
	shows := func(frame int, tag string) {
		t.Helper()
		both(p, frame, firstOf(2)+frame, tag)
	}
	shows(30, "VIDEO")
	// From miss on the page draws its own frames at once, and it hears of the video's frames when the test calls hear.
	p.Eval(`{
		const own = HTMLVideoElement.prototype.requestVideoFrameCallback;
		window.late = null;
		HTMLVideoElement.prototype.requestVideoFrameCallback = function (do_) { return own.call(this, (...of) => late ? late.push(() => do_(...of)) : do_(...of)); };
		const draws = requestAnimationFrame;
		window.miss = () => { late = []; window.requestAnimationFrame = do_ => queueMicrotask(() => do_(performance.now())); };
		window.hear = () => { const list = late; late = null; window.requestAnimationFrame = draws; list.forEach(f => f()); };
	}`, nil)
	p.Key("ArrowRight")
	shows(31, "VIDEO")
	path := os.Getenv("ROBOCACHE_FFMPEG")
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	p.Eval(`miss()`, nil)
	p.Key("ArrowRight")
	const wrong = `[...document.querySelectorAll(".camera .wrong")]`
	p.Wait(wrong + `.length === 2 && ` + wrong + `.every(w => w.checkVisibility() && /ffmpeg/.test(w.textContent))`)
	assert.Equal(t, 2, evaluated[int](p, `document.querySelectorAll(".camera video").length`))
	p.Eval(`hear()`, nil)
	shows(32, "VIDEO")
	assert.True(t, evaluated[bool](p, wrong+`.every(w => w.hidden)`))

	if _, err := exec.LookPath("ffmpeg"); err != nil && path == "" {
		t.Skip("no ffmpeg in PATH")
	}
	t.Setenv("ROBOCACHE_FFMPEG", path)
	p.Eval(`miss()`, nil)
	p.Key("Home") // the server repeats an error for frames that are decoded together
	shows(0, "CANVAS")
}

// The page's time waits for a video that does not get on. The test draws the page's frames itself, ten a second.
func TestPlayingWaitsForAVideo(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	p, firstOf := videoPage(t, browsertest.Start(t), true)
	if !evaluated[bool](p, plays) {
		t.Skip("this Chromium plays no H.264 or no AV1")
	}
	both(p, 30, firstOf(2)+30, "VIDEO")
	p.Eval(`window.draws = []; window.requestAnimationFrame = do_ => draws.push(do_); HTMLMediaElement.prototype.play = async () => {}`, nil)
	p.Key(" ")
	p.Eval(`for (let n = 0, now = performance.now(); n < 50; n++) for (const draw of draws.splice(0)) draw(now += 100)`, nil)
	assert.InDelta(t, 1.3, evaluated[float64](p, `import("/common.js").then(c => c.state.cursor)`), 0.25)
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
		for _, odd := range []string{"bytes=-1-", "bytes=9223372036854775807-", "bytes=5-4", "lines=1-"} {
			assert.Equal(t, http.StatusRequestedRangeNotSatisfiable, ranged(odd, true).StatusCode, odd)
		}
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
