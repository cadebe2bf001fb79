package nvdec

import (
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudadrv/nvdec"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/picture"
)

// streamsPerEngine limits the open streams. An engine is busy with one stream's queue; the others read their pictures meanwhile.
const streamsPerEngine = 6

// sizes are the largest sizes that sessions are created for. A session for a still larger size has that size.
var sizes = [][2]int{{1280, 720}, {720, 1280}, {1920, 1088}, {1088, 1920}, {4096, 4096}}

const prefix = "cuda:" // of a device's name

// leastSurfaces makes a session useful for most streams. At 1280x720 pixels a surface needs 1.4 MB.
const leastSurfaces = 12

// pool has a device's sessions.
type pool struct {
	device   string // its name
	lib      *nvdec.Library
	ctx      *cudadrv.Context
	mu       sync.Mutex
	limits   map[class]nvdec.Capabilities // by codec and bits
	streams  int                          // open
	left     sync.Cond                    // signalled when a stream leaves
	sessions int                          // open
	idle     []*session                   // the least recently used one first
}

func newPool(drv *cudadrv.Driver, ordinal int) (*pool, error) {
	lib, err := nvdec.Open(drv)
	if err != nil {
		refusal := &video.Refusal{Driver: driver, Reason: video.NoLibrary, Err: err, Cure: "the package libnvidia-decode or libnvcuvid1"}
		if load := (*cudadrv.LoadError)(nil); errors.As(err, &load) && load.Symbol != "" {
			refusal.Reason, refusal.Cure = video.OldLibrary, ""
		}
		if errors.Is(err, cudadrv.ErrNVDECLocked) {
			refusal.Cure = "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video"
		}
		return nil, refusal
	}
	dev, err := drv.Device(ordinal)
	if err != nil {
		return nil, refuse(video.NoDevice, err)
	}
	ctx, err := dev.Primary()
	if err != nil {
		return nil, refuse(video.NoDevice, err)
	}
	p := &pool{device: prefix + strconv.Itoa(ordinal), lib: lib, ctx: ctx, limits: map[class]nvdec.Capabilities{}}
	p.left.L = &p.mu
	return p, nil
}

// capabilities returns the limits for a codec, which do not change.
func (p *pool) capabilities(codec nvdec.Codec, bits int) (nvdec.Capabilities, error) {
	c := class{codec: codec, bits: bits}
	limits, there := p.limits[c]
	if there {
		return limits, nil
	}
	limits, err := p.lib.Capabilities(p.ctx, codec, bits)
	if err == nil {
		p.limits[c] = limits
	}
	return limits, err
}

// enter counts a stream, until leave. If there are too many, it waits, or returns a *video.Refusal.
func (p *pool) enter(codec nvdec.Codec, waits bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	limits, err := p.capabilities(codec, 8)
	switch {
	case err != nil:
		return refusal(err)
	case limits.Engines == 0:
		return refuse(video.Limits, &nvdec.LimitError{Codec: codec, Bits: 8})
	}
	for p.streams >= streamsPerEngine*limits.Engines {
		if !waits {
			return refuse(video.NoSession, nil)
		}
		p.left.Wait()
	}
	p.streams++
	return nil
}

func (p *pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams--
	p.left.Signal()
}

// get returns a session for a format: an idle one, or a new one.
func (p *pool) get(codec nvdec.Codec, f *picture.Format, surfaces int) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	limits, err := p.capabilities(codec, f.Bits)
	if err != nil {
		return nil, err
	}
	c := class{codec, f.Bits, f.Width, f.Height}
	if i := slices.IndexFunc(sizes, func(s [2]int) bool { return f.Width <= s[0] && f.Height <= s[1] }); i >= 0 {
		c.width, c.height = min(sizes[i][0], limits.MaxWidth), min(sizes[i][1], limits.MaxHeight)
	}
	if s := p.take(c, surfaces); s != nil {
		return s, p.prepare(s, f)
	}
	for {
		if p.sessions >= streamsPerEngine*limits.Engines && len(p.idle) > 0 {
			if err := p.evict(); err != nil {
				return nil, err
			}
		}
		var s *session
		p.sessions++
		err := p.unlocked(func() (err error) {
			s, err = newSession(p.lib, p.ctx, p.device, c, f, max(surfaces, leastSurfaces))
			return err
		})
		if err == nil {
			return s, p.prepare(s, f)
		}
		p.sessions--
		if short := (*nvdec.SessionError)(nil); !errors.As(err, &short) || len(p.idle) == 0 {
			return nil, err
		}
		if err := p.evict(); err != nil {
			return nil, err
		}
	}
}

// take removes and returns the most recently used idle session of a class, or returns nil.
func (p *pool) take(c class, surfaces int) *session {
	for i, s := range slices.Backward(p.idle) {
		if s.class == c && s.surfaces >= surfaces {
			p.idle = slices.Delete(p.idle, i, i+1)
			return s
		}
	}
	return nil
}

// unlocked calls the driver. Other streams can use the pool meanwhile.
func (p *pool) unlocked(call func() error) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	return call()
}

// prepare makes a session ready for a format, or closes it.
func (p *pool) prepare(s *session, f *picture.Format) error {
	err := p.unlocked(func() error { return s.prepare(f) })
	if err != nil {
		p.sessions--
		err = errors.Join(err, s.close())
	}
	return err
}

// evict closes the least recently used idle session.
func (p *pool) evict() error {
	s := p.idle[0]
	p.idle = p.idle[1:]
	p.sessions--
	return s.close()
}

// put makes a session idle, or closes it if it failed.
func (p *pool) put(s *session) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.failed {
		p.sessions--
		return s.close()
	}
	p.idle = append(p.idle, s)
	return nil
}
