package view

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// held is a dataset of episodes that are in memory.
func held(list ...*dataset.Episode) *memory {
	m := &memory{}
	for _, e := range list {
		m.list = append(m.list, func() (*dataset.Episode, error) { return e, nil })
	}
	return m
}

// openPage opens the page of a dataset in a browser.
func openPage(t *testing.T, b *browsertest.Browser, m *memory, where string) *browsertest.Page {
	viewer := serve(t, m, Options{})
	server := httptest.NewServer(viewer)
	t.Cleanup(server.Close)
	p := b.Open(viewer.URL(server.Listener.Addr().String())+where, 1200, 800)
	p.Wait(`document.querySelector("#side h2")`)
	return p
}

func evaluated[T any](p *browsertest.Page, script string) (v T) {
	p.Eval(script, &v)
	return v
}

// Times and ids are hidden by name and listed; a click shows or hides a column, and a hidden one has no value.
func TestHiddenColumnsAreListedAndHaveNoValues(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	one := func(name string, names ...string) *dataset.Episode {
		return &dataset.Episode{Name: name, Streams: []dataset.Stream{stream(t, "gps", epoch, 50, 10, names, func(s float64, k int) float32 {
			return map[string]float32{"x": float32(math.Sin(s)), "y": 2, "z": 4e6, "time": float32(s), "id": 7}[names[k]]
		})}}
	}
	p := openPage(t, b, held(one("a", "time", "x", "y", "z", "id"), one("b", "z", "id", "x", "y", "time")), "")
	p.Settle()
	p.Eval(`document.querySelector("#only-found").click()`, nil)
	assert.Equal(t, 0, evaluated[int](p, `document.querySelectorAll(".episode").length`), "no episode has a finding")
	p.Eval(`document.querySelector("#only-found").click()`, nil)
	assert.Equal(t, 2, evaluated[int](p, `document.querySelectorAll(".episode").length`))
	const legend = `Object.fromEntries([...document.querySelectorAll(".legend button")].map(s => [s.childNodes[1].textContent.trim(), s.querySelector("b").textContent]))`
	const note = `document.querySelector(".aside").textContent`
	p.Wait(`document.querySelector(".u-over") && document.querySelectorAll(".legend b")[3].textContent`)
	assert.Equal(t, "2 hidden: time, id", evaluated[string](p, note))
	assert.Equal(t, map[string]string{"time": "", "x": "0", "y": "2", "z": "4000000", "id": ""}, evaluated[map[string]string](p, legend))
	p.Eval(`document.querySelectorAll(".legend button")[3].click()`, nil)
	p.Wait(`document.querySelectorAll(".legend b")[3].textContent === ""`)
	assert.Equal(t, "3 hidden: time, z, id", evaluated[string](p, note))

	// In the next episode, whose columns are in another order, the same are hidden.
	p.Key("j")
	p.Wait(`document.querySelector("#episode").textContent === "1 · b"`)
	p.Wait(`document.querySelectorAll(".legend b")[2].textContent !== ""`)
	assert.Equal(t, "3 hidden: z, id, time", evaluated[string](p, note))
	assert.Equal(t, map[string]string{"time": "", "x": "0", "y": "2", "z": "", "id": ""}, evaluated[map[string]string](p, legend))
	assert.Empty(t, p.Errors())
}

// pixels returns the part of a page's picture in a box.
func pixels(t *testing.T, p *browsertest.Page, box image.Rectangle) (list [][3]uint8) {
	im, err := png.Decode(bytes.NewReader(p.Screenshot()))
	require.NoError(t, err)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			r, g, b, _ := im.At(x, y).RGBA()
			list = append(list, [3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)})
		}
	}
	return list
}

func TestTheCursorCoversNoCurve(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	e := &dataset.Episode{Name: "step", Streams: []dataset.Stream{stream(t, "v", epoch, 50, 10, []string{"u", "v"}, func(s float64, k int) float32 {
		return float32(math.Floor(s/4.3)) * float32(k)
	})}}
	e.Streams[0].Columns[1].Integer = true // so that the step at 4.3 s is a vertical line
	made := held(e)
	made.info.Notes = dataset.Notes{{Code: dataset.CodeLogClock, Subject: "runs", Count: 1}}
	p := openPage(t, b, made, "#e=0&t=4.3")
	p.Settle()
	assert.Contains(t, evaluated[string](p, `document.querySelector("#side").textContent`), "Remarksruns: ", "notes about the dataset")
	over := p.Box(".u-over")
	x := int(over.X + over.Width*0.43)
	lines := 0
	for _, c := range pixels(t, p, image.Rect(x-2, int(over.Y)+10, x+3, int(over.Y+over.Height)-10)) {
		if c[0] > 0xa0 && c[2] < 0x80 { // orange, also where it is blended with what lies below
			lines++
		}
	}
	assert.Greater(t, lines, 100, "pixels of the curve's colour at the cursor")
}

func TestMarksAreDrawnOverAllPlaces(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	e := &dataset.Episode{Name: "wild", Streams: []dataset.Stream{stream(t, "imu", epoch, 200, 40, []string{"a", "b"}, func(s float64, k int) float32 {
		if k == 0 && math.Mod(math.Round(s*200), 4) == 1 {
			return float32(math.NaN())
		}
		return float32(math.Sin(s * float64(k+1)))
	})}}
	p := openPage(t, b, held(e), "")
	p.Settle()
	over := p.Box(".u-over")
	for tenth := range 10 {
		from, marks := int(over.X+over.Width*float64(tenth)/10), 0
		for _, c := range pixels(t, p, image.Rect(from, int(over.Y)-5, from+int(over.Width/10), int(over.Y))) {
			if c == [3]uint8{0xc6, 0x28, 0x28} {
				marks++
			}
		}
		assert.Greater(t, marks, 40, "marks in part %d of 10", tenth)
	}
}

// lateFrames come when they are let go.
type lateFrames struct {
	pictures
	letGo chan struct{}
}

func (s lateFrames) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	select {
	case <-s.letGo:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.pictures.ReadFrame(ctx, i)
}

func TestAFrameNeverStandsUnderAnotherTitle(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	first, second := robot(t, 0), robot(t, 1)
	letGo := make(chan struct{})
	second.Media[0].Source = lateFrames{pictures{64, 48}, letGo}
	p := openPage(t, b, held(first, second), "")
	const drawn = `(c => c.width === 64 && c.getContext("2d").getImageData(32, 24, 1, 1).data[3] === 255)(document.querySelector(".camera canvas"))`
	p.Wait(drawn)
	p.Key("j")
	p.Wait(`document.querySelector("#episode").textContent === "1 · run_1" && browsertest.requests.some(r => r.startsWith("api/episodes/1/frame"))`)
	assert.False(t, evaluated[bool](p, drawn), "the frame of run_0 below the title of run_1")
	assert.Equal(t, "", evaluated[string](p, `document.querySelector(".camera .caption").textContent`))
	close(letGo)
	p.Wait(drawn)
}

// A page that another server answers, for example after another recording was opened at the same port, is loaded anew: at the next request, or when the
// page looks for its server.
func TestAnotherServerIsAnotherPage(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	named := func(name string) *Server {
		first, second := robot(t, 0), robot(t, 1)
		first.Name, second.Name = name, name
		return serve(t, held(first, second), Options{})
	}
	for name, do := range map[string]string{"request": `dispatchEvent(new KeyboardEvent("keydown", { key: "j" }))`, "look": `document.dispatchEvent(new Event("visibilitychange"))`} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Pointer[Server]
			now.Store(named("old"))
			var loaded atomic.Int32
			ended := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead && name == "request" { // the page's look for its server has no answer
					<-ended
				}
				now.Load().ServeHTTP(w, r)
				if r.URL.Path == "/app.js" {
					loaded.Add(1)
				}
			}))
			defer server.Close()
			defer close(ended)
			p := b.Open(now.Load().URL(server.Listener.Addr().String()), 1200, 800)
			p.Settle()
			before := loaded.Load()
			next := named("new")
			next.token = now.Load().token // so that the browser's cookie is right
			now.Store(next)
			p.Eval(do, nil)
			require.Eventually(t, func() bool { return loaded.Load() > before }, browsertest.Patience, 10*time.Millisecond)
			p.Wait(`/ · new$/.test(document.querySelector("#episode").textContent)`)
			p.Wait(`[...document.querySelectorAll(".episode")].every(e => !e.textContent.includes("old"))`)
		})
	}
}

func TestStepsAreShownAsSteps(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	e := robot(t, 0)
	e.Streams = []dataset.Stream{stream(t, "actions", 0, 1, 9, []string{"x", "y"}, func(s float64, k int) float32 { return float32(s) })}
	e.Media, e.Clouds, e.Steps = nil, nil, true
	p := openPage(t, b, held(e, e), "")
	p.Settle()
	text := evaluated[string](p, `document.body.innerText`)
	assert.Contains(t, text, "step 0 / 10 steps")
	assert.Equal(t, 3, strings.Count(text, "\n10 steps"), "twice in the list, and beside the findings: %s", text)
	assert.NotContains(t, text, "Hz")
	p.Key("ArrowRight")
	p.Wait(fmt.Sprintf(`document.querySelector("#time").textContent === %q`, "step 1 / 10 steps"))
}
