package openpi

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/robocache/robocache/internal/msgpack"
	"github.com/robocache/robocache/tensor"
)

// Options are a Server's options.
type Options struct {
	// Predict returns actions [C,A] for the streams of a request. Calls do not overlap. The server reads the actions before the next call.
	Predict func(ctx context.Context, streams map[string]*tensor.Tensor) ([]float64, error)
	Columns int            // A
	About   map[string]any // the first message
	Token   string         // empty if none is needed

	MaxMessage     int64         // bytes in a request
	MaxConnections int           // WebSocket connections at a time
	Timeout        time.Duration // for a request's bytes after the first, for its turn, and for its reply

	Metrics func(Counts) []byte // returns the text at /metrics
}

// Counts has the numbers since New.
type Counts struct {
	Requests, Errors int64         // messages, and those with an error as the answer
	Refused          int64         // connections without the token, from web pages, or above the limit
	Connections      int64         // open now
	Predicting       time.Duration // the sum over requests
	Waiting          time.Duration // for a turn, the sum over requests
}

// Server is an http.Handler for any number of clients.
type Server struct {
	opt      Options
	turn     chan struct{} // holds a value during a prediction
	sessions sync.WaitGroup

	requests, failed, refused, connections, predicting, waiting atomic.Int64
}

// New returns a server.
func New(opt Options) *Server { return &Server{opt: opt, turn: make(chan struct{}, 1)} }

// Counts returns the counts so far.
func (s *Server) Counts() Counts {
	return Counts{s.requests.Load(), s.failed.Load(), s.refused.Load(), s.connections.Load(), time.Duration(s.predicting.Load()), time.Duration(s.waiting.Load())}
}

// Serve answers requests on a listener until ctx ends. Then it closes the listener and all connections and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	server := &http.Server{Handler: s, ReadHeaderTimeout: s.opt.Timeout, ReadTimeout: s.opt.Timeout, WriteTimeout: s.opt.Timeout, IdleTimeout: s.opt.Timeout, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // its error is the listener's, which Serve returns
	err := server.Serve(l)
	cancel()
	s.sessions.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// ServeHTTP answers one HTTP request, or serves a WebSocket connection until its end.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Api-Key ")
	refuse := func(code int, text string) {
		s.refused.Add(1)
		http.Error(w, text, code)
	}
	switch {
	case r.URL.Path == "/healthz":
		fmt.Fprintln(w, "OK")
	case r.Header.Get("Origin") != "":
		refuse(http.StatusForbidden, "a web page: want a program")
	case s.opt.Token != "" && subtle.ConstantTimeCompare([]byte(key), []byte(s.opt.Token)) != 1:
		refuse(http.StatusUnauthorized, "no valid token: want the header Authorization: Api-Key TOKEN")
	case r.URL.Path == "/metrics":
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(s.opt.Metrics(s.Counts())) // an error means that the client is gone
	case r.URL.Path != "/":
		http.NotFound(w, r)
	case s.connections.Add(1) > int64(s.opt.MaxConnections):
		s.connections.Add(-1)
		refuse(http.StatusServiceUnavailable, "too many connections")
	default:
		s.sessions.Add(1)
		defer s.sessions.Done()
		defer s.connections.Add(-1)
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // Accept has answered
		}
		defer func() { _ = c.CloseNow() }() // an error means that it is closed
		c.SetReadLimit(-1)                  // read has the limit
		s.serve(r.Context(), c)
	}
}

// serve answers a connection's requests.
func (s *Server) serve(ctx context.Context, c *websocket.Conn) {
	send := func(kind websocket.MessageType, data []byte) error {
		ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
		defer cancel()
		return c.Write(ctx, kind, data)
	}
	if send(websocket.MessageBinary, msgpack.Append(nil, s.opt.About)) != nil {
		return
	}
	for previous := time.Duration(0); ; {
		data, begin, err := s.read(ctx, c)
		if data == nil && err != nil {
			return // the connection has ended
		}
		s.requests.Add(1)
		var answer []byte
		if err == nil {
			answer, err = s.answer(ctx, data, previous)
		}
		if err != nil {
			s.failed.Add(1)
			if send(websocket.MessageText, []byte(shorten(err.Error()))) == nil {
				_ = c.Close(websocket.StatusInternalError, "the message before has the error") // an error means that the client is gone
			}
			return
		}
		if send(websocket.MessageBinary, answer) != nil {
			return
		}
		previous = time.Since(begin)
	}
}

// mostText limits an error's text, in bytes, because errors quote requests.
const mostText = 4 << 10

func shorten(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), mostText)], "\uFFFD")
}

// read waits for a message and reads it. begin is the time of its first byte. If the message cannot be a request, data is not nil and the error is
// a *RequestError.
func (s *Server) read(ctx context.Context, c *websocket.Conn) (data []byte, begin time.Time, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kind, r, err := c.Reader(ctx) // may take any time
	if err != nil {
		return nil, begin, err
	}
	begin = time.Now()
	defer time.AfterFunc(s.opt.Timeout, cancel).Stop()
	data, err = io.ReadAll(io.LimitReader(r, s.opt.MaxMessage+1))
	switch {
	case err != nil:
		return nil, begin, err
	case int64(len(data)) > s.opt.MaxMessage:
		err = &RequestError{Got: fmt.Sprintf("more than %d bytes", s.opt.MaxMessage), Want: "fewer"}
	case kind != websocket.MessageBinary:
		err = &RequestError{Got: "a text message", Want: "a binary one"}
	}
	return data, begin, err
}

// BusyError is a request that got no turn in time.
type BusyError struct{ Timeout time.Duration }

func (e *BusyError) Error() string { return fmt.Sprintf("no turn within %v", e.Timeout) }

// answer returns the reply to a request.
func (s *Server) answer(ctx context.Context, data []byte, previous time.Duration) ([]byte, error) {
	streams, err := ReadRequest(data)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	timer := time.NewTimer(s.opt.Timeout)
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
	case <-timer.C:
		return nil, &BusyError{s.opt.Timeout}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	if err := ctx.Err(); err != nil { // Serve may have returned
		return nil, err
	}
	begun := time.Now()
	s.waiting.Add(int64(begun.Sub(begin)))
	actions, err := s.opt.Predict(context.WithoutCancel(ctx), streams) // a device cannot be left halfway
	if err != nil {
		return nil, err
	}
	infer := time.Since(begun)
	s.predicting.Add(int64(infer))
	return reply(actions, s.opt.Columns, infer, previous), nil
}
