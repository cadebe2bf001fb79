package kernels

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ptx"
)

// Hash is one of all images.
var Hash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, name := range ptx.Families() {
		for _, im := range ptx.Images(name) {
			fmt.Fprintln(h, im.File, im.Hash)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
})

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
	shared map[string]int  // and the most bytes of dynamic shared memory that a launch of them asks for
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
			f := &family{module, c.Image, c.Reason, map[string]bool{}, map[string]int{}}
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

// kernel returns a kernel, with its parameters declared for drivers that cannot tell them. There must be one of that name.
func (s *Set) kernel(name string) (*cudadrv.Kernel, error) {
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

// Bind makes a launch of a kernel. It may ask for as much dynamic shared memory as the device has, and is dependent only if the kernel waits by itself for
// the work ahead of it and device and driver can: elsewhere its wait does nothing.
func (s *Set) Bind(name string, config cudadrv.LaunchConfig, args ...any) (*cudadrv.Launch, error) {
	k, err := s.kernel(name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.familyOf(name)
	config.Dependent = config.Dependent && s.early(f, name)
	if most := int(config.Shared); most > f.shared[name] { // less would refuse the launches that there are
		if err := k.SetMaxDynamicShared(most); err != nil {
			return nil, err
		}
		f.shared[name] = most
	}
	return k.Bind(config, args...)
}

// Early reports whether a launch of a kernel, which was bound, can be dependent.
func (s *Set) Early(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.early(s.familyOf(name), name)
}

// familyOf is the loaded family that has a kernel.
func (s *Set) familyOf(name string) *family {
	of, _, _ := ptx.Lookup(name)
	return s.families[of]
}

func (s *Set) early(f *family, name string) bool {
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
