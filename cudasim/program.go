package cudasim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/ptxparse"
)

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

	code      []inst
	consts    []uint64 // what register slots from firstConst on hold in every lane
	slots     int32    // register slots of a warp
	predSlots int32
	blocks    sync.Pool // *block, with registers that hold the constants
}

// An UnsupportedError names an instruction that this device does not have, or that PTX does not.
type UnsupportedError struct {
	Line   int
	Text   string
	Reason string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("cudasim: line %d: %s: %s", e.Line, e.Text, e.Reason)
}

// Unwrap gives cudadrv.ErrUnsupported.
func (e *UnsupportedError) Unwrap() error { return cudadrv.ErrUnsupported }

// loadProgram compiles every entry of a PTX text and places its variables in sp. An instruction that is not known is an
// error that names it and its line.
func loadProgram(text []byte, sp *space) (*program, error) {
	m, err := ptxparse.Parse(text)
	if err != nil {
		return nil, err
	}
	p := &program{kernels: map[string]*kernel{}, globals: map[string]global{}}
	if err := p.place(m, sp); err != nil {
		return nil, errors.Join(err, p.unload(sp))
	}
	source := strings.Split(string(text), "\n")
	for _, f := range m.Funcs {
		if !f.Entry {
			continue
		}
		k, err := compile(p, m, f, source)
		if err != nil {
			return nil, errors.Join(err, p.unload(sp))
		}
		p.kernels[k.name] = k
	}
	return p, nil
}

// place gives the module's variables device memory and their initial values, zero where none are written.
func (p *program) place(m *ptxparse.Module, sp *space) error {
	for _, v := range m.Vars {
		if v.Space == "shared" {
			continue
		}
		if v.Extern || v.Size == 0 {
			return &UnsupportedError{v.Line, v.Name, "a variable that no module defines"}
		}
		addr, err := sp.alloc(uint64(v.Size), v.Space+" variable "+v.Name)
		if err != nil {
			return err
		}
		p.globals[v.Name] = global{addr, uint64(v.Size)}
		b, err := sp.bytes(addr, uint64(v.Size), true)
		if err != nil {
			return err
		}
		copy(b, v.Data)
	}
	for _, v := range m.Vars {
		for _, r := range v.Relocs {
			to, ok := p.globals[r.Name]
			if !ok || r.Size != 8 {
				return &UnsupportedError{v.Line, v.Name, "its initial value names " + r.Name + ", which is no variable of 64-bit address"}
			}
			b, err := sp.bytes(p.globals[v.Name].addr, uint64(v.Size), true)
			if err != nil {
				return err
			}
			binary.LittleEndian.PutUint64(b[r.At:], to.addr+uint64(r.Add))
		}
	}
	return nil
}

// kernel finds an entry by name.
func (p *program) kernel(name string) (*kernel, bool) {
	k, ok := p.kernels[name]
	return k, ok
}

// unload frees the module's variables.
func (p *program) unload(sp *space) error {
	var errs []error
	for _, g := range p.globals {
		errs = append(errs, sp.free(g.addr))
	}
	p.globals = nil
	return errors.Join(errs...)
}
