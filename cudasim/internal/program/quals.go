package program

import (
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/ptxparse"
)

// quals is an opcode cut at its dots. A qualifier that no handler consumes makes the instruction unknown.
type quals struct {
	base  string
	parts []string
	used  []bool
}

func newQuals(op string) *quals {
	parts := strings.Split(op, ".")
	return &quals{parts[0], parts[1:], make([]bool, len(parts)-1)}
}

// has reports whether the opcode has a qualifier, and consumes it.
func (q *quals) has(name string) bool {
	for i, p := range q.parts {
		if p == name && !q.used[i] {
			q.used[i] = true
			return true
		}
	}
	return false
}

// one returns the first of names that the opcode has, or "".
func (q *quals) one(names ...string) string {
	for i, p := range q.parts {
		if !q.used[i] && slices.Contains(names, p) {
			q.used[i] = true
			return p
		}
	}
	return ""
}

// typ consumes the first type among the remaining qualifiers.
func (q *quals) typ() string {
	for i, p := range q.parts {
		if !q.used[i] && (ptxparse.TypeSize(p) > 0 || p == "pred") {
			q.used[i] = true
			return p
		}
	}
	return ""
}

func (q *quals) left() string {
	for i, p := range q.parts {
		if !q.used[i] {
			return p
		}
	}
	return ""
}

// isFloat reports whether an opcode has a floating-point type.
func (q *quals) isFloat() bool {
	t := ""
	for _, p := range q.parts {
		if ptxparse.TypeSize(p) > 0 {
			t = p
			break
		}
	}
	return strings.HasPrefix(t, "f") || strings.HasPrefix(t, "bf")
}

// vector consumes the number of elements: one of names (v2, v4, v8), or 1 by default.
func (q *quals) vector(names ...string) int {
	if v := q.one(names...); v != "" {
		return int(v[1] - '0')
	}
	return 1
}

func (q *quals) space() string {
	return q.one("global", "const", "shared", "local", "param", "shared::cta", "shared::cluster", "param::entry", "param::func")
}
