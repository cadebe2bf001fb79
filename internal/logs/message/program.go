package message

// rules are an encoding's rules.
type rules struct {
	align int  // maximum alignment
	boxes bool // whether arrays begin with XCDR2's size
	count int  // bytes for a struct without fields
}

var (
	ros1Rules  = rules{align: 1}
	xcdr1Rules = rules{align: 8, count: 1}
	xcdr2Rules = rules{align: 4, boxes: true, count: 1}
)

// program is the list of steps that read a message in one encoding.
type program struct {
	rules
	ops  []op
	wide bool // whether it reads a wstring, which has two or four bytes per unit
}

type opcode uint8

const (
	opRun opcode = iota // numbers at fixed offsets from their start
	opText
	opWideText
	opStamp
	opLoop
	opSequence
)

type op struct {
	code opcode
	n    int // passes of a loop
	list int // for a sequence: its list's index, or -1
	text int // its index among the labels, or -1
	role role
	run  *run
	body []op
	box  bool // whether a size comes first
	// least is the minimum bytes per element.
	least int
	inner []int // as in node
}

// least returns the minimum bytes that steps read.
func least(ops []op) (sum int) {
	for i := range ops {
		o := &ops[i]
		n := 4
		switch o.code {
		case opRun:
			n = o.run.least
		case opStamp:
			n = 8
		case opLoop:
			n = o.n * least(o.body)
		}
		sum = min(sum+n, 1<<31-1)
	}
	return sum
}

// run is a series of numbers without anything of variable length between them.
type run struct {
	align   int        // of its start
	layouts [8]*layout // by the aligned start modulo 8
	least   int        // bytes in the shortest layout
	// dense is set if an array of such runs has no gaps, so that all have the same layout. whole is set if all numbers have one kind.
	dense, whole bool
}

// layout holds the offsets of a run's numbers from its start.
type layout struct {
	size int
	segs []segment
}

// segment is consecutive numbers of one kind.
type segment struct {
	kind Kind
	from int
	n    int
}

var sizes = [...]int{Bool: 1, Int8: 1, Uint8: 1, Int16: 2, Uint16: 2, Int32: 4, Uint32: 4, Int64: 8, Uint64: 8, Float32: 4, Float64: 8}

// compile returns the program that executes nodes under an encoding's rules.
func compile(nodes []node, r rules) *program {
	p := &program{rules: r}
	p.ops = p.compile(nodes)
	return p
}

func (p *program) compile(nodes []node) (ops []op) {
	var pending []node
	flush := func() {
		if len(pending) > 0 {
			ops = append(ops, op{code: opRun, run: p.run(pending)})
			pending = nil
		}
	}
	for _, n := range nodes {
		switch n.what {
		case numbers:
			if n.n > 0 {
				pending = append(pending, n)
			}
			continue
		case nothing:
			if p.count > 0 {
				pending = append(pending, node{kind: Uint8, n: p.count})
			}
			continue
		case box:
			if p.boxes {
				pending = append(pending, node{kind: Uint32, n: 1})
			}
			continue
		}
		flush()
		switch n.what {
		case text:
			ops = append(ops, op{code: opText, role: n.role})
		case wideText:
			p.wide = true
			ops = append(ops, op{code: opWideText})
		case stamp:
			ops = append(ops, op{code: opStamp})
		case loop:
			if body := p.compile(n.body); len(body) > 0 && n.n > 0 {
				ops = append(ops, op{code: opLoop, n: n.n, body: body, box: n.boxed && p.boxes})
			}
		case sequence:
			o := op{code: opSequence, list: n.list, text: n.text, inner: n.inner, body: p.compile(n.body), box: n.boxed && p.boxes}
			if len(o.body) == 1 && o.body[0].code == opRun {
				o.run = o.body[0].run
			}
			o.least = least(o.body)
			ops = append(ops, o)
		}
	}
	flush()
	return ops
}

// run computes the layout of numbers for each possible start.
func (p *program) run(parts []node) *run {
	r := &run{align: min(sizes[parts[0].kind], p.align)}
	most := 1
	for _, n := range parts {
		most = max(most, min(sizes[n.kind], p.align))
	}
	for begin := 0; begin < 8; begin += r.align {
		if begin >= most {
			r.layouts[begin] = r.layouts[begin-most]
			continue
		}
		l, at := &layout{}, begin
		for _, n := range parts {
			size := sizes[n.kind]
			at = (at + min(size, p.align) - 1) &^ (min(size, p.align) - 1)
			if n.keep {
				if last := len(l.segs) - 1; last >= 0 && l.segs[last].kind == n.kind && l.segs[last].from+l.segs[last].n*size == at-begin {
					l.segs[last].n += n.n
				} else {
					l.segs = append(l.segs, segment{n.kind, at - begin, n.n})
				}
			}
			at += size * n.n
		}
		l.size = at - begin
		r.layouts[begin] = l
		if begin == 0 || l.size < r.least {
			r.least = l.size
		}
	}
	l := r.layouts[0]
	r.dense = r.align == most && l.size%most == 0
	r.whole = r.dense && len(l.segs) == 1 && l.segs[0].n*sizes[l.segs[0].kind] == l.size
	return r
}
