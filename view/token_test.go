package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// The printed address opens the page, and nothing else does.
func TestThePrintedAddressOpensThePage(t *testing.T) {
	s, other := serve(t, robots(t, 1), Options{}), serve(t, robots(t, 1), Options{})
	assert.Regexp(t, `^[0-9a-f]{32}$`, s.token)
	assert.NotEqual(t, s.token, other.token)
	server := httptest.NewServer(s)
	defer server.Close()
	host := server.Listener.Addr().String()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	status := func(url string) int {
		r, err := browser.Get(url)
		require.NoError(t, err)
		defer r.Body.Close()
		if r.StatusCode == http.StatusForbidden {
			var said struct{ Error string }
			require.NoError(t, json.NewDecoder(r.Body).Decode(&said))
			assert.Contains(t, said.Error, "open the address that the program printed")
		}
		return r.StatusCode
	}
	refused := []string{"/", "/api/dataset", "/app.js", "/api/episodes/0/thumbnail", "/?token=", "/?token=" + other.token, "/?token=" + s.token[:31], "/?token=" + strings.ToUpper(s.token) + "0",
		"/?Token=" + s.token, "/#token=" + s.token}
	for _, path := range refused {
		assert.Equal(t, http.StatusForbidden, status(server.URL+path), path)
	}
	assert.Equal(t, http.StatusOK, status(server.URL+"/api/dataset?token="+s.token), "a program has no cookie")
	assert.Equal(t, http.StatusForbidden, status(server.URL+"/"), "and gets none")

	w, page := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, server.URL+"/", nil)
	page.Header.Set("Accept", "text/html,*/*")
	s.ServeHTTP(w, page)
	assert.Equal(t, http.StatusForbidden, w.Code)
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"), "a browser gets a page")
	assert.Contains(t, w.Body.String(), "open the address that the program printed")

	r, err := browser.Get(s.URL(host))
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	assert.Equal(t, http.StatusSeeOther, r.StatusCode)
	to, err := r.Location()
	require.NoError(t, err)
	assert.Equal(t, server.URL+"/", to.String())
	require.Len(t, r.Cookies(), 1)
	c := r.Cookies()[0]
	assert.True(t, c.HttpOnly)
	assert.Equal(t, http.SameSiteStrictMode, c.SameSite)
	assert.Contains(t, c.Name, server.URL[strings.LastIndexByte(server.URL, ':')+1:], "servers at other ports keep theirs")
	for _, path := range []string{"/", "/api/dataset", "/app.js", "/?token=" + other.token} {
		assert.Equal(t, http.StatusOK, status(server.URL+path), path)
	}
	stale := httptest.NewRequest(http.MethodGet, server.URL+"/", nil)
	stale.AddCookie(c)
	w = httptest.NewRecorder()
	other.ServeHTTP(w, stale)
	assert.Equal(t, http.StatusForbidden, w.Code, "the cookie of an earlier server at this port")
}

func TestAnotherSiteLeadsNowhereWithoutTheToken(t *testing.T) {
	s := serve(t, robots(t, 1), Options{})
	for _, site := range []string{"cross-site", "same-site", "same-origin", "none", ""} {
		for _, mode := range []string{"navigate", "no-cors", "cors", "websocket", ""} {
			for _, token := range []bool{false, true} {
				w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost:7380/", nil)
				if token {
					r = httptest.NewRequest(http.MethodGet, s.URL("localhost:7380"), nil)
				}
				r.AddCookie(&http.Cookie{Name: "robocache-view-7380", Value: s.token})
				r.Header.Set("Sec-Fetch-Site", site)
				r.Header.Set("Sec-Fetch-Mode", mode)
				s.ServeHTTP(w, r)
				want := http.StatusOK
				switch {
				case site == "cross-site" && !token:
					want = http.StatusForbidden
				case site != "cross-site" && token:
					want = http.StatusSeeOther
				}
				assert.Equal(t, want, w.Code, "%s %s %v", site, mode, token)
				assert.Equal(t, token, w.Header().Get("Set-Cookie") != "")
			}
		}
	}
}

// A page from another origin on this machine, or from a name that leads here, has the browser's cookie and is refused by its origin.
func TestAnotherOriginIsRefusedWithoutTheToken(t *testing.T) {
	s := serve(t, robots(t, 1), Options{})
	for origin, want := range map[string]int{
		"": http.StatusOK, "http://localhost:7380": http.StatusOK, "https://localhost:7380": http.StatusOK,
		"http://localhost:8000": http.StatusForbidden, "http://localhost": http.StatusForbidden, "http://evil.example": http.StatusForbidden,
		"http://evil.example:7380": http.StatusForbidden, "null": http.StatusForbidden,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost:7380/api/dataset", nil)
		r.AddCookie(&http.Cookie{Name: "robocache-view-7380", Value: s.token})
		r.Header.Set("Origin", origin)
		s.ServeHTTP(w, r)
		assert.Equal(t, want, w.Code, "origin %q", origin)
		assert.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}
}

// In a browser: the token leaves the address, a link in a mail opens the page if it has the token, and the page waits for its turn to resample.
func TestAPageIsOpenedByItsLinkAndWaitsForItsTurn(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	s := serve(t, robots(t, 1), Options{})
	server := httptest.NewServer(s)
	defer server.Close()
	url := s.URL(server.Listener.Addr().String())
	mail := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a id="bare" href="%s/">bare</a> <a id="whole" href="%s">whole</a>`, server.URL, url)
	}))
	defer mail.Close()
	elsewhere := strings.Replace(mail.URL, "127.0.0.1", "localhost", 1)

	p := b.Open(elsewhere, 1200, 800)
	p.Eval(`document.querySelector("#whole").click()`, nil)
	p.Wait(`location.host === "` + server.Listener.Addr().String() + `" && location.href.indexOf("token") < 0 && document.querySelectorAll(".uplot").length === 2`)
	cookies := ""
	p.Eval(`document.cookie`, &cookies)
	assert.Empty(t, cookies, "no script reads it")

	s.busy.Lock()
	p.Key("r")
	asked := `performance.getEntriesByType("resource").filter(r => r.name.includes("hz=200")).length`
	p.Wait(asked + ` >= 2`)
	s.busy.Unlock()
	p.Wait(asked + ` >= 4`)
	p.Wait(`[...document.querySelectorAll(".stream .wrong-text")].every(e => !e.textContent)`)

	q := b.Open(elsewhere, 1200, 800)
	q.Eval(`document.querySelector("#bare").click()`, nil)
	q.Wait(`document.body?.textContent.includes("requested by another site's page")`)
	q = b.Open(url+"#e=0&t=4", 1200, 800)
	q.Wait(`/^4\.0/.test(document.querySelector("#time").textContent) && location.search === ""`)
}

// The resampling that is at work is shared, another one is for later, and one that fails or ends lets the next begin.
func TestOneResamplingAtATime(t *testing.T) {
	s := serve(t, robots(t, 3), Options{})
	ask := func(episode int, hz string) *http.Response {
		return get(s, fmt.Sprintf("/api/episodes/%d/series?stream=joints&width=100%s", episode, hz))
	}
	require.Equal(t, http.StatusOK, ask(0, "&hz=20").StatusCode)
	s.busy.Lock()
	for _, episode := range []int{0, 2} {
		r := ask(episode, "&hz=100")
		assert.Equal(t, http.StatusTooManyRequests, r.StatusCode)
		assert.Equal(t, "1", r.Header.Get("Retry-After"))
		assert.Equal(t, http.StatusOK, ask(episode, "").StatusCode, "samples wait for nothing")
	}
	assert.Equal(t, http.StatusOK, ask(0, "&hz=20").StatusCode, "made already")
	s.busy.Unlock()
	assert.Equal(t, http.StatusOK, ask(0, "&hz=1e6").StatusCode, "too many numbers, which the answer has")

	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { assert.Equal(t, http.StatusOK, ask(0, "&hz=500").StatusCode, "the same one") })
	}
	all.Wait()
	for i := range 16 {
		all.Go(func() {
			for {
				switch r := ask(i%2*2, fmt.Sprint("&hz=", 600+i)); r.StatusCode {
				case http.StatusOK:
					return
				case http.StatusTooManyRequests:
					time.Sleep(time.Millisecond)
				default:
					assert.Fail(t, "status", "%d", r.StatusCode)
					return
				}
			}
		})
	}
	all.Wait()
	assert.True(t, s.busy.TryLock(), "free again")
}
