package view

import (
	"context"
	"net/http"
	"sync"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

// Options are a Server's options. The zero value is the default.
type Options struct {
	// Plan is the plan for the resampled curves. Without a plan, the page can resample at a rate that the user types.
	Plan *align.Plan
	// Path is the dataset's path, so that findings can name the episodes' files. It is empty if there is none.
	Path string
	// Host is a host name that requests may use, besides localhost and addresses.
	Host string
	// Predictions are streams with actions that a policy predicted, by episode number. The page draws them over the recorded actions.
	Predictions map[int][]dataset.Stream
	// Memory limits the cache for episodes, in bytes and without the viewed episode. 0 is 1 GiB.
	Memory int64
}

// Server serves the page for one dataset. Its methods may be called from any goroutine.
type Server struct {
	data     dataset.Dataset
	info     dataset.Info
	opt      Options
	device   *ops.Device
	mux      *http.ServeMux
	run      string // unique to this server; in the URLs that a browser may cache
	token    string // 128 random bits in hexadecimal, which every request needs
	episodes episodes
	list     listing
	frames   pictureCache
	busy     sync.Mutex      // held while an episode is resampled
	ctx      context.Context // for background work that several requests share
	end      context.CancelFunc
	closing  sync.Mutex // guards working, so that no work begins when Close waits
	working  sync.WaitGroup
}

// start runs do in the background and returns true; Close waits for do. After Close, start returns false.
func (s *Server) start(do func()) bool {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.working.Go(do)
	return true
}

// Close ends the background work. It leaves the dataset open.
func (s *Server) Close() error {
	s.closing.Lock()
	s.end()
	s.closing.Unlock()
	s.working.Wait()
	return s.device.Close()
}
