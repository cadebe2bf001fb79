package ptxparse

import "slices"

// maxParams is the largest size in bytes that any PTX version allows for an entry's parameters.
const maxParams = 32764

// maxVariable is the largest size in bytes that this package accepts for a variable.
const maxVariable = 1 << 30

// Module is one PTX text.
type Module struct {
	ISA    int    // .version as an integer, for example 78 for 7.8
	Target string // first name after .target, for example sm_90
	Vars   []*Var // at module scope
	Funcs  []*Func
}

// Var is a variable, a formal parameter, or a parameter of a call.
type Var struct {
	Name        string
	Space       string // global, const, shared, local or param
	Type        string // element type, without the dot
	Size, Align int    // bytes for the whole variable; Size is 0 for an array without a length
	Extern      bool
	Data        []byte // initial value; nil if there is none
	Relocs      []Reloc
	Line        int
}

// Reloc is an address inside an initial value.
type Reloc struct {
	At, Size int // offset in Data, and bytes
	Name     string
	Add      int64
	Generic  bool
}

// Func is an entry or a function with a body. A prototype without a body is not in the module.
type Func struct {
	Name       string
	Entry      bool
	Line       int
	Params     []*Var
	Returns    []*Var
	MaxThreads int // product of .maxntid or .reqntid; 0 if there is none
	Regs       []Reg
	Vars       []*Var // variables declared in the body
	Body       []Inst
}

// Reg is one register. Registers with the same name in two scopes are different.
type Reg struct {
	Name string
	Type string // without the dot, for example pred, b32 or f64
}

// Inst is one instruction.
type Inst struct {
	Line     int
	Guard    int // index of the guard's predicate register, or -1
	GuardNot bool
	Op       string // opcode with its qualifiers
	Args     []Operand
}

// Kind is an operand's form, and selects the fields in Operand that are set.
type Kind uint8

const (
	KindReg     Kind = iota // Reg
	KindInt                 // Value: an integer, two's complement
	KindF32                 // Value: the bits of a float
	KindF64                 // Value: the bits of a double
	KindSpecial             // Name: a special register such as %tid.x
	KindVar                 // Var plus Off: an address
	KindFunc                // Name: a called function
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
	Not    bool // the operand is !Reg
	Reg    int
	Value  uint64
	Off    int64
	Name   string
	Var    *Var
	Target int
	Elems  []Operand
}

// Entry has the properties of a kernel that a launch needs.
type Entry struct {
	Name       string
	Params     []Param
	MaxThreads int      // product of .maxntid; 0 if there is none
	Opcodes    []string // each opcode with its qualifiers, once, in the text's order
}

// Param is one kernel parameter. A struct counts as a byte array: Type is b8, and Size is the struct's size.
type Param struct {
	Type        string // without the dot
	Size, Align int
}

// Entries returns the launch properties of the module's kernels, in order.
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

// Func returns the function or entry with a name. It returns false if the module has none.
func (m *Module) Func(name string) (*Func, bool) {
	i := slices.IndexFunc(m.Funcs, func(f *Func) bool { return f.Name == name })
	if i < 0 {
		return nil, false
	}
	return m.Funcs[i], true
}
