package program

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/internal/ptxparse"
)

// Program is a loaded module. It is immutable after Load.
type Program struct {
	kernels map[string]*exec.Kernel
	globals map[string]global
}

// Load compiles every entry of a PTX text and places its variables in sp. If an instruction is unknown, the error names it and
// its line.
func Load(text []byte, sp *memory.Space) (*Program, error) {
	m, err := ptxparse.Parse(text)
	if err != nil {
		return nil, err
	}
	p := &Program{kernels: map[string]*exec.Kernel{}, globals: map[string]global{}}
	if err := p.place(m, sp); err != nil {
		return nil, errors.Join(err, p.Unload(sp))
	}
	source := strings.Split(string(text), "\n")
	for _, f := range m.Funcs {
		if !f.Entry {
			continue
		}
		k, err := compile(p.globals, m, f, source)
		if err != nil {
			return nil, errors.Join(err, p.Unload(sp))
		}
		p.kernels[k.Name] = k
	}
	return p, nil
}

// place allocates device memory for the module's variables and sets their initial values, zero by default.
func (p *Program) place(m *ptxparse.Module, sp *memory.Space) error {
	for _, v := range m.Vars {
		if v.Space == "shared" {
			continue
		}
		if v.Extern || v.Size == 0 {
			return &UnsupportedError{v.Line, v.Name, "a variable that no module defines"}
		}
		addr, err := sp.Alloc(uint64(v.Size), v.Space+" variable "+v.Name)
		if err != nil {
			return err
		}
		p.globals[v.Name] = global{addr, uint64(v.Size)}
		b, err := sp.Bytes(addr, uint64(v.Size), true)
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
			b, err := sp.Bytes(p.globals[v.Name].addr, uint64(v.Size), true)
			if err != nil {
				return err
			}
			binary.LittleEndian.PutUint64(b[r.At:], to.addr+uint64(r.Add))
		}
	}
	return nil
}

// Kernel returns the entry with a name, or false if the program has none.
func (p *Program) Kernel(name string) (*exec.Kernel, bool) {
	k, ok := p.kernels[name]
	return k, ok
}

// HasVariables reports whether the module has variables. They lie in the memory of one driver.
func (p *Program) HasVariables() bool { return len(p.globals) > 0 }

// Unload frees the module's variables.
func (p *Program) Unload(sp *memory.Space) error {
	var errs []error
	for _, g := range p.globals {
		errs = append(errs, sp.Free(g.addr))
	}
	p.globals = nil
	return errors.Join(errs...)
}
