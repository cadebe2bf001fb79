package view

import (
	"bytes"
	"image"
	"image/png"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// seen is what the page says of itself, read from its elements as a person would.
type seen struct {
	Episode  string
	Time     string
	From, To float64 // of the time axis of the first plot
	Frame    string
	Findings []string
	Rows     int
}

const look = `(() => {
	const text = q => document.querySelector(q)?.textContent ?? '';
	const q = new URLSearchParams(location.hash.slice(1));
	return { episode: text('#episode'), time: text('#time'), frame: text('.camera .caption'), from: +(q.get('from') ?? 0), to: +(q.get('to') ?? 10),
		findings: [...document.querySelectorAll('.finding b')].map(b => b.textContent), rows: document.querySelectorAll('.episode').length };
})()`

// What a reviewer does all day: from episode to episode by the keys, zoom, look at a finding, play.
func TestThePageInABrowser(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	viewer := serve(t, robots(t, 5), Options{})
	server := httptest.NewServer(viewer)
	defer server.Close()
	p := b.Open(viewer.URL(server.Listener.Addr().String()), 1200, 800)
	state := func() (s seen) { p.Eval(look, &s); return s }
	drawn := `document.querySelectorAll(".uplot").length === 2 && document.querySelector(".camera canvas").width === 64`

	p.Wait(drawn)
	p.Wait(`document.querySelectorAll(".episode .badge.warning").length === 4 && document.querySelectorAll(".episode .badge.error").length === 1`)
	s := state()
	assert.Equal(t, "0 · run_0", s.Episode)
	assert.Equal(t, 5, s.Rows)
	assert.Contains(t, s.Findings, "gap")

	// By the keys: the next is broken and says so, the one after is there, and back.
	p.Key("j")
	p.Wait(`!document.querySelector("#message").hidden`)
	p.Key("j")
	p.Wait(`document.querySelector("#message").hidden && document.querySelector("#episode").textContent === "2 · run_2"`)
	p.Key("ArrowUp")
	p.Wait(`!document.querySelector("#message").hidden`)
	p.Key("k")
	p.Wait(`document.querySelector("#episode").textContent === "0 · run_0" && ` + drawn)

	// A drag in a plot zooms, the wheel zooms further, zero shows all again.
	p.Settle()
	plot := p.Box(`.stream[data-stream="odom"] .u-over`)
	p.Drag(plot.X+plot.Width*0.2, plot.Y+30, plot.X+plot.Width*0.6, plot.Y+30)
	p.Settle()
	s = state()
	assert.InDelta(t, 2, s.From, 0.1)
	assert.InDelta(t, 6, s.To, 0.1)
	p.Wheel(plot.X+plot.Width*0.5, plot.Y+30, -200, true)
	p.Settle()
	closer := state()
	assert.Less(t, closer.To-closer.From, 3.0)
	assert.InDelta(t, 4, (closer.From+closer.To)/2, 0.2, "about the pointer")
	p.Key("0")
	p.Settle()
	s = state()
	assert.Equal(t, [2]float64{0, 10}, [2]float64{s.From, s.To})
	p.Key("Home")
	p.Key("+")
	p.Settle()
	s = state()
	assert.Equal(t, [2]float64{0, 5}, [2]float64{s.From, s.To})
	p.Key("0")
	p.Settle()

	// A click moves the cursor, and the frame is that of the moment.
	p.Click(plot.X+plot.Width*0.75, plot.Y+30)
	p.Wait(`/frame 7[45]/.test(document.querySelector(".camera .caption").textContent)`)
	p.Key("ArrowRight")
	p.Wait(`/frame 7[56]/.test(document.querySelector(".camera .caption").textContent)`)

	// A finding shows its place.
	card := p.Box(".finding")
	p.Click(card.X+20, card.Y+10)
	p.Settle()
	s = state()
	assert.Contains(t, s.Time, "4.0")
	assert.Greater(t, s.From, 2.0)
	assert.Less(t, s.To, 6.0)

	// What a clock with the rate of the first stream makes of the samples is asked for, and drawn without a complaint.
	p.Key("r")
	p.Wait(`document.querySelector("#made-on").checked && performance.getEntriesByType("resource").some(r => r.name.includes("hz=200"))`)
	p.Settle()
	complaint := ""
	p.Eval(`document.querySelector(".stream .wrong-text").textContent`, &complaint)
	assert.Empty(t, complaint)

	// Playing moves the cursor and the frames.
	p.Key("Home")
	p.Key(" ")
	p.Wait(`/frame [5-9]/.test(document.querySelector(".camera .caption").textContent)`)
	p.Key(" ")

	// The list is filtered by what was found, and marks stay.
	p.Key("m")
	p.Key("/")
	for _, k := range "cups" {
		p.Key(string(k))
	}
	p.Wait(`document.querySelectorAll(".episode").length === 4`)
	p.Eval(`document.querySelector("#only-marked").click()`, nil)
	p.Wait(`document.querySelectorAll(".episode").length === 1 && document.querySelector(".episode .star")`)

	// Space turns, and voxels are cubes.
	cloud := p.Box(".space3d canvas")
	p.Wait(`/2,001 points/.test(document.querySelector(".space3d .caption").textContent)`)
	p.Settle()
	before := part(t, p, cloud)
	p.Drag(cloud.X+100, cloud.Y+100, cloud.X+160, cloud.Y+90)
	assert.NotEqual(t, before, part(t, p, cloud))
	p.Eval(`(v => { v.value = "0.2"; v.dispatchEvent(new Event("change")); })(document.querySelector(".choice input"))`, nil)
	p.Wait(`/voxels of 2,001 points/.test(document.querySelector(".space3d .caption").textContent)`)

	errors := p.Errors()
	for i := 0; i < len(errors); i++ { // the broken episode is one: the browser notes the status of the answer
		assert.Regexp(t, `/api/episodes/1(\?ahead)?$`, errors[i])
	}
	assert.Greater(t, colours(t, p.Screenshot()), 50, "colours on the page")
}

// part returns what is drawn in a part of the window.
func part(t *testing.T, p *browsertest.Page, box browsertest.Box) []byte {
	im, err := png.Decode(bytes.NewReader(p.Screenshot()))
	require.NoError(t, err)
	whole, ok := im.(interface {
		SubImage(image.Rectangle) image.Image
	})
	require.True(t, ok)
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, whole.SubImage(image.Rect(int(box.X), int(box.Y), int(box.X+box.Width), int(box.Y+box.Height)))))
	return b.Bytes()
}

func colours(t *testing.T, b []byte) int {
	im, err := png.Decode(bytes.NewReader(b))
	require.NoError(t, err)
	seen := map[[3]uint32]bool{}
	for y := im.Bounds().Min.Y; y < im.Bounds().Max.Y; y += 3 {
		for x := im.Bounds().Min.X; x < im.Bounds().Max.X; x += 3 {
			r, g, b, _ := im.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}
