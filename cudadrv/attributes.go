package cudadrv

import "fmt"

// Numbers of CUlaunchAttributeID.
const (
	attrCooperative = 2
	attrCluster     = 4
	attrDependent   = 6 // PROGRAMMATIC_STREAM_SERIALIZATION
	attrPriority    = 8

	maxLaunchAttrs = 4
)

// isDefault reports whether it is a default launch, which cuLaunchKernel can do.
func (g *LaunchConfig) isDefault() bool {
	return g.Cluster == [3]uint32{} && !g.Dependent && !g.Cooperative && g.Priority == 0
}

// DependentLaunch reports whether [LaunchConfig.Dependent] works: the device must be sm_90 or newer, and the driver must have the
// function.
func (dev *Device) DependentLaunch() bool {
	major, _ := dev.ComputeCapability()
	return major >= 9 && dev.drv.has(fnLaunchKernelEx)
}

// checkAttributes returns an error if the driver or the device lacks a requested feature, or if the cluster does not fit the
// grid. Zeros in the configuration have become ones before, except in an absent cluster.
func (k *Kernel) checkAttributes(cfg *LaunchConfig) error {
	if cfg.isDefault() {
		return nil
	}
	dev := k.mod.ctx.dev
	if !dev.drv.has(fnLaunchKernelEx) {
		return dev.drv.fail(fnLaunchKernelEx, codeMissing)
	}
	lacks := func(what string) error {
		return &UnsupportedError{Op: what + " of kernel " + k.name + ", on this device", Found: dev.drv.version}
	}
	if cfg.Dependent && !dev.DependentLaunch() {
		return lacks("a dependent launch")
	}
	if cfg.Cooperative {
		if n, err := dev.Attribute(CooperativeLaunch); err != nil || n == 0 {
			return lacks("a cooperative launch")
		}
	}
	if cfg.Cluster == [3]uint32{} {
		return nil
	}
	if n, err := dev.Attribute(ClusterLaunch); err != nil || n == 0 {
		return lacks("a cluster launch")
	}
	const most = 16 // of any device; above 8 the kernel must allow it
	blocks := uint64(1)
	for i, n := range cfg.Cluster {
		if blocks = min(blocks*uint64(n), most+1); n == 0 || blocks > most {
			return &ValueError{Op: "kernel " + k.name, What: "the cluster", Kind: ErrOption, Got: fmt.Sprint(cfg.Cluster), Want: fmt.Sprintf("1 to %d blocks", most)}
		}
		if cfg.Grid[i]%n != 0 {
			return &ValueError{Op: "kernel " + k.name, What: "the grid", Kind: ErrOption, Got: fmt.Sprint(cfg.Grid),
				Want: fmt.Sprintf("multiples of the cluster, %v", cfg.Cluster)}
		}
	}
	return nil
}

// extend prepares the structure that cuLaunchKernelEx reads, unless cuLaunchKernel can do the launch.
func (l *Launch) extend() {
	cfg := &l.cfg
	l.fn = fnLaunchKernel
	if cfg.isDefault() {
		return
	}
	l.fn = fnLaunchKernelEx
	if l.ex == nil {
		l.ex = new(extended)
	}
	e := l.ex
	*e = extended{params: launchParams{grid: cfg.Grid, block: cfg.Block, shared: cfg.Shared}}
	add := func(id uint32, value ...uint64) {
		copy(e.attrs[e.params.count].value[:], value)
		e.attrs[e.params.count].id = id
		e.params.count++
	}
	if cfg.Cooperative {
		add(attrCooperative, 1)
	}
	if c := cfg.Cluster; c != [3]uint32{} {
		add(attrCluster, uint64(c[0])|uint64(c[1])<<32, uint64(c[2]))
	}
	if cfg.Dependent {
		add(attrDependent, 1)
	}
	if cfg.Priority != 0 {
		add(attrPriority, uint64(uint32(cfg.Priority)))
	}
	l.callEx = [4]uintptr{e.addr(), l.call[0], l.call[9]}
}

// launch calls the driver's function for the configuration on the stream with handle h.
func (l *Launch) launch(c *Context, h uintptr) Code {
	if l.fn == fnLaunchKernelEx {
		l.ex.params.stream = h
		return Code(int32(c.drv.procs[fnLaunchKernelEx](l.callEx[:])))
	}
	l.call[8] = h
	return Code(int32(c.drv.procs[fnLaunchKernel](l.call[:])))
}
