package ptxparse

import "slices"

// maxParams is the most bytes of parameters that any PTX version gives an entry.
const maxParams = 32764

// maxVariable is the most bytes that a variable may have here.
const maxVariable = 1 << 30

// Module is one PTX text.
type Module struct {
	ISA    int    // .version, 78 for 7.8
	Target string // first name after .target, such as sm_90
	Vars   []*Var // at module scope
	Funcs  []*Func
}

// Var is a variable, a formal parameter, or a parameter of a call.
type Var struct {
	Name        string
	Space       string // global, const, shared, local or param
	Type        string // without the dot, of an element
	Size, Align int    // of the whole; Size 0 for an array without a length
	Extern      bool
	Data        []byte // initial value, nil for none
	Relocs      []Reloc
	Line        int
}

// Reloc is an address inside an initial value.
type Reloc struct {
	At, Size int // where in Data, and how wide
	Name     string
	Add      int64
	Generic  bool
}

// Func is an entry or a function. A function without a body has none here: it is left out.
type Func struct {
	Name       string
	Entry      bool
	Line       int
	Params     []*Var
	Returns    []*Var
	MaxThreads int // product of .maxntid or .reqntid, 0 without one
	Regs       []Reg
	Vars       []*Var // declared in the body
	Body       []Inst
}

// Reg is one register. Registers of one name in two scopes are two.
type Reg struct {
	Name string
	Type string // without the dot: pred, b32, f64 ...
}

// Inst is one instruction.
type Inst struct {
	Line     int
	Guard    int // register of the predicate, -1 for none
	GuardNot bool
	Op       string // with its qualifiers
	Args     []Operand
}

// Kind is what an operand is.
type Kind uint8

const (
	KindReg     Kind = iota // Reg
	KindInt                 // Value: an integer, two's complement
	KindF32                 // Value: the bits of a float
	KindF64                 // Value: the bits of a double
	KindSpecial             // Name: a special register such as %tid.x
	KindVar                 // Var plus Off: an address
	KindFunc                // Name: a function that is called
	KindLabel               // Target: index of an instruction in Body, which may be one past the last
	KindTargets             // Elems: labels of .branchtargets
	KindAddress             // [Reg or Var, plus Off]; Reg is -1 if there is none
	KindVector              // {Elems}
	KindGroup               // (Elems) of a call
	KindPair                // Elems[0] | Elems[1]
	KindSink                // _
)

// Operand is one operand of an instruction.
type Operand struct {
	Kind   Kind
	Not    bool // !Reg
	Reg    int
	Value  uint64
	Off    int64
	Name   string
	Var    *Var
	Target int
	Elems  []Operand
}

// Entry is the outline of a kernel: what a launch must know of it.
type Entry struct {
	Name       string
	Params     []Param
	MaxThreads int      // product of .maxntid, 0 without one
	Opcodes    []string // with qualifiers, each once, in order of appearance
}

// Param is one kernel parameter. A struct is an array of bytes: Type b8, Size the whole.
type Param struct {
	Type        string // without the dot
	Size, Align int
}

// Entries outlines the module's kernels, in order.
func (m *Module) Entries() []Entry {
	var list []Entry
	for _, f := range m.Funcs {
		if !f.Entry {
			continue
		}
		e := Entry{Name: f.Name, MaxThreads: f.MaxThreads}
		for _, p := range f.Params {
			e.Params = append(e.Params, Param{p.Type, p.Size, p.Align})
		}
		seen := map[string]bool{}
		for _, in := range f.Body {
			if !seen[in.Op] {
				seen[in.Op] = true
				e.Opcodes = append(e.Opcodes, in.Op)
			}
		}
		list = append(list, e)
	}
	return list
}

// Func finds a function or an entry by name.
func (m *Module) Func(name string) (*Func, bool) {
	i := slices.IndexFunc(m.Funcs, func(f *Func) bool { return f.Name == name })
	if i < 0 {
		return nil, false
	}
	return m.Funcs[i], true
}
