package align

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/internal/near"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// ReadPlan reads a plan file: YAML, of version 1. An unknown key, a wrong value or a mistake in the YAML is a *PlanError with line and column.
func ReadPlan(path string) (Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Plan{}, err
	}
	return ParsePlan(path, text)
}

// maxPlan is how long a plan file may be: the parser's memory grows with it.
const maxPlan = 1 << 20

// ParsePlan reads a plan file's text. The path is for errors.
func ParsePlan(path string, text []byte) (Plan, error) {
	d := &decoder{path: path, at: map[string]ast.Node{}, keys: map[string]ast.Node{}}
	if len(text) > maxPlan {
		return Plan{}, &PlanError{Path: path, Got: fmt.Sprintf("%d bytes", len(text)), Want: fmt.Sprintf("a plan of at most %d", maxPlan)}
	}
	var file *ast.File
	err := caught.Do(func() (err error) { // the library panics on some of what it does not expect
		file, err = parser.ParseBytes(bytes.TrimPrefix(text, []byte("\ufeff")), 0) // the mark that some editors begin a file with
		return err
	})
	if err != nil {
		return Plan{}, d.syntax(err)
	}
	if len(file.Docs) == 0 || len(file.Docs) == 1 && file.Docs[0].Body == nil {
		return Plan{}, &PlanError{Path: path, Line: 1, Column: 1, Got: "nothing", Want: "a plan, with version and rate"}
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return Plan{}, &PlanError{Path: path, Line: 1, Column: 1, Got: fmt.Sprintf("%d documents", len(file.Docs)), Want: "one, with version and rate"}
	}
	p := d.plan(file.Docs[0].Body)
	if d.err != nil {
		return Plan{}, d.err
	}
	p.origin = newOrigin(path, d)
	err = p.Check()
	if err == nil {
		err = p.checkWindows()
	}
	if err != nil {
		var e *PlanError
		if errors.As(err, &e) { // of a value that is itself of the right form
			e.Path = path
			e.Line, e.Column = p.origin.place(e.Key)
		}
		return Plan{}, err
	}
	return p, nil
}

// decoder turns nodes into values and keeps the first error.
type decoder struct {
	path string
	at   map[string]ast.Node // the nodes by key, for the errors of Check
	keys map[string]ast.Node // those of the keys themselves
	err  error
}

func (d *decoder) syntax(err error) error {
	e := &PlanError{Path: d.path, Line: 1, Column: 1, Got: err.Error(), Want: "YAML"}
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
		e := &PlanError{Path: d.path, Key: key, Got: got, Want: want}
		e.Line, e.Column = position(n)
		d.err = e
	}
}

// describe writes what a node is, in a line.
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

// fields calls the function for each key of a mapping. Keys that are not known or come twice are errors.
func (d *decoder) fields(n ast.Node, key string, known map[string]func(n ast.Node, key string)) {
	names := sortedKeys(known)
	d.entries(n, key, func(k ast.Node, name string, v ast.Node) {
		set, ok := known[name]
		if !ok {
			d.failed(k, key, describe(k)+near.DidYouMean(name, names), "one of "+oneOf(names))
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

// entries calls the function for each entry of a mapping.
func (d *decoder) entries(n ast.Node, key string, each func(k ast.Node, name string, v ast.Node)) {
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

// scalar returns the text of a name, a number or a truth value.
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
	case *ast.StringNode: // 1e2 is a number of YAML's newer rules, and JSON has none for those below
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

func (d *decoder) plan(n ast.Node) (p Plan) {
	version := 0.0
	d.fields(n, "", map[string]func(ast.Node, string){
		"version": d.number(&version), "rate": d.number(&p.Rate), "snap": d.limit(&p.Snap),
		"unordered": d.text(&p.Unordered), "padding": d.text(&p.Padding), "pad_after": d.limit(&p.PadAfter), "shuffle": d.text(&p.Shuffle),
		"range":    func(n ast.Node, key string) { p.Range = d.span(n, key) },
		"defaults": func(n ast.Node, key string) { d.fields(n, key, d.sampling(&p.Defaults)) },
		"streams": func(n ast.Node, key string) {
			d.list(n, key, func(n ast.Node, key string) { p.Streams = append(p.Streams, d.stream(n, key)) })
		},
		"windows": func(n ast.Node, key string) {
			p.Windows = map[string]Window{}
			d.entries(n, key, func(_ ast.Node, name string, v ast.Node) {
				from, to := d.pair(v, join(key, name))
				p.Windows[name] = Window{from, to}
			})
		},
		"filter": func(n ast.Node, key string) {
			d.fields(n, key, map[string]func(ast.Node, string){
				"split": d.text(&p.Filter.Split), "task": d.text(&p.Filter.Task),
				"success": func(n ast.Node, key string) { p.Filter.Success = new(bool); d.truth(p.Filter.Success)(n, key) },
			})
		},
	})
	if at := d.at["version"]; d.err == nil && at == nil {
		d.fail(n, "version", "version: 1")
		d.err.(*PlanError).Got = "no version"
	} else if d.err == nil && version != 1 {
		d.fail(at, "version", "1")
	}
	if d.err == nil && d.at["rate"] == nil {
		d.failed(n, "rate", "none", "the Hz of the common clock")
	}
	return p
}

// span reads the range: a name, or a beginning and an end in seconds.
func (d *decoder) span(n ast.Node, key string) Range {
	if _, ok := n.(*ast.SequenceNode); ok {
		return Between(d.pair(n, key))
	}
	name, _ := scalar(n)
	for m := RangeCommon; m < RangeBetween; m++ {
		if m.String() == name {
			return Range{Mode: m}
		}
	}
	d.fail(n, key, "common, intersection, union, or [from, to] from the episode's start, such as [2s, 10s]")
	return Range{}
}

// pair reads two lengths of time; a number is one of seconds.
func (d *decoder) pair(n ast.Node, key string) (a, b time.Duration) {
	const want = "two lengths of time, [from, to], such as [-500ms, 1s], or numbers of seconds, [-0.5, 1]"
	s, ok := n.(*ast.SequenceNode)
	if !ok || len(s.Values) != 2 {
		d.fail(n, key, want)
		return 0, 0
	}
	var both [2]time.Duration
	for i, v := range s.Values {
		if text, ok := scalar(v); ok {
			if length, err := time.ParseDuration(text); err == nil {
				both[i] = length
				continue
			}
		}
		sec := d.float(v, key, want)
		if !(math.Abs(sec) < 9e9) {
			d.fail(v, key, "seconds within 9e9")
			return 0, 0
		}
		both[i] = time.Duration(math.Round(sec * 1e9))
	}
	return both[0], both[1]
}

func (d *decoder) stream(n ast.Node, key string) (s Stream) {
	known := d.sampling(&s.Sampling)
	known["name"], known["from"] = d.text(&s.Name), d.text(&s.From)
	known["columns"] = func(n ast.Node, key string) {
		d.list(n, key, func(n ast.Node, key string) {
			var c string
			d.text(&c)(n, key)
			s.Columns = append(s.Columns, c)
		})
	}
	d.fields(n, key, known)
	return s
}

func (d *decoder) sampling(s *Sampling) map[string]func(ast.Node, string) {
	return map[string]func(ast.Node, string){
		"quat": d.text(&s.Quat), "period": d.positive(&s.Period), "window": d.limit(&s.Window), "edge": d.text(&s.Edge),
		"max_gap": d.limit(&s.MaxGap), "tolerance": d.limit(&s.Tolerance), "fill_gaps": d.truth(&s.FillGaps),
		"offset": d.duration(&s.Offset), "normalise": d.text(&s.Normalise),
		"fill": func(n ast.Node, key string) { s.Fill = ops.FillWith(d.float(n, key, "a number")) },
		"kind": func(n ast.Node, key string) {
			if _, ok := scalar(n); ok {
				d.text(&s.Kind)(n, key)
				return
			}
			d.entries(n, key, func(_ ast.Node, name string, v ast.Node) {
				kind := ColumnKind{Columns: name}
				d.text(&kind.Kind)(v, join(key, name))
				s.Kinds = append(s.Kinds, kind)
			})
		},
		"dtype": func(n ast.Node, key string) {
			name, _ := scalar(n)
			for _, t := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
				if t.String() == name {
					s.DType = t
					return
				}
			}
			d.fail(n, key, oneOf(dtypeNames()))
		},
	}
}

func newOrigin(path string, d *decoder) *origin {
	o := &origin{path, map[string][2]int{}, map[string][2]int{}}
	for to, from := range map[*map[string][2]int]map[string]ast.Node{&o.values: d.at, &o.keys: d.keys} {
		for key, n := range from {
			line, column := position(n)
			(*to)[key] = [2]int{line, column}
		}
	}
	return o
}
