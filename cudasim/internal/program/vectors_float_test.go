package program_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
)

// sameNumber takes any NaN for a NaN: PTX leaves open which one double precision gives.
func sameNumber(f ieee) func(got, want uint64) bool {
	return func(got, want uint64) bool { return f.isNaN(got) && f.isNaN(want) }
}

// withMods is an operation with what ftz does to its sources and sat to its result.
func (f ieee) withMods(mods string, op func(a, b, c uint64) uint64) func(a, b, c uint64) uint64 {
	flush := func(v uint64) uint64 {
		if strings.Contains(mods, "ftz") && f.abs(v)>>f.mant == 0 {
			return f.withSign(0, f.sign(v))
		}
		return v
	}
	return func(a, b, c uint64) uint64 {
		r := op(flush(a), flush(b), flush(c))
		if !strings.Contains(mods, "sat") {
			return r
		}
		switch {
		case f.isNaN(r) || f.sign(r):
			return 0
		case f.abs(r) > f.one():
			return f.one()
		}
		return r
	}
}

// flushed makes a vector of an operation under ftz, with operands whose results are so near to the least normal number that it
// matters when they are flushed. An H200 flushes after rounding.
func (f ieee) flushed(v vector, op, mods string, g func(f ieee, a, b, c uint64) uint64) vector {
	with := func(when flush) func(a, b, c uint64) uint64 {
		f := f
		f.ftz = when
		return f.withMods(mods, func(a, b, c uint64) uint64 { return g(f, a, b, c) })
	}
	v.want, v.other, v.rule = with(cut), with(exact), "results are flushed before rounding"
	v.more = f.almostNormal(op)
	return v
}

// almostNormal gives operands whose results lie around the least normal number, many of them nearer to it than a digit.
func (f ieee) almostNormal(op string) [][3]uint64 {
	rng := rand.New(rand.NewPCG(2, uint64(f.mant)))
	least := uint64(1) << f.mant
	var rows [][3]uint64
	both := func(a, b, c uint64) { rows = append(rows, [3]uint64{a, b, c}, [3]uint64{f.neg(a), b, f.neg(c)}) }
	for i := range uint64(100) {
		x := f.one() | rng.Uint64()&(least-1) // in [1, 2)
		if i < 4 {
			x = f.one() + i
		}
		switch y := f.div(2*least, x, "rz"); op { // x times y is twice the least normal number, less a digit
		case "mul", "fma":
			for d := range uint64(5) {
				both(x-least, y+d-2, 0) // half of x
				both(x, y+d-2, f.neg(least))
			}
		case "div":
			for d := range uint64(3) {
				both(f.mul(least, x, "rn")+d-1, x, 0)
			}
		}
	}
	for d := range uint64(9) {
		switch op {
		case "rcp":
			both(f.div(f.one(), least, "rn")+d-4, 0, 0)
		case "fma": // next to nothing taken away or added
			both(f.neg(least), least+d, least)
			both(least, least+d, least)
		}
	}
	return rows
}

// pairs applies an operation to both halves of registers.
func pairs(op func(a, b, c uint64) uint64) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 {
		return op(a&0xffff, b&0xffff, c&0xffff) | op(a>>16, b>>16, c>>16)<<16
	}
}

func floatVectors() []vector {
	var list []vector
	shape := func(op, t string, n int) vector {
		v := vector{inst: op + "." + t + " D, " + strings.Join([]string{"A", "B", "C"}[:n], ", ") + ";", d: t, src: strings.Repeat(t+" ", n)}
		if t == "f64" {
			v.same = sameNumber(formats[t])
		}
		return v
	}
	add := func(op, t string, n int, want func(a, b, c uint64) uint64) {
		v := shape(op, t, n)
		v.want = want
		list = append(list, v)
	}
	for _, t := range []string{"f32", "f64"} {
		f := formats[t]
		for _, mode := range []string{"rn", "rz", "rm", "rp"} {
			kinds := []string{""}
			if t == "f32" {
				kinds = []string{"", ".ftz", ".sat", ".ftz.sat"}
			}
			for _, mods := range kinds {
				do := func(op string, n int, g func(f ieee, a, b, c uint64) uint64) {
					switch name := op + "." + mode + mods; {
					case strings.Contains(mods, "sat") && (n == 1 || op == "div"):
					case strings.Contains(mods, "ftz"):
						list = append(list, f.flushed(shape(name, t, n), op, mods, g))
					default:
						add(name, t, n, f.withMods(mods, func(a, b, c uint64) uint64 { return g(f, a, b, c) }))
					}
				}
				do("add", 2, func(f ieee, a, b, _ uint64) uint64 { return f.add(a, b, mode) })
				do("sub", 2, func(f ieee, a, b, _ uint64) uint64 { return f.add(a, f.neg(b), mode) })
				do("mul", 2, func(f ieee, a, b, _ uint64) uint64 { return f.mul(a, b, mode) })
				do("fma", 3, func(f ieee, a, b, c uint64) uint64 { return f.fma(a, b, c, mode) })
				do("div", 2, func(f ieee, a, b, _ uint64) uint64 { return f.div(a, b, mode) })
				do("rcp", 1, func(f ieee, a, _, _ uint64) uint64 { return f.div(f.one(), a, mode) })
				do("sqrt", 1, func(f ieee, a, _, _ uint64) uint64 { return f.sqrt(a, mode) })
			}
		}
		for _, op := range []string{"min", "max"} {
			add(op, t, 2, func(a, b, _ uint64) uint64 { return f.extreme(a, b, op, false) })
		}
		add("copysign", t, 2, func(a, b, _ uint64) uint64 { return f.withSign(b, f.sign(a)) })
	}
	d := formats["f64"]
	add("neg", "f64", 1, func(a, _, _ uint64) uint64 { return d.neg(a) })
	add("abs", "f64", 1, func(a, _, _ uint64) uint64 { return d.abs(a) })
	f := formats["f32"]
	for _, op := range []string{"min", "max"} {
		add(op+".NaN", "f32", 2, func(a, b, _ uint64) uint64 { return f.extreme(a, b, op, true) })
		add(op+".ftz", "f32", 2, f.withMods("ftz", func(a, b, _ uint64) uint64 { return f.extreme(a, b, op, false) }))
		add(op+".xorsign.abs", "f32", 2, func(a, b, _ uint64) uint64 {
			r := f.extreme(f.abs(a), f.abs(b), op, false)
			if f.isNaN(r) {
				return r
			}
			return f.withSign(r, f.sign(a) != f.sign(b))
		})
	}
	for _, t := range []string{"f16", "bf16"} {
		f := formats[t]
		fma := func(f ieee, a, b, c uint64) uint64 { return f.fma(a, b, c, "rn") }
		here := func(g func(f ieee, a, b, c uint64) uint64) func(a, b, c uint64) uint64 {
			return func(a, b, c uint64) uint64 { return g(f, a, b, c) }
		}
		add("fma.rn", t, 3, here(fma))
		add("fma.rn", t+"x2", 3, pairs(here(fma)))
		if t == "f16" {
			list = append(list, f.flushed(shape("fma.rn.ftz", t, 3), "fma", ".ftz", fma))
		}
		for _, op := range []string{"min", "max"} {
			g := func(a, b, _ uint64) uint64 { return f.extreme(a, b, op, false) }
			add(op, t, 2, g)
			add(op, t+"x2", 2, pairs(g))
		}
		two := map[string]func(f ieee, a, b, _ uint64) uint64{
			"add": func(f ieee, a, b, _ uint64) uint64 { return f.add(a, b, "rn") },
			"sub": func(f ieee, a, b, _ uint64) uint64 { return f.add(a, f.neg(b), "rn") },
			"mul": func(f ieee, a, b, _ uint64) uint64 { return f.mul(a, b, "rn") },
		}
		for op, g := range two {
			add(op+".rn", t, 2, here(g))
			add(op+".rn", t+"x2", 2, pairs(here(g)))
			if t == "f16" {
				list = append(list, f.flushed(shape(op+".rn.ftz", t, 2), op, ".ftz", g))
			}
		}
	}
	return append(list, approximateVectors()...)
}

// extreme orders -0 before +0; a number beats a NaN unless strict.
func (f ieee) extreme(a, b uint64, op string, strict bool) uint64 {
	switch {
	case f.isNaN(a) && f.isNaN(b), strict && (f.isNaN(a) || f.isNaN(b)):
		return f.nan()
	case f.isNaN(a):
		return b
	case f.isNaN(b):
		return a
	}
	key := func(v uint64) *big.Rat {
		var r *big.Rat
		switch {
		case f.isInf(v):
			r = power(5000)
		case f.abs(v) == 0:
			r = power(-5000)
		default:
			return f.value(v)
		}
		if f.sign(v) {
			r.Neg(r)
		}
		return r
	}
	if (key(a).Cmp(key(b)) < 0) == (op == "min") {
		return a
	}
	return b
}

// within accepts an error of so many units in the last place, and an absolute error.
func within(units, absolute float64) func(got, want uint64) bool {
	return func(got, want uint64) bool {
		g, w := float64(math.Float32frombits(uint32(got))), float64(math.Float32frombits(uint32(want)))
		if math.IsNaN(g) || math.IsNaN(w) || math.IsInf(g, 0) || math.IsInf(w, 0) {
			return math.IsNaN(g) && math.IsNaN(w)
		}
		ulp := float64(math.Nextafter32(float32(math.Abs(w)), math.MaxFloat32)) - math.Abs(w)
		return math.Abs(g-w) <= math.Max(units*ulp, absolute)
	}
}

// approximateVectors hold the approximate instructions to the bounds that PTX documents, in the range where it does.
func approximateVectors() []vector {
	value := func(v uint64) float64 { return float64(math.Float32frombits(uint32(v))) }
	one := func(op string, same func(got, want uint64) bool, skip func(x float64) bool, g func(x float64) float64) vector {
		return vector{inst: op + ".f32 D, A;", d: "f32", src: "f32", same: same,
			skip: func(a, _, _ uint64) bool { return skip(value(a)) },
			want: func(a, _, _ uint64) uint64 {
				if r := g(value(a)); r == r {
					return uint64(math.Float32bits(float32(r)))
				}
				return 0x7fffffff
			}}
	}
	none := func(float64) bool { return false }
	small := func(x float64) bool { return x != 0 && math.Abs(x) < math.Ldexp(1, -126) }
	divisor := func(op string, low, high int) vector {
		return vector{inst: op + " D, A, B;", d: "f32", src: "f32 f32", same: within(2, 0),
			skip: func(a, b, _ uint64) bool {
				q := math.Abs(value(a) / value(b))
				x := math.Abs(value(b))
				return x < math.Ldexp(1, low) || x > math.Ldexp(1, high) || q < math.Ldexp(1, -126)
			},
			want: func(a, b, _ uint64) uint64 { return formats["f32"].div(a, b, "rn") }}
	}
	return []vector{
		one("rcp.approx", within(1, 0), func(x float64) bool { return small(x) || small(1/x) }, func(x float64) float64 { return 1 / x }),
		one("sqrt.approx", within(2, 0), small, math.Sqrt),
		one("rsqrt.approx", within(4, 0), small, func(x float64) float64 { return 1 / math.Sqrt(x) }),
		one("ex2.approx", within(3, 0), func(x float64) bool { return math.Abs(x) > 126 && !math.IsInf(x, 0) }, math.Exp2),
		one("lg2.approx", within(2, math.Ldexp(1, -22)), small, math.Log2),
		one("sin.approx", within(0, math.Ldexp(1, -20)), func(x float64) bool { return math.Abs(x) > math.Pi && !math.IsInf(x, 0) }, math.Sin),
		one("cos.approx", within(0, math.Ldexp(1, -20)), func(x float64) bool { return math.Abs(x) > math.Pi && !math.IsInf(x, 0) }, math.Cos),
		one("tanh.approx", within(math.Ldexp(1, 13), 0), small, math.Tanh), // a relative error of 2^-11
		one("rcp.approx.ftz", within(1, 0), func(x float64) bool { return small(x) || small(1/x) }, func(x float64) float64 { return 1 / x }),
		one("ex2.approx.ftz", within(3, 0), func(x float64) bool { return math.Abs(x) > 126 && !math.IsInf(x, 0) }, math.Exp2),
		one("neg", within(0, 0), none, func(x float64) float64 { return -x }),
		one("abs", within(0, 0), none, math.Abs),
		divisor("div.full.f32", -126, 126), divisor("div.approx.f32", -126, 126),
	}
}

func convertVectors() []vector {
	var list []vector
	ints := []string{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}
	floats := []string{"f16", "f32", "f64"}
	for _, from := range ints {
		for _, to := range ints {
			register := to
			v := vector{inst: fmt.Sprintf("cvt.%s.%s D, A;", to, from), d: register, src: from, want: func(a, _, _ uint64) uint64 {
				return wrap(integer(to, wrap(integer(from, a), 64)), bitsOf(to))
			}}
			list = append(list, v)
			v.inst = fmt.Sprintf("cvt.sat.%s.%s D, A;", to, from)
			v.want = func(a, _, _ uint64) uint64 { return wrap(clampInt(to, integer(from, a)), bitsOf(to)) }
			// Where the result's type holds every value PTX forbids sat. Both ends of the source's range say whether it does.
			n := bitsOf(from)
			if from[1:] == "8" {
				n = 8
			}
			least, most := integer(from, 0), integer(from, 1<<n-1)
			if from[0] == 's' {
				least, most = integer(from, 1<<(n-1)), integer(from, 1<<(n-1)-1)
			}
			if clampInt(to, least).Cmp(least) != 0 || clampInt(to, most).Cmp(most) != 0 {
				list = append(list, v)
			}
		}
		for _, to := range floats {
			for _, mode := range []string{"rn", "rz", "rm", "rp"} {
				if to == "f16" && mode != "rn" {
					continue
				}
				list = append(list, vector{inst: fmt.Sprintf("cvt.%s.%s.%s D, A;", mode, to, from), d: to, src: from, want: func(a, _, _ uint64) uint64 {
					z := integer(from, a)
					if z.Sign() == 0 {
						return 0
					}
					return formats[to].round(new(big.Rat).SetInt(z), mode)
				}})
			}
		}
	}
	for _, from := range floats {
		for _, mode := range []string{"rni", "rzi", "rmi", "rpi"} {
			for _, to := range ints {
				list = append(list, toIntVector(from, to, mode))
			}
			list = append(list, integralVector(from, mode))
		}
	}
	return append(list, narrowVectors()...)
}

func toIntVector(from, to, mode string) vector {
	f := formats[from]
	return vector{inst: fmt.Sprintf("cvt.%s.%s.%s D, A;", mode, to, from), d: to, src: from,
		skip: func(a, _, _ uint64) bool { return f.isNaN(a) && bitsOf(to) < 32 },
		want: func(a, _, _ uint64) uint64 {
			huge := new(big.Int).Lsh(big.NewInt(1), 70)
			switch {
			case f.isNaN(a) && from != "f64" && bitsOf(to) < 64:
				return 0
			case f.isNaN(a):
				return 1 << (bitsOf(to) - 1)
			case f.isInf(a) && f.sign(a):
				return wrap(clampInt(to, huge.Neg(huge)), bitsOf(to))
			case f.isInf(a):
				return wrap(clampInt(to, huge), bitsOf(to))
			}
			return wrap(clampInt(to, f.integral(f.value(a), mode)), bitsOf(to))
		}}
}

func integralVector(t, mode string) vector {
	f := formats[t]
	return vector{inst: fmt.Sprintf("cvt.%s.%s.%s D, A;", mode, t, t), d: t, src: t, same: sameNumber(f), want: func(a, _, _ uint64) uint64 {
		if f.isNaN(a) || f.isInf(a) {
			return a
		}
		z := f.integral(f.value(a), mode)
		if z.Sign() == 0 {
			return f.withSign(0, f.sign(a))
		}
		return f.round(new(big.Rat).SetInt(z), "rn")
	}}
}

// narrow gives the bits in f of a number that has bits a in g.
func (f ieee) narrow(g ieee, a uint64, mode string) uint64 {
	switch {
	case g.isNaN(a):
		return f.nan()
	case g.isInf(a):
		return f.withSign(f.inf(), g.sign(a))
	case g.abs(a) == 0:
		return f.withSign(0, g.sign(a))
	}
	return f.round(g.value(a), mode)
}

// narrowVectors convert between floating-point formats.
func narrowVectors() []vector {
	var list []vector
	shape := func(inst, d, from string) vector {
		return vector{inst: inst + " D, A;", d: d, src: from, same: sameNumber(formats[d])}
	}
	to := func(inst, d, from string, f ieee, mode, mods string) {
		v := shape(inst, d, from)
		v.want = f.withMods(mods, func(a, _, _ uint64) uint64 { return f.narrow(formats[from], a, mode) })
		list = append(list, v)
	}
	for _, mode := range []string{"rn", "rz", "rm", "rp"} {
		to("cvt."+mode+".f32.f64", "f32", "f64", formats["f32"], mode, "")
		list = append(list, formats["f32"].flushed(shape("cvt."+mode+".ftz.f32.f64", "f32", "f64"), "cvt", "", func(f ieee, a, _, _ uint64) uint64 {
			return f.narrow(formats["f64"], a, mode)
		}))
	}
	to("cvt.rn.sat.f32.f64", "f32", "f64", formats["f32"], "rn", "sat")
	for _, mode := range []string{"rn", "rz"} {
		to("cvt."+mode+".f16.f32", "f16", "f32", formats["f16"], mode, "")
		to("cvt."+mode+".bf16.f32", "bf16", "f32", formats["bf16"], mode, "")
	}
	to("cvt.rn.f16.f64", "f16", "f64", formats["f16"], "rn", "")
	to("cvt.f32.f16", "f32", "f16", formats["f32"], "rn", "")
	to("cvt.f64.f16", "f64", "f16", formats["f64"], "rn", "")
	to("cvt.f64.f32", "f64", "f32", formats["f64"], "rn", "")
	to("cvt.f32.bf16", "f32", "bf16", formats["f32"], "rn", "")
	for _, t := range []string{"f16", "bf16"} {
		f := formats[t]
		half := func(v uint64) uint64 { return f.narrow(formats["f32"], v, "rn") }
		list = append(list, vector{inst: "cvt.rn." + t + "x2.f32 D, A, B;", d: t + "x2", src: "f32 f32", want: func(a, b, _ uint64) uint64 { return half(a)<<16 | half(b) }})
	}
	return list
}

func compareVectors() []vector {
	var list []vector
	sign := map[string]func(n int) bool{
		"eq": func(n int) bool { return n == 0 }, "ne": func(n int) bool { return n != 0 }, "lt": func(n int) bool { return n < 0 },
		"le": func(n int) bool { return n <= 0 }, "gt": func(n int) bool { return n > 0 }, "ge": func(n int) bool { return n >= 0 },
		"lo": func(n int) bool { return n < 0 }, "ls": func(n int) bool { return n <= 0 }, "hi": func(n int) bool { return n > 0 }, "hs": func(n int) bool { return n >= 0 },
	}
	bit := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	for _, t := range []string{"u16", "s16", "u32", "s32", "u64", "s64"} {
		for op, holds := range sign {
			if t[0] == 's' && len(op) == 2 && strings.Contains("lo ls hi hs", op) {
				continue
			}
			list = append(list, vector{inst: fmt.Sprintf("setp.%s.%s D, A, B;", op, t), d: "pred", src: t + " " + t, want: func(a, b, _ uint64) uint64 {
				return bit(holds(integer(t, a).Cmp(integer(t, b))))
			}})
		}
	}
	for _, t := range []string{"f32", "f64", "f16"} {
		f := formats[t]
		for _, op := range []string{"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"} {
			list = append(list, vector{inst: fmt.Sprintf("setp.%s.%s D, A, B;", op, t), d: "pred", src: t + " " + t, want: func(a, b, _ uint64) uint64 {
				if unordered := f.isNaN(a) || f.isNaN(b); unordered || op == "num" || op == "nan" {
					return bit(unordered == (op == "nan" || op != "num" && strings.HasSuffix(op, "u")))
				}
				return bit(sign[op[:2]](f.compare(a, b)))
			}})
		}
	}
	for logic, g := range map[string]func(p, q uint64) uint64{
		"and": func(p, q uint64) uint64 { return p & q }, "or": func(p, q uint64) uint64 { return p | q }, "xor": func(p, q uint64) uint64 { return p ^ q }} {
		less := func(a, b uint64) uint64 { return bit(int32(a) < int32(b)) }
		list = append(list,
			vector{inst: "setp.lt." + logic + ".s32 D, A, B, C;", d: "pred", src: "s32 s32 pred", want: func(a, b, c uint64) uint64 { return g(less(a, b), c) }},
			vector{inst: "setp.lt." + logic + ".s32 D, A, B, !C;", d: "pred", src: "s32 s32 pred", want: func(a, b, c uint64) uint64 { return g(less(a, b), 1-c) }},
			vector{inst: "{ .reg .pred t; setp.lt." + logic + ".s32 t|D, A, B, C; }", d: "pred", src: "s32 s32 pred",
				want: func(a, b, c uint64) uint64 { return g(1-less(a, b), c) }},
			vector{inst: "set.lt." + logic + ".u32.s32 D, A, B, C;", d: "u32", src: "s32 s32 pred", want: func(a, b, c uint64) uint64 { return g(less(a, b), c) * 0xffffffff }},
			vector{inst: logic + ".pred D, A, B;", d: "pred", src: "pred pred", want: func(a, b, _ uint64) uint64 { return g(a, b) }})
	}
	pick := func(yes bool, a, b uint64) uint64 {
		if yes {
			return a
		}
		return b
	}
	return append(list,
		vector{inst: "selp.b64 D, A, B, C;", d: "b64", src: "b64 b64 pred", want: func(a, b, c uint64) uint64 { return pick(c == 1, a, b) }},
		vector{inst: "selp.b16 D, A, B, C;", d: "b16", src: "b16 b16 pred", want: func(a, b, c uint64) uint64 { return pick(c == 1, a, b) }},
		vector{inst: "selp.f64 D, A, B, !C;", d: "f64", src: "f64 f64 pred", want: func(a, b, c uint64) uint64 { return pick(c == 0, a, b) }},
		vector{inst: "setp.eq.b32 D, A, B;", d: "pred", src: "b32 b32", want: func(a, b, _ uint64) uint64 { return bit(a == b) }},
		vector{inst: "setp.ne.b64 D, A, B;", d: "pred", src: "b64 b64", want: func(a, b, _ uint64) uint64 { return bit(a != b) }},
		vector{inst: "selp.f32 D, A, B, !C;", d: "f32", src: "f32 f32 pred", want: func(a, b, c uint64) uint64 { return pick(c == 0, a, b) }},
		vector{inst: "slct.u64.s32 D, A, B, C;", d: "u64", src: "u64 u64 s32", want: func(a, b, c uint64) uint64 { return pick(c>>31 == 0, a, b) }},
		vector{inst: "slct.b32.f32 D, A, B, C;", d: "b32", src: "b32 b32 f32", want: func(a, b, c uint64) uint64 {
			return pick(!formats["f32"].isNaN(c) && (c>>31 == 0 || c == 1<<31), a, b)
		}},
		vector{inst: "@C mov.b32 A, B; mov.b32 D, A;", d: "b32", src: "b32 b32 pred", want: func(a, b, c uint64) uint64 { return pick(c == 1, b, a) }},
		vector{inst: "not.pred D, A;", d: "pred", src: "pred", want: func(a, _, _ uint64) uint64 { return 1 - a }})
}

// compare orders two numbers, zeros being equal.
func (f ieee) compare(a, b uint64) int {
	key := func(v uint64) *big.Rat {
		if f.isInf(v) {
			r := power(5000)
			if f.sign(v) {
				r.Neg(r)
			}
			return r
		}
		return f.value(v)
	}
	return key(a).Cmp(key(b))
}
