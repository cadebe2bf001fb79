package browsertest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long a test waits for an answer or a condition. A busy machine takes many seconds.
const Patience = 2 * time.Minute

// Browser is a profile in the Chromium process of a test binary. Its pages share no storage with the profiles of other tests, and the
// end of the test closes them.
type Browser struct {
	*program
	t       testing.TB
	context string
}

// program is a running Chromium. A test binary starts one process for all tests, because the start takes longer than most tests.
type program struct {
	cmd     *exec.Cmd
	folder  string
	to      io.WriteCloser
	mu      sync.Mutex
	last    int
	answers map[int]chan message
	pages   map[string]*Page // by session
	gone    chan struct{}    // closed when Chromium has closed its pipe
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

var (
	startOnce sync.Once
	shared    *program
	startErr  error
)

// Main runs the tests of a package, ends the Chromium process if they started one, and returns the exit code. TestMain of each
// package that opens pages calls it.
func Main(m *testing.M) int {
	defer func() {
		if shared != nil {
			shared.close()
		}
	}()
	return m.Run()
}

// Start returns a new profile in Chromium. It skips the test if no Chromium is installed.
func Start(t testing.TB) *Browser {
	t.Helper()
	name := os.Getenv("ROBOCACHE_CHROMIUM")
	for _, known := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			name, _ = exec.LookPath(known)
		}
	}
	if name == "" {
		t.Skip("no Chromium in PATH")
	}
	startOnce.Do(func() { shared, startErr = start(name) })
	require.NoError(t, startErr)
	var made struct{ BrowserContextID string }
	require.NoError(t, shared.call("", "Target.createBrowserContext", object{}, &made))
	t.Cleanup(func() {
		require.NoError(t, shared.call("", "Target.disposeBrowserContext", object{"browserContextId": made.BrowserContextID}, nil))
	})
	return &Browser{shared, t, made.BrowserContextID}
}

// start starts Chromium with a temporary folder for its data.
func start(name string) (*program, error) {
	folder, err := os.MkdirTemp("", "robocache-chromium-")
	if err != nil {
		return nil, err
	}
	theirs, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(name, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars", "--font-render-hinting=none",
		"--remote-debugging-pipe", "--user-data-dir="+folder, "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, theirOut} // 3, which it reads, and 4, which it writes
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	theirs.Close()
	theirOut.Close()
	p := &program{cmd: cmd, folder: folder, to: to, answers: map[int]chan message{}, pages: map[string]*Page{}, gone: make(chan struct{})}
	go p.read(from)
	return p, nil
}

// close ends Chromium and removes its folder.
func (b *program) close() {
	_ = b.send(message{ID: 1 << 30, Method: "Browser.close"}) // it may be gone already
	done := make(chan struct{})
	go func() { defer close(done); _ = b.cmd.Wait() }() // no test depends on its exit code
	select {
	case <-done:
	case <-time.After(Patience):
		_ = b.cmd.Process.Kill()
		<-done
	}
	b.to.Close()
	<-b.gone
	os.RemoveAll(b.folder)
}

// read delivers each answer to its call and each event to its page, until the pipe closes. A zero byte ends each message.
func (b *program) read(from io.ReadCloser) {
	defer close(b.gone)
	defer from.Close()
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		answer, page := b.answers[m.ID], b.pages[m.Session]
		delete(b.answers, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID != 0 && answer != nil:
			answer <- m
		case m.Method != "" && page != nil:
			page.event(m)
		}
	}
}

func (b *program) send(m message) error {
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	return err
}

// call sends a command of the DevTools protocol to the browser, or to one page if session is not empty, and waits for the answer.
func (b *program) call(session, method string, params, result any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.answers[id] = answer
	err = b.send(message{ID: id, Session: session, Method: method, Params: text})
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-b.gone:
		return fmt.Errorf("%s: the browser is gone", method)
	case <-time.After(Patience):
		return fmt.Errorf("%s: no answer in %v", method, Patience)
	}
}

// Page is a tab.
type Page struct {
	b       *Browser
	session string
	mu      sync.Mutex
	errors  []string
}

type object map[string]any

// Open opens a page in a window of width x height pixels.
func (b *Browser) Open(url string, width, height int) *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	require.NoError(b.t, b.call("", "Target.createTarget", object{"url": "about:blank", "browserContextId": b.context}, &target))
	var session struct{ SessionID string }
	require.NoError(b.t, b.call("", "Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}, &session))
	p := &Page{b: b, session: session.SessionID}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	p.call("Page.enable", object{}, nil)
	p.call("Runtime.enable", object{}, nil)
	p.call("Log.enable", object{}, nil)
	p.call("Page.addScriptToEvaluateOnNewDocument", object{"source": watch}, nil)
	p.Resize(width, height)
	p.call("Page.navigate", object{"url": url}, nil)
	p.Wait(`document.readyState === "complete" && location.href !== "about:blank"`)
	return p
}

func (p *Page) call(method string, params, result any) {
	p.b.t.Helper()
	require.NoError(p.b.t, p.b.call(p.session, method, params, result))
}

// event records an error that a page reports.
func (p *Page) event(m message) {
	var e struct {
		Type             string
		Args             []struct{ Value, Description any }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Entry struct{ Level, Text, URL string }
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	text := ""
	switch {
	case m.Method == "Runtime.exceptionThrown":
		text = e.ExceptionDetails.Text + " " + e.ExceptionDetails.Exception.Description
	case m.Method == "Runtime.consoleAPICalled" && e.Type == "error":
		text = fmt.Sprint(e.Args)
	case m.Method == "Log.entryAdded" && e.Entry.Level == "error" && !strings.Contains(e.Entry.Text, "net::ERR_ABORTED"):
		text = e.Entry.Text + " " + e.Entry.URL
	}
	if text != "" {
		p.mu.Lock()
		p.errors = append(p.errors, text)
		p.mu.Unlock()
	}
}

// Errors returns the errors that the page reported so far: exceptions, calls of console.error, and resources that could not be loaded. Requests that the page
// or a navigation aborted are no errors.
func (p *Page) Errors() []string {
	_ = p.eval("0", nil) // the page's earlier reports come before this answer
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.errors)
}

// Resize changes the window's size to width x height pixels.
func (p *Page) Resize(width, height int) {
	p.call("Emulation.setDeviceMetricsOverride", object{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Eval evaluates JavaScript and decodes its value into out, unless out is nil. If the value is a promise, Eval waits for its result.
func (p *Page) Eval(script string, out any) {
	p.b.t.Helper()
	require.NoError(p.b.t, p.eval(script, out), script)
}

func (p *Page) eval(script string, out any) error {
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := p.b.call(p.session, "Runtime.evaluate", object{"expression": script, "awaitPromise": true, "returnByValue": true}, &got); err != nil {
		return err
	}
	if e := got.ExceptionDetails; e != nil {
		return fmt.Errorf("%s %s", e.Text, e.Exception.Description)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(got.Result.Value, out)
}

// Wait waits until a JavaScript condition, or the promise of one, is true. A condition that throws counts as false, because parts of the page may be missing
// while it is being replaced.
func (p *Page) Wait(condition string) {
	p.b.t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		holds := false
		err := p.eval("(async () => !!await ("+condition+"))()", &holds)
		if holds {
			return
		}
		if time.Now().After(end) {
			require.Fail(p.b.t, "waited in vain", "%s; %v; the page complained: %q", condition, err, p.Errors())
		}
	}
}

// codes has the key codes for keys that the browser itself handles, for example by moving the focus or pressing a button.
var codes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}

// Key presses a key by its name in the DOM: "j", "ArrowLeft", " ".
func (p *Page) Key(key string) {
	p.b.t.Helper()
	down := object{"type": "keyDown", "key": key, "windowsVirtualKeyCode": codes[key]}
	if len(key) == 1 {
		down["text"] = key
	}
	p.call("Input.dispatchKeyEvent", down, nil)
	p.call("Input.dispatchKeyEvent", object{"type": "keyUp", "key": key, "windowsVirtualKeyCode": codes[key]}, nil)
}

// Click presses and releases the left button at a point of the window, in pixels.
func (p *Page) Click(x, y float64) { p.Drag(x, y, x, y) }

// DoubleClick clicks twice.
func (p *Page) DoubleClick(x, y float64) {
	p.b.t.Helper()
	for n := 1; n <= 2; n++ {
		p.mouse("left", n, 0, x, y, x, y)
	}
}

// Shift is the modifier of the shift key.
const Shift = 8

// Drag presses the left button at (x,y), moves to (toX,toY) and releases it there. modifiers are keys held down, such as Shift.
func (p *Page) Drag(x, y, toX, toY float64, modifiers ...int) {
	held := 0
	for _, m := range modifiers {
		held |= m
	}
	p.mouse("left", 1, held, x, y, toX, toY)
}

// RightDrag is Drag with the right button.
func (p *Page) RightDrag(x, y, toX, toY float64) { p.mouse("right", 1, 0, x, y, toX, toY) }

func (p *Page) mouse(button string, clicks, modifiers int, x, y, toX, toY float64) {
	p.b.t.Helper()
	down := map[string]int{"left": 1, "right": 2}[button]
	event := func(kind string, x, y float64, buttons int) {
		p.call("Input.dispatchMouseEvent", object{"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": clicks, "modifiers": modifiers}, nil)
	}
	event("mouseMoved", x, y, 0)
	event("mousePressed", x, y, down)
	if x != toX || y != toY {
		event("mouseMoved", (x+toX)/2, (y+toY)/2, down)
		event("mouseMoved", toX, toY, down)
	}
	event("mouseReleased", toX, toY, 0)
}

// Wheel scrolls by a distance in pixels over a point of the window. If control is set, the control key is held down.
func (p *Page) Wheel(x, y, by float64, control bool) {
	p.b.t.Helper()
	modifiers := 0
	if control {
		modifiers = 2
	}
	p.call("Input.dispatchMouseEvent", object{"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by, "modifiers": modifiers}, nil)
}

// Fingers touches the window with one finger per path. Each finger moves from the path's first point to its second, in pixels, and
// then lifts.
func (p *Page) Fingers(paths ...[2][2]float64) {
	p.b.t.Helper()
	touch := func(kind string, at float64) {
		points := []object{}
		for i, path := range paths {
			if kind != "touchEnd" {
				points = append(points, object{"x": path[0][0] + at*(path[1][0]-path[0][0]), "y": path[0][1] + at*(path[1][1]-path[0][1]), "id": i})
			}
		}
		p.call("Input.dispatchTouchEvent", object{"type": kind, "touchPoints": points}, nil)
	}
	touch("touchStart", 0)
	for i := range 4 {
		touch("touchMove", float64(i+1)/4)
	}
	touch("touchEnd", 1)
}

// Box is the position and size of an element in the window, in pixels.
type Box struct{ X, Y, Width, Height float64 }

// Box returns the box of the first element that matches a CSS selector.
func (p *Page) Box(selector string) (b Box) {
	p.b.t.Helper()
	p.Eval(fmt.Sprintf(`(({x, y, width, height}) => ({x, y, width, height}))(document.querySelector(%q).getBoundingClientRect())`, selector), &b)
	return b
}

// Screenshot returns the window's content as a PNG file.
func (p *Page) Screenshot() []byte {
	p.b.t.Helper()
	var got struct{ Data string }
	p.call("Page.captureScreenshot", object{"format": "png"}, &got)
	b, err := base64.StdEncoding.DecodeString(got.Data)
	require.NoError(p.b.t, err)
	return b
}
