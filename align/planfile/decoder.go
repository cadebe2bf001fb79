package planfile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
)

// decoder converts YAML nodes to values and keeps the first error.
type decoder struct {
	path string
	at   map[string]ast.Node // the value nodes by key, for the errors that Check returns
	keys map[string]ast.Node // the key nodes by key
	err  error
}

func (d *decoder) syntax(err error) error {
	e := &align.PlanError{Path: d.path, Line: 1, Column: 1, Got: err.Error(), Want: "YAML"}
	var y yaml.Error
	if fell := (*caught.Panic)(nil); errors.As(err, &fell) {
		e.Got = "YAML that the reader has no way for: " + fmt.Sprint(fell.Value)
	} else if errors.As(err, &y) {
		e.Got = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}

func position(n ast.Node) (line, column int) {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return position(m.Values[0].Key)
	}
	if s, ok := n.(*ast.SequenceNode); ok && len(s.Values) > 0 && !s.IsFlowStyle {
		return position(s.Values[0])
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return position(m.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line, t.Position.Column
	}
	return 1, 1
}

func (d *decoder) fail(n ast.Node, key, want string) { d.failed(n, key, describe(n), want) }

func (d *decoder) failed(n ast.Node, key, got, want string) {
	if d.err == nil {
		e := &align.PlanError{Path: d.path, Key: key, Got: got, Want: want}
		e.Line, e.Column = position(n)
		d.err = e
	}
}

// describe describes a node in one line.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode:
		return "an anchor or alias, which plans do not have"
	case *ast.StringNode:
		return shortened(strconv.Quote(n.Value))
	case *ast.LiteralNode:
		return shortened(strconv.Quote(n.Value.Value))
	}
	return shortened(strings.ReplaceAll(n.String(), "\n", " "))
}

func shortened(s string) string {
	for i := range s {
		if i > 60 {
			return s[:i] + "..."
		}
	}
	return s
}

// fields calls, for each key in a mapping, the function that known has for it. An unknown or repeated key is an error, which the decoder
// keeps.
func (d *decoder) fields(n ast.Node, key string, known map[string]func(n ast.Node, key string)) {
	names := slices.Sorted(maps.Keys(known))
	d.entries(n, key, true, func(k ast.Node, name string, v ast.Node) {
		set, ok := known[name]
		if !ok {
			d.failed(k, key, describe(k)+text.DidYouMean(name, names), "one of "+strings.Join(names, ", "))
			return
		}
		set(v, join(key, name))
	})
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// entries calls each for every entry in a mapping. If fields is set, the names are plan keys, else stream or column names.
func (d *decoder) entries(n ast.Node, key string, fields bool, each func(k ast.Node, name string, v ast.Node)) {
	d.at[key] = n
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.fail(n, key, "a mapping of keys to values")
		return
	}
	seen := map[string]bool{}
	for _, v := range values {
		name, ok := scalar(v.Key)
		if !ok {
			d.fail(v.Key, key, "a name")
			return
		}
		if fields && name == "kind" { // the old name, which plan files on disks have
			name = "method"
		}
		if seen[name] {
			d.fail(v.Key, key, "each key once")
			return
		}
		seen[name] = true
		d.at[join(key, name)], d.keys[join(key, name)] = v.Value, v.Key
		each(v.Key, name, v.Value)
		if d.err != nil {
			return
		}
	}
}

// scalar returns a YAML string's, number's or boolean's text, and false for any other node.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func (d *decoder) text(to *string) func(ast.Node, string) {
	return func(n ast.Node, key string) {
		s, ok := scalar(n)
		if !ok {
			d.fail(n, key, "a text")
		}
		*to = s
	}
}

func (d *decoder) number(to *float64) func(ast.Node, string) {
	return func(n ast.Node, key string) { *to = d.float(n, key, "a number") }
}

// numbers returns the function that reads a list with as many numbers as to.
func (d *decoder) numbers(to []float64) func(ast.Node, string) {
	return func(n ast.Node, key string) {
		i := 0
		d.list(n, key, func(n ast.Node, key string) {
			if i < len(to) {
				to[i] = d.float(n, key, "a number")
			}
			i++
		})
		if i != len(to) {
			d.failed(n, key, fmt.Sprintf("%d numbers", i), strconv.Itoa(len(to)))
		}
	}
}

func (d *decoder) positive(to *float64) func(ast.Node, string) {
	return func(n ast.Node, key string) {
		if *to = d.float(n, key, "a number above 0"); !(*to > 0) {
			d.fail(n, key, "a number above 0")
		}
	}
}

func (d *decoder) float(n ast.Node, key, want string) float64 {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		v, err := decimal.ParseFloat(n.GetToken().Value, 64)
		if err == nil {
			return v
		}
	case *ast.NanNode:
		return math.NaN()
	case *ast.InfinityNode:
		return n.Value
	case *ast.StringNode: // YAML 1.2 reads 1e2 as a number, this library as a string; JSON writes small numbers so
		switch n.Value {
		case ".nan":
			return math.NaN()
		case ".inf":
			return math.Inf(1)
		case "-.inf":
			return math.Inf(-1)
		}
		if v, err := decimal.ParseFloat(n.Value, 64); err == nil && n.Token.Type == token.StringType {
			return v
		}
	}
	d.fail(n, key, want)
	return 0
}

func (d *decoder) truth(to *bool) func(ast.Node, string) {
	return func(n ast.Node, key string) {
		b, ok := n.(*ast.BoolNode)
		if !ok {
			d.fail(n, key, "true or false")
			return
		}
		*to = b.Value
	}
}

func (d *decoder) duration(to *time.Duration) func(ast.Node, string) {
	return func(n ast.Node, key string) {
		const want = "a length of time with its unit, such as 100ms or 0.5s"
		s, ok := scalar(n)
		v, err := time.ParseDuration(s)
		if !ok || err != nil {
			d.fail(n, key, want)
		}
		*to = v
	}
}

func (d *decoder) limit(to *ops.Limit) func(ast.Node, string) {
	return func(n ast.Node, key string) {
		var v time.Duration
		if d.duration(&v)(n, key); v < 0 {
			d.fail(n, key, "a length of time that is not negative")
		}
		*to = ops.Within(v)
	}
}

// gap returns the function that reads a gap limit: a duration, or the name auto or none.
func (d *decoder) gap(to *ops.Limit) func(ast.Node, string) {
	return func(n ast.Node, key string) {
		name, _ := scalar(n)
		limit, named := align.ParseGap(name)
		if *to = limit; !named {
			d.limit(to)(n, key)
		}
	}
}

func (d *decoder) list(n ast.Node, key string, each func(n ast.Node, key string)) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(n, key, "a list")
		return
	}
	if len(s.Values) == 0 {
		d.failed(n, key, "an empty list", "one entry or more, or nothing for all")
		return
	}
	for i, v := range s.Values {
		k := fmt.Sprintf("%s[%d]", key, i)
		d.at[k] = v
		if each(v, k); d.err != nil {
			return
		}
	}
}

// pair reads a list with two durations; a number counts seconds.
func (d *decoder) pair(n ast.Node, key string) (a, b time.Duration) {
	const want = "two lengths of time, [from, to], such as [-500ms, 1s], or numbers of seconds, [-0.5, 1]"
	s, ok := n.(*ast.SequenceNode)
	if !ok || len(s.Values) != 2 {
		d.fail(n, key, want)
		return 0, 0
	}
	return d.seconds(s.Values[0], key, want), d.seconds(s.Values[1], key, want)
}

// seconds reads a duration; a number counts seconds.
func (d *decoder) seconds(n ast.Node, key, want string) time.Duration {
	if value, ok := scalar(n); ok {
		if length, err := time.ParseDuration(value); err == nil {
			return length
		}
	}
	sec := d.float(n, key, want)
	if !(math.Abs(sec) < 9e9) {
		d.fail(n, key, "seconds within 9e9")
		return 0
	}
	return time.Duration(math.Round(sec * 1e9))
}
