package view

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// numberedRobot is a robot's episode. The names in it end with the episode's number, so that a request with another number is recognised.
func numberedRobot(t *testing.T, n int) *dataset.Episode {
	e := robot(t, n)
	for _, name := range []*string{&e.Streams[0].Name, &e.Streams[1].Name, &e.Media[0].Name, &e.Clouds[0].Name} {
		*name += strconv.Itoa(n)
	}
	return e
}

// heldTimers keeps the timers and the animation frames until the test calls run.
const heldTimers = `window.waiting = []; window.before = browsertest.requests.length; window.run = () => { for (const f of waiting.splice(0)) f(); };
	window.setTimeout = (f, ms, ...list) => waiting.push(() => f(...list));
	window.requestAnimationFrame = f => waiting.push(() => f(performance.now()));`

// gate is a server in front of the viewer. While it is shut, requests that shuts selects wait for open.
type gate struct {
	*httptest.Server
	shuts  atomic.Pointer[func(path string) bool]
	open   chan struct{}
	waiter atomic.Int64 // requests that waited
}

func gated(t *testing.T, viewer *Server) *gate {
	g := &gate{open: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shuts := g.shuts.Load(); shuts != nil && (*shuts)(r.URL.Path) {
			g.waiter.Add(1)
			select {
			case <-g.open:
			case <-r.Context().Done():
			}
		}
		viewer.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// Timers, animation frames and answers of an episode that come after the next one is shown request nothing from the next one.
func TestLateWorkKeepsToItsEpisode(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	viewer := serve(t, held(numberedRobot(t, 0), numberedRobot(t, 1)), Options{})
	g := gated(t, viewer)
	p := b.Open(viewer.URL(g.Listener.Addr().String()), 1200, 800)
	p.Settle()
	p.Eval(heldTimers, nil)

	shuts := func(path string) bool { return strings.HasPrefix(path, "/api/episodes/0/") }
	g.shuts.Store(&shuts)
	p.Key(" ")
	p.Eval(`run()`, nil) // the page plays: the camera requests the next frame, which waits
	p.Wait(`browsertest.requests.slice(before).some(r => r.includes("/frame"))`)
	p.Key("ArrowRight") // and so does the next cloud
	p.Key("+")          // the plots request the shorter time later
	assert.True(t, evaluated[bool](p, `waiting.length >= 3 && browsertest.requests.slice(before).some(r => r.includes("/cloud"))`))
	p.Key("j")
	p.Wait(`document.querySelector("#episode").textContent === "1 · run_1"`)
	close(g.open)
	for range 3 { // timers that start others
		p.Eval(`run()`, nil)
		p.Settle()
	}
	assert.GreaterOrEqual(t, g.waiter.Load(), int64(2))
	named := `browsertest.requests.slice(before).map(r => [/episodes\/(\d)/.exec(r)?.[1], new URL(r, location).searchParams]).flatMap(([n, q]) => ["stream", "camera", "cloud"].filter(k => q.has(k)).map(k => n + " " + q.get(k)))`
	got := evaluated[[]string](p, named)
	for _, one := range got {
		number, name, _ := strings.Cut(one, " ")
		assert.Equal(t, number, name[len(name)-1:], "the episode of %s", name)
	}
	assert.Subset(t, got, []string{"0 front0", "0 lidar0", "1 odom1", "1 joints1", "1 front1", "1 lidar1"})
	assert.Empty(t, p.Errors())
}

// An episode that is opened twice shows the moment of the later request, also if its answer comes first.
func TestTheLatestRequestWins(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	p := openPage(t, browsertest.Start(t), held(robot(t, 0), robot(t, 1)), "")
	p.Settle()
	p.Eval(`let first = new Promise(done => { window.letGo = done; }), own = fetch;
		window.fetch = async (path, options) => { const answer = await own(path, options); if (path === "api/episodes/1" && first) { const wait = first; first = null; await wait; } return answer; };
		location.hash = "e=1&t=2"`, nil)
	p.Wait(`first === null`)
	p.Eval(`location.hash = "e=1&t=5"`, nil)
	const moment = `document.querySelector("#time").textContent`
	p.Wait(moment + ` === "5.0 s / 10.0 s"`)
	p.Eval(`letGo()`, nil)
	p.Settle()
	assert.Equal(t, "5.0 s / 10.0 s", evaluated[string](p, moment))
}

// The elements of an episode that is no longer shown are freed.
func TestEarlierEpisodesAreFreed(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	p := openPage(t, browsertest.Start(t), held(robot(t, 0), robot(t, 1)), "")
	p.Eval(`window.earlier = []`, nil)
	const changes = 4
	for i := range changes {
		p.Settle()
		p.Eval(`earlier.push([...document.querySelectorAll(".stream, .uplot, .scene, #scenes canvas")].map(e => new WeakRef(e)))`, nil)
		p.Key("jk"[i%2 : i%2+1])
		p.Wait(fmt.Sprintf(`document.querySelector("#episode").textContent.startsWith("%d ")`, (i+1)%2))
	}
	p.Settle()
	p.CollectGarbage()
	left := evaluated[[]int](p, `earlier.map(list => list.filter(e => e.deref()).length)`)
	assert.Equal(t, make([]int, changes-2), left[1:changes-1], "elements of each earlier episode, without the first: uPlot keeps its first plot")
	assert.Greater(t, evaluated[int](p, `earlier[0].length`), 7)
}
