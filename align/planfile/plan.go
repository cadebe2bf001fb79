package planfile

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func (d *decoder) plan(n ast.Node) (p align.Plan) {
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
			p.Windows = map[string]align.Window{}
			d.entries(n, key, false, func(_ ast.Node, name string, v ast.Node) {
				p.Windows[name] = d.window(v, join(key, name))
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
		d.err.(*align.PlanError).Got = "no version"
	} else if d.err == nil && version != 1 {
		d.fail(at, "version", "1")
	}
	if d.err == nil && d.at["rate"] == nil {
		d.failed(n, "rate", "none", "the Hz of the common clock")
	}
	return p
}

// window reads a stream's window: a list with its beginning and end, or a mapping with single times, {at: [-400ms, 0s]}.
func (d *decoder) window(n ast.Node, key string) (w align.Window) {
	if _, ok := n.(*ast.MappingNode); !ok {
		w.From, w.To = d.pair(n, key)
		return w
	}
	d.fields(n, key, map[string]func(ast.Node, string){"at": func(n ast.Node, key string) {
		d.list(n, key, func(n ast.Node, key string) {
			w.At = append(w.At, d.seconds(n, key, "a duration such as -100ms, or seconds such as -0.1"))
		})
	}})
	return w
}

// span reads the clock's range: the name of a mode, or a list with its beginning and end: see pair.
func (d *decoder) span(n ast.Node, key string) align.Range {
	if _, ok := n.(*ast.SequenceNode); ok {
		return align.Between(d.pair(n, key))
	}
	name, _ := scalar(n)
	for m := align.RangeCommon; m < align.RangeBetween; m++ {
		if m.String() == name {
			return align.Range{Mode: m}
		}
	}
	d.fail(n, key, "common, intersection, union, or [from, to] from the episode's start, such as [2s, 10s]")
	return align.Range{}
}

func (d *decoder) stream(n ast.Node, key string) (s align.Stream) {
	known := d.sampling(&s.Sampling)
	known["name"], known["from"] = d.text(&s.Name), d.text(&s.From)
	known["columns"] = func(n ast.Node, key string) {
		d.list(n, key, func(n ast.Node, key string) {
			var c string
			d.text(&c)(n, key)
			s.Columns = append(s.Columns, c)
		})
	}
	known["points"] = func(n ast.Node, key string) { s.Points = d.points(n, key) }
	d.fields(n, key, known)
	return s
}

func (d *decoder) points(n ast.Node, key string) *align.Points {
	p := &align.Points{}
	d.fields(n, key, map[string]func(ast.Node, string){
		"k": func(n ast.Node, key string) {
			k := d.float(n, key, "a whole number")
			if p.K = int(k); float64(p.K) != k {
				d.fail(n, key, "a whole number")
			}
		},
		"min": d.numbers(p.Min[:]), "max": d.numbers(p.Max[:]), "near": d.number(&p.Near), "far": d.number(&p.Far),
		"intrinsics": d.numbers(p.Intrinsics[:]), "scale": d.positive(&p.Scale), "fixed": d.text(&p.Fixed), "pose": d.numbers(p.Pose[:]),
		"grid": d.text(&p.Grid),
	})
	return p
}

func (d *decoder) sampling(s *align.Sampling) map[string]func(ast.Node, string) {
	return map[string]func(ast.Node, string){
		"quat": d.text(&s.Quat), "period": d.positive(&s.Period), "window": d.limit(&s.Window), "edge": d.text(&s.Edge),
		"max_gap": d.gap(&s.MaxGap), "tolerance": d.gap(&s.Tolerance), "fill_gaps": d.truth(&s.FillGaps),
		"offset": d.duration(&s.Offset), "normalise": d.text(&s.Normalise),
		"fill": func(n ast.Node, key string) { s.Fill = ops.FillWith(d.float(n, key, "a number")) },
		"method": func(n ast.Node, key string) {
			if _, ok := scalar(n); ok {
				d.text(&s.Kind)(n, key)
				return
			}
			d.entries(n, key, false, func(_ ast.Node, name string, v ast.Node) {
				kind := align.ColumnKind{Columns: name}
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
			d.fail(n, key, "f32, f64, f16, bf16")
		},
	}
}
