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

// Hash identifies the kernels of this program: 16 hexadecimal digits from the hashes of all images.
var Hash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, name := range ptx.Families() {
		for _, im := range ptx.Images(name) {
			fmt.Fprintln(h, im.File, im.Hash)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
})

// Set is the loaded kernels of a device. Its methods may be called from any goroutine.
type Set struct {
	ctx      *cudadrv.Context
	force    string // the kind of image from the variable ROBOCACHE_KERNELS; empty means the best one
	mu       sync.Mutex
	families map[string]*family
}

// family is a loaded image.
type family struct {
	module *cudadrv.Module
	image  ptx.Image
	reason string
	waits  map[string]bool // by name of each kernel that was bound: whether it waits for the previous launch by itself
	shared map[string]int  // by kernel: the limit set for its dynamic shared memory, in bytes
}

// New returns an empty set. It loads nothing yet.
func New(ctx *cudadrv.Context) *Set {
	return &Set{ctx: ctx, force: os.Getenv("ROBOCACHE_KERNELS"), families: map[string]*family{}}
}

// Load loads a family unless it is loaded, and returns the reason why its image was selected.
func (s *Set) Load(name string) (reason string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.family(name)
	if err != nil {
		return "", err
	}
	return f.reason, nil
}

// family returns a family, which it loads if necessary. The caller holds the lock. If every image is refused, it returns the errors
// of all.
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

// unfit reports whether the device or driver cannot use an image at all, so that another image may work: it has no code for this
// device, its format or ISA version is unknown, or there is no compiler.
func unfit(err error) bool {
	for _, c := range []cudadrv.Code{cudadrv.ErrInvalidImage, cudadrv.ErrNoBinaryForGPU, cudadrv.ErrInvalidPTX, cudadrv.ErrJITCompilerNotFound, cudadrv.ErrUnsupportedPTXVersion} {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

// kernel returns a kernel, with the sizes of its parameters declared for drivers that cannot report them. It panics if no family has
// a kernel with this name.
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

// Bind returns a launch of a kernel. The launch may use all dynamic shared memory of the device. It is dependent (it may begin before
// the previous launch has ended) only if config requests it, the kernel waits for the previous launch by itself, and device and
// driver support it.
func (s *Set) Bind(name string, config cudadrv.LaunchConfig, args ...any) (*cudadrv.Launch, error) {
	k, err := s.kernel(name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.familyOf(name)
	config.Dependent = config.Dependent && s.early(f, name)
	if most := int(config.Shared); most > f.shared[name] { // a lower limit would break launches that are already bound
		if err := k.SetMaxDynamicShared(most); err != nil {
			return nil, err
		}
		f.shared[name] = most
	}
	return k.Bind(config, args...)
}

// Early reports whether a launch of a kernel can be dependent. The kernel must have been bound.
func (s *Set) Early(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.early(s.familyOf(name), name)
}

// familyOf returns the loaded family that contains a kernel, or nil.
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

// Close unloads all families.
func (s *Set) Close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, f := range s.families {
		err = errors.Join(err, f.module.Close())
		delete(s.families, name)
	}
	return err
}
