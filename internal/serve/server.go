package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/ops"
)

// handler answers a request. After an error its reply is not looked at.
type handler func(ctx context.Context, c *Conn, r *Request) (*Reply, error)

// handlers are the requests by name, hello apart.
var handlers = map[string]handler{
	"arena":   newArena,
	"compute": compute,
	"counts":  counts,
	"explain": explain,
	"image":   image,
	"plan":    exportPlan,
	"target":  addTarget,

	"open":    openRecording,
	"episode": readEpisode,
	"inspect": inspect,
	"stats":   stats,
	"align":   alignRecording,
	"frames":  readFrames,
	"cloud":   readCloud,
	"close":   closeRecordings,

	"loader":   openLoader,
	"next":     nextBatch,
	"report":   reportLoader,
	"resident": openResident,
	"resume":   resumeLoader,
	"upload":   upload,
}

// Request is what a handler gets.
type Request struct {
	Do   string
	JSON []byte // all of it
	Blob []byte
	File *os.File // or nil; closed after the handler, unless it takes it and sets this nil
}

// Do begins the structs that requests are decoded into.
type Do struct {
	Do string `json:"do"`
}

// Reply is an answer: the fields of Value, which is marshalled to an object, besides "ok". The zero value says ok.
type Reply struct {
	Value any
	Blob  []byte
	File  *os.File // to be sent, which stays the handler's
	// Done, if there is one, is called after the reply was sent, or could not be: to close what only the reply needs.
	Done func() error
}

// link is the end of a connection, as a server sees it.
type link interface {
	receiver
	send(*Frame) error
}

// Conn is a connection and what it holds.
type Conn struct {
	link     link
	version  string // of the program
	handlers map[string]handler
	stderr   io.Writer // where panics are told
	greeted  bool
	atEnd    []func() error

	cpu        *ops.Device
	arena      *Memory
	targets    []target
	recordings recordings
	slots      *slots // or resident, or neither
	resident   *recorded
}

func newConn(l link, version string) *Conn {
	return &Conn{link: l, version: version, handlers: handlers, stderr: os.Stderr}
}

// closing has do called when the connection ends, before what was told earlier.
func (c *Conn) closing(do func() error) { c.atEnd = append(c.atEnd, do) }

// serve answers requests until the connection ends, which is no error.
func (c *Conn) serve(ctx context.Context) (err error) {
	defer func() {
		for _, do := range slices.Backward(c.atEnd) {
			err = errors.Join(err, do())
		}
		err = errors.Join(err, c.arena.Close())
	}()
	if c.cpu, err = ops.Open("cpu"); err != nil {
		return err
	}
	c.closing(c.cpu.Close)
	for {
		f, err := readFrame(c.link)
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, new(*FrameError)):
			return errors.Join(err, c.fail(err))
		case err != nil:
			return err
		}
		switch err := c.answer(ctx, f); {
		case errors.Is(err, io.EOF): // nobody is there to answer
			return nil
		case err != nil:
			return err
		}
	}
}

// answer handles one request and sends its reply. The error is one after which there is no next request.
func (c *Conn) answer(ctx context.Context, f *Frame) (err error) {
	r := &Request{JSON: f.JSON, Blob: f.Blob, File: f.File}
	defer func() {
		if r.File != nil {
			_ = r.File.Close() // it was not written
		}
	}()
	reply, err := c.handle(ctx, r)
	if errors.As(err, new(*VersionError)) {
		return errors.Join(err, c.fail(err))
	}
	if err != nil {
		return c.fail(err)
	}
	if reply == nil {
		reply = &Reply{}
	}
	if reply.Done != nil {
		defer func() { err = errors.Join(err, reply.Done()) }()
	}
	out, err := reply.frame()
	if err == nil {
		err = c.link.send(out)
		if !errors.As(err, new(*FrameError)) {
			return err
		}
	}
	return c.fail(err)
}

// handle answers a request. A panic, also one that was met in drawing ahead, is a *PanicError.
func (c *Conn) handle(ctx context.Context, r *Request) (reply *Reply, err error) {
	err = caught.Do(func() (err error) {
		reply, err = c.dispatch(ctx, r)
		return err
	})
	var p *caught.Panic
	if errors.As(err, &p) {
		fmt.Fprintf(c.stderr, "robocache serve: panic in %q: %v\n%s", r.Do, p.Value, p.Stack)
		return nil, &PanicError{Do: r.Do, Value: p.Value}
	}
	return reply, err
}

// dispatch finds and calls the handler of a request.
func (c *Conn) dispatch(ctx context.Context, r *Request) (*Reply, error) {
	var do Do
	if err := json.Unmarshal(r.JSON, &do); err != nil {
		return nil, malformed(err)
	}
	r.Do = do.Do
	if r.Do == "hello" {
		return c.hello(r)
	}
	if !c.greeted {
		return nil, &RequestError{Arg: "do", Got: fmt.Sprintf("%q first", r.Do), Want: `"hello"`}
	}
	h, ok := c.handlers[r.Do]
	if !ok {
		names := []string{"hello"}
		for name := range c.handlers {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, &RequestError{Arg: "do", Got: fmt.Sprintf("%q", r.Do), Want: "one of " + strings.Join(names, ", ")}
	}
	return h(ctx, c, r)
}

// frame is the reply as it is sent.
func (r *Reply) frame() (*Frame, error) {
	f := &Frame{JSON: []byte(`{"ok":true}`), Blob: r.Blob, File: r.File}
	if r.Value == nil {
		return f, nil
	}
	text, err := json.Marshal(r.Value)
	if err != nil {
		return nil, err
	}
	if len(text) > 2 {
		f.JSON = append([]byte(`{"ok":true,`), text[1:]...)
	}
	return f, nil
}

// fail sends an error as a reply.
func (c *Conn) fail(err error) error {
	f := failureOf(err)
	shorten(&f)
	text, bad := json.Marshal(map[string]any{"error": f})
	if bad != nil {
		return errors.Join(err, bad)
	}
	return c.link.send(&Frame{JSON: text})
}
