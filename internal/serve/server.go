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

// handler answers a request. If it returns an error, the reply is ignored.
type handler func(ctx context.Context, c *Conn, r *Request) (*Reply, error)

// typed returns the handler that decodes a request into a Q first.
func typed[Q any](do func(context.Context, *Conn, *Request, Q) (*Reply, error)) handler {
	return func(ctx context.Context, c *Conn, r *Request) (*Reply, error) {
		var q Q
		if err := r.Decode(&q); err != nil {
			return nil, err
		}
		return do(ctx, c, r, q)
	}
}

// handlers are the request handlers by name, except hello.
var handlers = map[string]handler{
	"arena":   typed(newArena),
	"compute": typed(compute),
	"counts":  typed(counts),
	"explain": typed(explain),
	"image":   typed(image),
	"plan":    typed(exportPlan),
	"target":  typed(addTarget),

	"open":    typed(openRecording),
	"episode": typed(readEpisode),
	"inspect": inspect,
	"stats":   typed(stats),
	"align":   typed(alignRecording),
	"frames":  typed(readFrames),
	"cloud":   typed(readCloud),
	"close":   typed(closeHandles),

	"policy": typed(openPolicy),
	"act":    typed(act),

	"camera":   typed(planCamera),
	"fill":     typed(fillFrames),
	"filling":  openFilling,
	"loader":   openLoader,
	"next":     typed(nextBatch),
	"report":   typed(reportLoader),
	"resident": openResident,
	"resume":   typed(resumeLoader),
	"upload":   typed(upload),
}

// Request is the argument of a handler.
type Request struct {
	Do   string
	JSON []byte // the whole object
	Blob []byte
	File *os.File // or nil; closed after the handler, unless the handler sets it to nil
}

// Do begins the structs that requests are decoded into.
type Do struct {
	Do string `json:"do"`
}

// Reply is an answer. Value is marshalled to an object, and "ok" is added. The zero value is {"ok":true}.
type Reply struct {
	Value any
	Blob  []byte
	File  *os.File // to send; the handler still owns it
	// Done, if not nil, is called after the reply was sent or failed to send. It closes resources of the reply.
	Done func() error
}

// link is the server's end of a connection.
type link interface {
	receiver
	send(*Frame) error
}

// Conn is a connection with its open resources.
type Conn struct {
	link     link
	version  string // the program's version
	handlers map[string]handler
	stderr   io.Writer // gets the stacks of panics
	greeted  bool
	atEnd    []func() error

	cpu        *ops.Device
	arena      *Memory
	targets    []target
	recordings recordings
	policies   map[int]*openedPolicy
	slots      *slots // slots and resident are never both set
	resident   *recorded
	filling    *filling // of the resident loader's frames
}

func newConn(l link, version string) *Conn {
	return &Conn{link: l, version: version, handlers: handlers, stderr: os.Stderr}
}

// closing registers a function to call when the connection ends, in reverse order.
func (c *Conn) closing(do func() error) { c.atEnd = append(c.atEnd, do) }

// serve answers requests until the connection ends. The end of the connection is no error.
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
		case errors.Is(err, io.EOF): // the other end is closed
			return nil
		case err != nil:
			return err
		}
	}
}

// answer handles one request and sends its reply. It returns an error if no further request can follow.
func (c *Conn) answer(ctx context.Context, f *Frame) (err error) {
	r := &Request{JSON: f.JSON, Blob: f.Blob, File: f.File}
	defer func() {
		if r.File != nil {
			_ = r.File.Close() // it was only read
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

// handle answers a request. A panic, also one of a goroutine that draws ahead, becomes a *PanicError.
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

// dispatch calls the handler of a request. If the name is unknown, or if the first request is not "hello", the error is a *RequestError.
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

// frame returns the frame of the reply.
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
