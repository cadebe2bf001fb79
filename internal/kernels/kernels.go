package kernels

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ptx"
)

// Set is the kernels of a device. Its methods may be called from any goroutine.
type Set struct {
	ctx      *cudadrv.Context
	force    string // the kind of image that ROBOCACHE_KERNELS names
	mu       sync.Mutex
	families map[string]*family
}

// family is a loaded image.
type family struct {
	module *cudadrv.Module
	image  ptx.Image
	reason string
	waits  map[string]bool // the kernels that were looked up, and whether they wait
}

// New returns a set of which nothing is loaded.
func New(ctx *cudadrv.Context) *Set {
	return &Set{ctx: ctx, force: os.Getenv("ROBOCACHE_KERNELS"), families: map[string]*family{}}
}

// Load loads a family, if it is not, and says which image was taken and why.
func (s *Set) Load(name string) (reason string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.family(name)
	if err != nil {
		return "", err
	}
	return f.reason, nil
}

// family returns a family. The caller holds the lock.
func (s *Set) family(name string) (*family, error) {
	if f := s.families[name]; f != nil {
		return f, nil
	}
	dev := s.ctx.Device()
	major, err := dev.Attribute(cudadrv.ComputeCapabilityMajor)
	if err != nil {
		return nil, err
	}
	minor, err := dev.Attribute(cudadrv.ComputeCapabilityMinor)
	if err != nil {
		return nil, err
	}
	choice, err := ptx.Choose(name, major, minor, dev.Driver().Version(), s.force)
	if err != nil {
		return nil, err
	}
	var refused []error
	for _, c := range choice.Candidates {
		module, err := s.ctx.LoadModule(c.Image.Data())
		if err == nil {
			f := &family{module, c.Image, c.Reason, map[string]bool{}}
			s.families[name] = f
			return f, nil
		}
		refused = append(refused, fmt.Errorf("%s: %w", c.Image.File, err))
		if !unfit(err) {
			break
		}
	}
	return nil, errors.Join(refused...)
}

// unfit reports whether an image was refused for what it is, so that the next may do: no code for this device, a format or
// an ISA version that the driver does not know, no compiler.
func unfit(err error) bool {
	for _, c := range []cudadrv.Code{cudadrv.ErrInvalidImage, cudadrv.ErrNoBinaryForGPU, cudadrv.ErrInvalidPTX, cudadrv.ErrJITCompilerNotFound, cudadrv.ErrUnsupportedPTXVersion} {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

// Kernel returns a kernel, with its parameters declared for drivers that cannot tell them. There must be one of that name.
func (s *Set) Kernel(name string) (*cudadrv.Kernel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, entry, ok := ptx.Lookup(name)
	if !ok {
		panic("kernels: no kernel " + name)
	}
	f, err := s.family(of)
	if err != nil {
		return nil, err
	}
	k, err := f.module.Kernel(name)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, len(entry.Params))
	for i, p := range entry.Params {
		sizes[i] = p.Size
	}
	return k, k.Declare(sizes)
}

// Early reports whether a kernel, which was asked for, may be launched before the work ahead of it has ended: it waits by itself, and device and
// driver can.
func (s *Set) Early(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, _, _ := ptx.Lookup(name)
	f := s.families[of]
	w, known := f.waits[name]
	if !known {
		w = f.image.Waits(name)
		f.waits[name] = w
	}
	return w && s.ctx.Device().DependentLaunch()
}

// Close unloads all.
func (s *Set) Close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, f := range s.families {
		err = errors.Join(err, f.module.Close())
		delete(s.families, name)
	}
	return err
}
