package cudasim

// program is a loaded module. It does not change after loadProgram.
type program struct {
	kernels map[string]*kernel
	globals map[string]global
}

// global is a module variable in device memory.
type global struct{ addr, size uint64 }

// param is a kernel parameter in the parameter block.
type param struct{ size, align, offset uint32 }

// kernel is one entry of a module.
type kernel struct {
	name       string
	params     []param
	paramBytes uint32
	maxThreads uint32   // of a block; 0 if the entry does not say
	shared     uint32   // static shared bytes
	local      uint32   // local bytes of a thread
	registers  uint32   // 32-bit registers of a thread that hold live values at once
	source     []string // the lines of the module's text
}

// loadProgram compiles every entry of a PTX text and places its variables in sp. An instruction that is not known is an
// error that names it and its line.
func loadProgram(text []byte, sp *space) (*program, error) {
	return nil, nil
}

// kernel finds an entry by name.
func (p *program) kernel(name string) (*kernel, bool) {
	k, ok := p.kernels[name]
	return k, ok
}

// global finds a module variable by name.
func (p *program) global(name string) (addr, size uint64, ok bool) {
	g, ok := p.globals[name]
	return g.addr, g.size, ok
}

// unload frees the module's variables.
func (p *program) unload(sp *space) error { return nil }
