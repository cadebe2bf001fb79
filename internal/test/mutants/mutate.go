package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// End is the result of a mutant's trial.
type End string

// The results of a trial.
const (
	Noticed  End = "noticed"
	ByWork   End = "noticed by the work done" // the results are correct, but the counts of work differ
	Argued   End = "equivalent, by argument"
	Survived End = "survived"
)

// Mutant is one changed instruction.
type Mutant struct {
	Family, Kernel string
	Line           int // line in the PTX file, from 1
	Rule           string
	Old, New       string // the whole line
	End            End
	Why            string  // the failed test, or the name of the argument
	Seconds        float64 // duration of the trial

	task Task
}

// key identifies a mutant by family, line and rule.
func (m *Mutant) key() string { return fmt.Sprint(m.Family, ":", m.Line, ":", m.Rule) }

var instruction = regexp.MustCompile(`^(\s*(?:@!?%p\d+\s+)?)([a-z][a-z0-9_.:]*)(\s+)([^;]*;.*)$`)

// swaps has replacements in an instruction's opcode: if its first word is op, from becomes to.
var swaps = []struct{ op, from, to string }{
	{"add", "add", "sub"}, {"sub", "sub", "add"}, {"mul", ".lo.", ".hi."}, {"mul", "mul", "add"}, {"mad", ".lo.", ".hi."},
	{"min", "min", "max"}, {"max", "max", "min"}, {"and", "and", "or"}, {"or", "or", "and"}, {"xor", "xor", "or"},
	{"shl", "shl", "shr"}, {"shr", "shr", "shl"}, {"div", ".rn", ".rz"}, {"sqrt", ".rn", ".rz"}, {"add", ".rn", ".rz"}, {"mul", ".rn", ".rz"},
	{"setp", ".lt", ".le"}, {"setp", ".le", ".lt"}, {"setp", ".gt", ".ge"}, {"setp", ".ge", ".gt"}, {"setp", ".eq", ".ne"}, {"setp", ".ne", ".eq"},
	{"setp", ".ltu", ".geu"}, {"setp", ".leu", ".gtu"}, {"setp", ".gtu", ".leu"}, {"setp", ".geu", ".ltu"}, {"setp", ".lo", ".ls"}, {"setp", ".hi", ".hs"},
	{"setp", ".neu", ".equ"}, {"setp", ".equ", ".neu"}, {"setp", ".num", ".nan"}, {"setp", ".nan", ".num"},
	{"cvt", ".rn.", ".rz."}, {"cvt", ".rz.", ".rn."}, {"cvt", ".rmi.", ".rpi."}, {"cvt", ".rpi.", ".rmi."}, {"cvt", ".rzi.", ".rpi."},
	{"atom", ".min.", ".max."}, {"atom", ".max.", ".min."}, {"atom", ".add.", ".max."}, {"atom", ".or.", ".and."}, {"atom", ".exch.", ".add."},
	{"red", ".min.", ".max."}, {"red", ".max.", ".min."}, {"red", ".add.", ".max."}, {"red", ".or.", ".and."},
	{"abs", "abs", "neg"}, {"neg", "neg", "abs"},
}

// rounds matches the types with a rounding mode, so that integer arithmetic does not get one.
var rounds = regexp.MustCompile(`\.rn\.(f16|f32|f64|bf16)`)

var offset = regexp.MustCompile(`\[([^\]+]+)(?:\+(-?\d+))?\]`)

const leftOut = "it is left out"

// changes returns the defects that can be made in an instruction, each as the rule's name and the new opcode and operands. An empty
// opcode removes the instruction.
func changes(op, operands string) (out [][3]string) {
	name, _, _ := strings.Cut(op, ".")
	for _, s := range swaps {
		if s.op != name || !strings.Contains(op+".", s.from) {
			continue
		}
		if s.from == ".rn" && !rounds.MatchString(op) {
			continue
		}
		changed := strings.TrimSuffix(strings.Replace(op+".", s.from, s.to, 1), ".")
		switch {
		case s.from == "mul" && strings.Contains(op, ".f"): // a product becomes a sum
		case s.from == "mul":
			continue
		case s.from == "shl":
			changed = strings.Replace(changed, ".b", ".u", 1)
		case s.from == "shr":
			changed = "shl.b" + changed[strings.LastIndexAny(changed, "usb")+1:]
		}
		out = append(out, [3]string{s.from + " becomes " + s.to, changed, operands})
	}
	switch name {
	case "selp":
		if parts := strings.SplitN(strings.TrimSuffix(operands, ";"), ",", 4); len(parts) == 4 {
			out = append(out, [3]string{"the choice is turned round", op, strings.Join([]string{parts[0], parts[2], parts[1], parts[3]}, ",") + ";"})
		}
	case "ld":
		if strings.Contains(op, ".param") {
			break
		}
		fallthrough
	case "st":
		if m := offset.FindStringSubmatchIndex(operands); m != nil {
			at := operands[m[2]:m[3]]
			was := 0
			if m[4] >= 0 {
				fmt.Sscan(operands[m[4]:m[5]], &was)
			}
			moved := fmt.Sprintf("%s[%s+%d]%s", operands[:m[0]], at, was+bytesOf(op), operands[m[1]:])
			out = append(out, [3]string{"one element further", op, moved})
		}
		if name == "st" {
			out = append(out, [3]string{leftOut, "", ""})
		}
	case "red", "bar", "barrier":
		out = append(out, [3]string{leftOut, "", ""})
	case "bra":
		out = append(out, [3]string{leftOut, "", ""})
	}
	return out
}

var typeBits = regexp.MustCompile(`\.[busf](8|16|32|64)$`)

// bytesOf returns the bytes that a load or store moves. An offset by as many bytes is still aligned.
func bytesOf(op string) int {
	n := 4
	if m := typeBits.FindStringSubmatch(op); m != nil {
		fmt.Sscan(m[1], &n)
		n /= 8
	}
	switch {
	case strings.Contains(op, ".v2."):
		n *= 2
	case strings.Contains(op, ".v4."):
		n *= 4
	}
	return n
}

// found has the counts of a family's instructions and its possible mutants.
type found struct {
	instructions, ran int
	mutants           []*Mutant // one for each instruction that ran and can be changed
}

// candidates makes one mutant for each instruction that ran and can be changed. The line number alone selects the defect.
func candidates(family string, text []byte, ran map[int]bool) found {
	var f found
	kernel := ""
	lines := strings.Split(string(text), "\n")
	from, to := 0, 0 // the lines of the current kernel
	for i, line := range lines {
		if _, after, ok := strings.Cut(line, ".entry "); ok {
			kernel, _, _ = strings.Cut(after, "(")
			for from, to = i, i+1; to < len(lines) && !strings.Contains(lines[to], ".entry "); to++ {
			}
		}
		m := instruction.FindStringSubmatch(line)
		if m == nil || kernel == "" || strings.HasPrefix(strings.TrimSpace(line), ".") {
			continue
		}
		f.instructions++
		if !ran[i+1] {
			continue
		}
		f.ran++
		guard, op, gap, operands := m[1], m[2], m[3], m[4]
		if name, _, _ := strings.Cut(op, "."); name == "bra" && !strings.Contains(guard, "@") {
			continue // without the branch, the code after it would run, most often forever
		}
		all := slices.DeleteFunc(changes(op, operands), func(c [3]string) bool { return changesNothing(lines, from, to, i, c[0]) })
		if len(all) == 0 {
			continue
		}
		c := all[i%len(all)]
		mutated := guard + c[1] + gap + c[2]
		if c[1] == "" { // the replacement has no effect, and also counts as one instruction
			mutated = "{ .reg .b32 nothing; " + strings.TrimSpace(guard) + " mov.b32 nothing, 0; }"
		}
		f.mutants = append(f.mutants, &Mutant{Family: family, Kernel: kernel, Line: i + 1, Rule: c[0], Old: line, New: mutated})
	}
	return f
}

// replaceLine returns the text with line n (the first is 1) replaced.
func replaceLine(text []byte, n int, with string) []byte {
	lines := strings.Split(string(text), "\n")
	lines[n-1] = with
	return []byte(strings.Join(lines, "\n"))
}
