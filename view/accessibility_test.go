package view

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// misplaced lists the controls that are outside of the window or below another element, and parts of the page that are too small for use.
const misplaced = `(() => {
	const out = [], visible = e => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
	const drawn = (e, x, y) => { // whether no part of the page that scrolls hides the place
		for (let p = e.parentElement; p; p = p.parentElement) {
			const b = p.getBoundingClientRect();
			if (getComputedStyle(p).overflow !== "visible" && (x < b.left || x > b.right || y < b.top || y > b.bottom)) return false;
		}
		return x >= 0 && y >= 0 && x <= innerWidth && y <= innerHeight;
	};
	if (document.documentElement.scrollWidth > innerWidth) out.push("the page scrolls sideways");
	for (const e of document.querySelectorAll("button, input, select, [tabindex='0']")) {
		const b = e.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2, name = e.id || e.className + " " + e.textContent;
		if (!visible(e)) continue;
		if ((b.left < 0 || b.right > innerWidth) && !e.closest("#scenes")) out.push(name + " is outside: " + [b.left, b.right]);
		if (drawn(e, x, y) && !e.contains(document.elementFromPoint(x, y)) && !e.labels?.[0]?.contains(document.elementFromPoint(x, y))) out.push(name + " is covered");
	}
	for (const [part, wide, high] of [["#streams", 300, 250], [".u-over", 250, 60], ["#overview", 300, 40], ["#scenes", 300, 120]]) {
		const b = document.querySelector(part).getBoundingClientRect();
		if (b.width < wide || b.height < high) out.push(part + " is small: " + [b.width, b.height]);
	}
	return out;
})()`

// Nothing is outside or covered at the widths of a phone, a tablet, a laptop and a large screen, and axe-core finds no violation in either theme.
// Then fingers and the keyboard work the same page. axe-core takes half a second for each of its 16 pages with list, plots, camera, cloud and findings,
// so the default set checks the widest page in both themes, and in the dark theme the narrowest page, its drawer of findings, its controls and its keys.
func TestThePageFitsAndIsAccessible(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	viewer := serve(t, robots(t, 5), Options{})
	server := httptest.NewServer(viewer)
	defer server.Close()
	p := b.Open(viewer.URL(server.Listener.Addr().String()), 1920, 900)
	p.Wait(`document.querySelectorAll(".uplot").length === 2 && document.querySelectorAll(".badge").length === 5 && document.querySelectorAll(".finding").length === 2`)
	p.Wait(`/points/.test(document.querySelector(".space3d .caption").textContent)`)
	for _, dark := range []bool{true, false} {
		accessible := func(at string, always bool) {
			if always || thorough.Long {
				assert.Empty(t, p.Violations(), "%s, dark %v", at, dark)
			}
		}
		p.Dark(dark) // the plots are drawn again
		widths := []int{1920, 1024, 768, 390}
		if !dark {
			widths = widths[:thorough.Of(1, 4)] // the theme moves nothing
		}
		for _, width := range widths {
			p.Resize(width, 844)
			p.Settle()
			assert.Equal(t, 2, evaluated[int](p, `document.querySelectorAll(".u-over").length`))
			at := fmt.Sprintf("%d pixels, dark %v", width, dark)
			assert.Empty(t, evaluated[[]string](p, misplaced), at)
			accessible(at, width == 1920 || width == 390 && dark)
		}
		if !dark && !thorough.Long {
			break
		}
		for button, drawer := range map[string]string{"show-list": "list", "show-side": "side"} {
			p.Eval(`document.querySelector("#`+button+`").click()`, nil)
			assert.True(t, evaluated[bool](p, `document.querySelector("#`+drawer+`").contains(document.activeElement)`), "the focus is in the drawer")
			accessible(drawer, dark && drawer == "side")
			p.Key("Escape")
			assert.Equal(t, button, evaluated[string](p, `document.activeElement.id`), "the focus is back")
		}
		p.Eval(`document.querySelector("#more").click()`, nil)
		assert.True(t, evaluated[bool](p, `document.querySelector("#theme").checkVisibility()`), "a phone has all controls")
		assert.Empty(t, evaluated[[]string](p, misplaced))
		accessible("all controls", dark)
		p.Eval(`document.querySelector("#more").click()`, nil)
		p.Key("?")
		accessible("keys", dark)
		p.Key("Escape")
	}
	p.Resize(390, 844)
	fingersZoomAndMoveAPlot(t, p)
	p.Resize(1400, 900)
	p.Settle()
	theKeyboardReachesEverything(t, p)
}

// A tap in a plot moves the cursor, two fingers zoom about the moments below them, and one moves the shown time.
func fingersZoomAndMoveAPlot(t *testing.T, p *browsertest.Page) {
	shown := func() (from, to float64) {
		p.Settle()
		v := evaluated[[]float64](p, `["from", "to"].map(k => +new URLSearchParams(location.hash.slice(1)).get(k))`)
		return v[0], v[1]
	}
	p.Settle()
	plot := p.Box(".u-over")
	at := func(x float64) [2]float64 { return [2]float64{plot.X + x*plot.Width, plot.Y + 30} }
	p.Fingers([2][2]float64{at(0.5), at(0.5)})
	p.Wait(`/^5\.0/.test(document.querySelector("#time").textContent)`)
	p.Fingers([2][2]float64{at(0.4), at(0.2)}, [2][2]float64{at(0.6), at(0.8)}) // 4 s and 6 s go to 20 % and 80 %
	from, to := shown()
	assert.InDelta(t, 10.0/3, from, 0.05)
	assert.InDelta(t, 20.0/3, to, 0.05)
	p.Fingers([2][2]float64{at(0.3), at(0.6)})
	from, to = shown()
	assert.InDelta(t, 10.0/3-1, from, 0.1)
	assert.InDelta(t, 20.0/3-1, to, 0.1)
}

// The tab key reaches each control in the order of reading and shows where it is; space presses the focused button, and plays if there is none.
func theKeyboardReachesEverything(t *testing.T, p *browsertest.Page) {
	// A control is named by its id, or by its part of the page.
	const focused = `(e => e === document.body ? "" : (e.id || e.closest(".episode, .legend, .stream, .finding, .space3d, .camera, #side")?.className || e.tagName))(document.activeElement)`
	const outlined = `getComputedStyle(document.activeElement).outlineStyle`
	var order []string
	p.Eval(`document.querySelector("#filter").focus()`, nil)
	for ; len(order) < 60; p.Key("Tab") {
		name := evaluated[string](p, focused)
		if name == "" {
			break
		}
		assert.Equal(t, "solid", evaluated[string](p, outlined), "the focus is seen on %s", name)
		order = append(order, strings.Fields(name)[0])
	}
	want := []string{"filter", "only-found", "only-marked", "copy", "episode", "previous", "next", "mark", "play", "speed", "out", "made-on", "hz", "keys", "overview", "scene",
		"stream", "legend", "stream", "legend", "finding"}
	order = slices.DeleteFunc(slices.Compact(order), func(s string) bool { return s == "scenes" })
	for _, name := range want {
		at := slices.Index(order, name)
		if assert.GreaterOrEqual(t, at, 0, "%s in %q", name, order) {
			order = order[at+1:]
		}
	}

	playing := func() bool { return evaluated[string](p, `document.querySelector("#play").textContent`) != "▶" }
	p.Eval(`document.querySelector("#mark").focus()`, nil)
	p.Key(" ")
	assert.Equal(t, "★", evaluated[string](p, `document.querySelector("#mark").textContent`), "space presses the button")
	assert.False(t, playing())
	p.Eval(`document.querySelector(".legend button").focus()`, nil)
	p.Key("ArrowRight")
	p.Key(" ")
	p.Wait(`document.querySelectorAll(".legend button")[1].classList.contains("off")`)
	p.Eval(`document.querySelector(".episode").focus()`, nil)
	p.Key("ArrowDown")
	p.Key("ArrowDown")
	p.Wait(`document.querySelector("#episode").textContent === "2 · run_2" && document.activeElement.dataset.number === "2"`)
	p.Eval(`document.activeElement.blur()`, nil)
	p.Key(" ")
	assert.True(t, playing(), "no control has the focus")
	p.Key(" ")
	assert.False(t, playing())

	// A control that the mouse pressed has no focus.
	box := p.Box("#out")
	p.Click(box.X+5, box.Y+5)
	p.Key(" ")
	assert.True(t, playing(), "after a click")

	p.Key("?")
	listed := evaluated[[]string](p, `[...document.querySelectorAll("#help kbd")].map(k => k.textContent)`)
	names := map[string]string{" ": "space", "ArrowDown": "↓", "ArrowUp": "↑", "ArrowLeft": "←", "ArrowRight": "→", "Home": "home", "End": "end", "Escape": "esc", "=": "+"}
	for _, key := range evaluated[[]string](p, `import("./app.js").then(m => Object.keys(m.keys))`) {
		if n, ok := names[key]; ok {
			key = n
		}
		assert.Contains(t, listed, key, "the key is in the list")
	}
}

// An empty recording, an episode that cannot be read and a server that ended have pages with the cause and the cure.
func TestPagesForTroubleNameTheCure(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	d := robots(t, 4)
	d.list[0] = func() (*dataset.Episode, error) { return &dataset.Episode{Name: "run_0"}, nil }
	d.list[3] = func() (*dataset.Episode, error) {
		return &dataset.Episode{Name: "run_3", Notes: dataset.Notes{{Code: dataset.CodeNotClosed, Count: 1}}}, nil
	}
	viewer := serve(t, d, Options{})
	server := httptest.NewServer(viewer)
	at := server.Listener.Addr().String()
	p := b.Open(viewer.URL(at), 1024, 700)
	checked := 0
	shown := func(title string, texts ...string) {
		p.Wait(`document.querySelector("#message h2")?.textContent === "` + title + `"`)
		got := evaluated[string](p, `document.querySelector("#message").textContent`)
		for _, text := range texts {
			assert.Contains(t, got, text)
		}
		assert.False(t, evaluated[bool](p, `document.querySelector("#streams").checkVisibility()`))
		if checked++; checked%3 == 1 || thorough.Long { // axe-core takes half a second
			assert.Empty(t, p.Violations(), title)
		}
	}
	shown("run_0 is empty", "the episode has no samples", "its topics were published")
	p.Eval(`location.hash = "e=3"`, nil)
	shown("run_3: no sample can be read", "never closed", "Copy the file again")
	assert.NotContains(t, evaluated[string](p, `document.querySelector("#message").textContent`), "topics")
	p.Eval(`location.hash = "e=0"`, nil)
	shown("run_0 is empty", "the episode has no samples", "Leave the episode out")
	p.Key("j")
	shown("Episode 1 cannot be read", "header", "Copy the file again", "try again")
	assert.Contains(t, evaluated[string](p, `document.querySelector("#side").textContent`), "unreadable")
	p.Key("m")
	assert.Equal(t, "★", evaluated[string](p, `document.querySelector("#mark").textContent`))
	p.Key("m")
	readable := d.list[2]
	d.list[1] = readable
	p.Eval(`document.querySelector("#message button").click()`, nil)
	back := `document.querySelector("#message").hidden && document.querySelector(".stream .u-over")`
	p.Wait(back)

	server.CloseClientConnections()
	server.Close()
	p.Key("j")
	shown("The server has ended", at, "Start robocache view again")
	restart := func(h http.Handler) *httptest.Server {
		l, err := net.Listen("tcp", at)
		require.NoError(t, err)
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
		s.Start()
		return s
	}
	other := restart(serve(t, robots(t, 1), Options{}))
	shown("Another server answers", "new token")
	other.CloseClientConnections()
	other.Close()
	defer restart(viewer).Close()
	p.Wait(back + ` && document.querySelector("#episode").textContent === "2 · run_2"`)

	none := serve(t, &memory{}, Options{})
	bare := httptest.NewServer(none)
	defer bare.Close()
	p = b.Open(none.URL(bare.Listener.Addr().String()), 600, 400)
	shown("made has no episodes", "Record an episode")
}
