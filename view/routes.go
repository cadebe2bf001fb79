package view

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/ops"
)

//go:embed page
var page embed.FS

// New returns a server for a dataset and starts to read its episodes for the list. The dataset must stay open until Close.
func New(d dataset.Dataset, opt Options) (*Server, error) {
	device, err := ops.Open("cpu")
	if err != nil {
		return nil, err
	}
	if opt.Memory <= 0 {
		opt.Memory = 1 << 30
	}
	s := &Server{data: d, info: d.Info(), opt: opt, device: device, mux: http.NewServeMux(), run: rand.Text()}
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	s.token = hex.EncodeToString(key[:])
	s.episodes.most = opt.Memory
	s.routes()
	s.ctx, s.end = context.WithCancel(context.Background())
	s.frames.init(s.ctx, s.start)
	s.list.init(doctor.Dataset(&s.info, doctor.Options{}))
	s.start(func() { s.scan(s.ctx) })
	return s, nil
}

// Serve answers requests on a listener until ctx ends. Then it closes the listener and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(short) != nil {
			server.Close()
		}
	})
	err := server.Serve(l)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// ServeHTTP answers one request. The request needs the token in the address from [Server.URL].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, addressed := w.Header(), s.admits(r.URL.Query().Get("token"))
	h.Set("Content-Security-Policy", "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("Run", s.run)
	switch {
	case !s.own(r.Host):
		fail(w, http.StatusMisdirectedRequest, "host "+r.Host+": want localhost, an address, or the host that the server was given", "")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		fail(w, http.StatusMethodNotAllowed, r.Method+": this server only shows, want GET", "")
	case addressed && r.URL.Path == "/":
		s.welcome(w, r)
	case !addressed && crossSite(r):
		refuse(w, r, "requested by another site's page: open the address that the program printed when it started")
	case !addressed && !s.known(r):
		refuse(w, r, "no token: open the address that the program printed when it started, in its terminal")
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// own reports whether a request's host is localhost, an address or Options.Host. Other names are refused against DNS rebinding: a page of another
// site can point its own name at this server, but not an address.
func (s *Server) own(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || s.opt.Host != "" && name == strings.ToLower(s.opt.Host)
}

func (s *Server) routes() {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // a mistake in this file
	}
	s.mux.Handle("GET /", http.FileServerFS(noFolders{files}))
	s.mux.HandleFunc("GET /api/dataset", s.serveDataset)
	s.mux.HandleFunc("GET /api/episodes", answered(s.serveList))
	for name, serve := range map[string]func(w http.ResponseWriter, r *http.Request, e *entry) error{
		"":        s.serveEpisode,
		"/series": s.serveSeries,
		"/frame":  s.serveFrame,
		"/video":  s.serveVideo,
		"/path":   s.servePath,
		"/cloud":  s.serveCloud,
	} {
		s.mux.HandleFunc("GET /api/episodes/{episode}"+name, answered(func(w http.ResponseWriter, r *http.Request) error {
			e, err := s.entryOf(r)
			if err != nil {
				return err
			}
			return serve(w, r, e)
		}))
	}
	s.mux.HandleFunc("GET /api/episodes/{episode}/thumbnail", answered(s.serveThumbnail))
}

// answered answers with an error if serve returns one.
func answered(serve func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			failWith(w, err)
		}
	}
}

// noFolders is a file system that lists no folders.
type noFolders struct{ fs.FS }

func (n noFolders) Open(name string) (fs.File, error) {
	f, err := n.FS.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() && name != "." {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f, err
}

// serveDataset sends the dataset's description, and the findings and notes about it.
func (s *Server) serveDataset(w http.ResponseWriter, r *http.Request) {
	rate := 0.0
	if s.opt.Plan != nil {
		rate = s.opt.Plan.Rate
	}
	found := []findingJSON{}
	for _, f := range s.list.of(doctor.Whole) {
		found = append(found, newFinding(&f))
	}
	writeJSON(w, map[string]any{"name": s.data.Name(), "path": s.opt.Path, "format": s.data.Format(), "episodes": s.data.Len(), "numbers": s.info.Numbers,
		"plan": s.opt.Plan != nil, "rate": rate, "findings": found, "notes": notetext.Entries(s.info.Notes), "run": s.run})
}
