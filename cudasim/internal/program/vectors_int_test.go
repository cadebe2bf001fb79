package program_test

import (
	"fmt"
	"math/big"
	"strings"
)

// integer is an operand as the integer that its type makes of it.
func integer(t string, v uint64) *big.Int {
	n := bitsOf(t)
	if t == "u8" || t == "s8" {
		n = 8
	}
	z := new(big.Int).SetUint64(v << (64 - n) >> (64 - n))
	if t[0] == 's' && z.Bit(n-1) == 1 {
		z.Sub(z, new(big.Int).Lsh(big.NewInt(1), uint(n)))
	}
	return z
}

// wrap is the bits that an integer leaves in n bits.
func wrap(z *big.Int, n int) uint64 {
	m := new(big.Int).Lsh(big.NewInt(1), uint(n))
	return new(big.Int).Mod(z, m).Uint64()
}

// clampInt stops at the ends of a type's range.
func clampInt(t string, z *big.Int) *big.Int {
	n := uint(bitsOf(t))
	if t == "u8" || t == "s8" {
		n = 8
	}
	low, high := big.NewInt(0), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), n), big.NewInt(1))
	if t[0] == 's' {
		high.Rsh(high, 1)
		low.Neg(new(big.Int).Add(high, big.NewInt(1)))
	}
	switch {
	case z.Cmp(low) < 0:
		return low
	case z.Cmp(high) > 0:
		return high
	}
	return z
}

// arithmetic is a vector whose result is that of exact integers, cut to the result's width.
func arithmetic(op, to, from string, f func(a, b, c *big.Int) *big.Int) vector {
	types := strings.Fields(from)
	names := []string{"A", "B", "C"}[:len(types)]
	at := func(i int, v uint64) *big.Int {
		if i >= len(types) {
			return big.NewInt(0)
		}
		return integer(types[i], v)
	}
	return vector{inst: fmt.Sprintf("%s D, %s;", op, strings.Join(names, ", ")), d: to, src: from, want: func(a, b, c uint64) uint64 {
		return wrap(f(at(0, a), at(1, b), at(2, c)), bitsOf(to))
	}}
}

func integerVectors() []vector {
	var list []vector
	sum := func(a, b, _ *big.Int) *big.Int { return new(big.Int).Add(a, b) }
	difference := func(a, b, _ *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
	product := func(a, b, c *big.Int) *big.Int { return new(big.Int).Add(new(big.Int).Mul(a, b), c) }
	for _, t := range []string{"u16", "s16", "u32", "s32", "u64", "s64"} {
		two, three := t+" "+t, t+" "+t+" "+t
		n := uint(bitsOf(t))
		upper := func(a, b, c *big.Int) *big.Int {
			return new(big.Int).Add(new(big.Int).Rsh(new(big.Int).Mul(a, b), n), c)
		}
		list = append(list,
			arithmetic("add."+t, t, two, sum), arithmetic("sub."+t, t, two, difference),
			arithmetic("mul.lo."+t, t, two, product), arithmetic("mul.hi."+t, t, two, upper),
			arithmetic("mad.lo."+t, t, three, product), arithmetic("mad.hi."+t, t, three, upper),
			arithmetic("min."+t, t, two, func(a, b, _ *big.Int) *big.Int {
				if a.Cmp(b) < 0 {
					return a
				}
				return b
			}),
			arithmetic("max."+t, t, two, func(a, b, _ *big.Int) *big.Int {
				if a.Cmp(b) > 0 {
					return a
				}
				return b
			}),
			arithmetic("sad."+t, t, three, func(a, b, c *big.Int) *big.Int {
				d := new(big.Int).Sub(a, b)
				return d.Add(d.Abs(d), c)
			}))
		quotient := arithmetic("div."+t, t, two, func(a, b, _ *big.Int) *big.Int { return new(big.Int).Quo(a, b) })
		rest := arithmetic("rem."+t, t, two, func(a, b, _ *big.Int) *big.Int { return new(big.Int).Rem(a, b) })
		quotient.skip = func(a, b, _ uint64) bool {
			return b == 0 || t[0] == 's' && integer(t, b).Int64() == -1 && a == 1<<(n-1)
		}
		rest.skip = quotient.skip
		list = append(list, quotient, rest)
		if t[0] == 's' {
			list = append(list,
				arithmetic("neg."+t, t, t, func(a, _, _ *big.Int) *big.Int { return new(big.Int).Neg(a) }),
				arithmetic("abs."+t, t, t, func(a, _, _ *big.Int) *big.Int { return new(big.Int).Abs(a) }))
		}
		if n < 64 {
			wide := fmt.Sprintf("%c%d", t[0], 2*n)
			list = append(list, arithmetic("mul.wide."+t, wide, two, product), arithmetic("mad.wide."+t, wide, two+" "+wide, product))
		}
	}
	saturated := func(f func(a, b, c *big.Int) *big.Int) func(a, b, c *big.Int) *big.Int {
		return func(a, b, c *big.Int) *big.Int { return clampInt("s32", f(a, b, c)) }
	}
	list = append(list, arithmetic("add.sat.s32", "s32", "s32 s32", saturated(sum)), arithmetic("sub.sat.s32", "s32", "s32 s32", saturated(difference)))
	for _, t := range []string{"u32", "s32"} {
		cut := func(v *big.Int) *big.Int {
			w := wrap(v, 24)
			if t == "s32" && w>>23 == 1 {
				return big.NewInt(int64(w) - 1<<24)
			}
			return new(big.Int).SetUint64(w)
		}
		list = append(list,
			arithmetic("mul24.lo."+t, t, t+" "+t, func(a, b, _ *big.Int) *big.Int { return new(big.Int).Mul(cut(a), cut(b)) }),
			arithmetic("mul24.hi."+t, t, t+" "+t, func(a, b, _ *big.Int) *big.Int { return new(big.Int).Rsh(new(big.Int).Mul(cut(a), cut(b)), 16) }),
			arithmetic("mad24.lo."+t, t, t+" "+t+" "+t, func(a, b, c *big.Int) *big.Int {
				return new(big.Int).Add(new(big.Int).Mul(cut(a), cut(b)), c)
			}))
	}
	return append(list, carryVectors()...)
}

// carryVectors compute on more than one register.
func carryVectors() []vector {
	pair := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	return []vector{
		{inst: "{ .reg .b32 al, ah, bl, bh; mov.b64 {al, ah}, A; mov.b64 {bl, bh}, B; add.cc.u32 al, al, bl; addc.u32 ah, ah, bh; mov.b64 D, {al, ah}; }",
			d: "u64", src: "u64 u64", want: func(a, b, _ uint64) uint64 { return a + b }},
		{inst: "{ .reg .b32 al, ah, bl, bh; mov.b64 {al, ah}, A; mov.b64 {bl, bh}, B; sub.cc.u32 al, al, bl; subc.u32 ah, ah, bh; mov.b64 D, {al, ah}; }",
			d: "u64", src: "u64 u64", want: func(a, b, _ uint64) uint64 { return a - b }},
		{inst: "{ .reg .b64 t; add.cc.u64 t, A, B; addc.u64 D, C, 0; }", d: "u64", src: "u64 u64 u64", want: func(a, b, c uint64) uint64 {
			z := new(big.Int).Add(pair(a), pair(b))
			return c + new(big.Int).Rsh(z, 64).Uint64()
		}},
		{inst: "{ .reg .b64 t; sub.cc.u64 t, A, B; subc.u64 D, C, 0; }", d: "u64", src: "u64 u64 u64", want: func(a, b, c uint64) uint64 {
			if a < b {
				return c - 1
			}
			return c
		}},
		// A 96-bit product of 64 and 32 bits: its upper 64 bits.
		{inst: `{ .reg .b32 al, ah, m, lo, mid, hi; mov.b64 {al, ah}, A; cvt.u32.u64 m, B; mul.lo.u32 lo, al, m; mul.hi.u32 mid, al, m;
			mad.lo.cc.u32 mid, ah, m, mid; madc.hi.u32 hi, ah, m, 0; mov.b64 D, {mid, hi}; }`,
			d: "u64", src: "u64 u64", want: func(a, b, _ uint64) uint64 {
				return new(big.Int).Rsh(new(big.Int).Mul(pair(a), pair(b&0xffffffff)), 32).Uint64()
			}},
	}
}

// text is an operand's bits as a string, the lowest first: bit instructions are checked on it one character at a time.
func text(v uint64, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = byte(v >> i & 1)
	}
	return s
}

func number(s []byte) uint64 {
	v := uint64(0)
	for i, b := range s {
		v |= uint64(b) << i
	}
	return v
}

func bitVectors() []vector {
	var list []vector
	for _, n := range []int{16, 32, 64} {
		t := fmt.Sprintf("b%d", n)
		each := func(op string, f func(a, b byte) byte) vector {
			return vector{inst: op + "." + t + " D, A, B;", d: t, src: t + " " + t, want: func(a, b, _ uint64) uint64 {
				x, y := text(a, n), text(b, n)
				for i := range x {
					x[i] = f(x[i], y[i])
				}
				return number(x)
			}}
		}
		shift := func(op, t string, left bool) vector {
			return vector{inst: op + "." + t + " D, A, B;", d: t, src: t + " u32", want: func(a, k, _ uint64) uint64 {
				x, out := text(a, n), make([]byte, n)
				for i := range out {
					from := int64(i) + int64(k)
					if left {
						from = int64(i) - int64(k)
					}
					switch {
					case from >= 0 && from < int64(n):
						out[i] = x[from]
					case t[0] == 's' && !left:
						out[i] = x[n-1]
					}
				}
				return number(out)
			}}
		}
		list = append(list,
			each("and", func(a, b byte) byte { return a & b }), each("or", func(a, b byte) byte { return a | b }),
			each("xor", func(a, b byte) byte { return a ^ b }),
			vector{inst: "not." + t + " D, A;", d: t, src: t, want: func(a, _, _ uint64) uint64 { return 1<<(n-1)<<1 - 1 - a }},
			vector{inst: "cnot." + t + " D, A;", d: t, src: t, want: func(a, _, _ uint64) uint64 {
				if a == 0 {
					return 1
				}
				return 0
			}},
			shift("shl", t, true), shift("shr", fmt.Sprintf("u%d", n), false), shift("shr", fmt.Sprintf("s%d", n), false))
		if n == 16 {
			continue
		}
		list = append(list, wordVectors(n, t)...)
	}
	return append(list, permuteVectors()...)
}

func wordVectors(n int, t string) []vector {
	u, s := "u"+t[1:], "s"+t[1:]
	find := func(t string, amount bool) vector {
		op := "bfind." + t
		if amount {
			op = "bfind.shiftamt." + t
		}
		return vector{inst: op + " D, A;", d: "u32", src: t, want: func(a, _, _ uint64) uint64 {
			x := text(a, n)
			sign := byte(0)
			if t[0] == 's' {
				sign = x[n-1]
			}
			for i := n - 1; i >= 0; i-- {
				if x[i] != sign {
					if amount {
						return uint64(n - 1 - i)
					}
					return uint64(i)
				}
			}
			return 0xffffffff
		}}
	}
	field := func(t string) vector {
		return vector{inst: "bfe." + t + " D, A, B, C;", d: t, src: t + " octet octet", want: func(a, pos, length uint64) uint64 {
			x, out := text(a, n), make([]byte, n)
			p, l := int(pos), int(length)
			sign := byte(0)
			if t[0] == 's' && l > 0 {
				sign = x[min(p+l-1, n-1)]
			}
			for i := range out {
				if i < l && p+i < n {
					out[i] = x[p+i]
				} else {
					out[i] = sign
				}
			}
			return number(out)
		}}
	}
	return []vector{
		{inst: "popc." + t + " D, A;", d: "u32", src: t, want: func(a, _, _ uint64) uint64 {
			return uint64(strings.Count(fmt.Sprintf("%b", a), "1"))
		}},
		{inst: "clz." + t + " D, A;", d: "u32", src: t, want: func(a, _, _ uint64) uint64 {
			if a == 0 {
				return uint64(n)
			}
			return uint64(n - len(fmt.Sprintf("%b", a)))
		}},
		{inst: "brev." + t + " D, A;", d: t, src: t, want: func(a, _, _ uint64) uint64 {
			x := text(a, n)
			for i := range n / 2 {
				x[i], x[n-1-i] = x[n-1-i], x[i]
			}
			return number(x)
		}},
		find(u, false), find(s, false), find(u, true), find(s, true), field(u), field(s),
		{inst: "{ .reg .b32 p, l; and.b32 l, C, 255; shr.u32 p, C, 8; bfi." + t + " D, A, B, p, l; }", d: t, src: t + " " + t + " octets",
			want: func(a, b, c uint64) uint64 {
				x, out := text(a, n), text(b, n)
				p, l := int(c>>8), int(c&255)
				for i := range l {
					if p+i < n && i < n {
						out[p+i] = x[i]
					}
				}
				return number(out)
			}},
	}
}

func permuteVectors() []vector {
	octets := func(a, b uint64) []byte {
		return []byte{byte(a), byte(a >> 8), byte(a >> 16), byte(a >> 24), byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)}
	}
	join := func(s ...byte) uint64 {
		return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
	}
	var list []vector
	for _, mode := range []string{"l.clamp", "l.wrap", "r.clamp", "r.wrap"} {
		list = append(list, vector{inst: "shf." + mode + ".b32 D, A, B, C;", d: "b32", src: "b32 b32 u32", want: func(a, b, c uint64) uint64 {
			k := int(c % 32)
			if strings.HasSuffix(mode, "clamp") {
				k = int(min(c, 32))
			}
			x := append(text(a, 32), text(b, 32)...)
			if mode[0] == 'l' {
				return number(x[32-k : 64-k])
			}
			return number(append(x, make([]byte, 32)...)[k : k+32])
		}})
	}
	for _, table := range []int{0x00, 0x01, 0x80, 0x96, 0xca, 0xe8, 0xfe, 0xff, 0x1b} {
		list = append(list, vector{inst: fmt.Sprintf("lop3.b32 D, A, B, C, %#x;", table), d: "b32", src: "b32 b32 b32", want: func(a, b, c uint64) uint64 {
			x, y, z := text(a, 32), text(b, 32), text(c, 32)
			for i := range x {
				x[i] = byte(table >> (4*x[i] + 2*y[i] + z[i]) & 1)
			}
			return number(x)
		}})
	}
	orders := map[string][4][4]int{
		"f4e": {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}, "b4e": {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},
		"rc8": {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}, "ecl": {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},
		"ecr": {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}, "rc16": {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}},
	}
	for mode, order := range orders {
		list = append(list, vector{inst: "prmt.b32." + mode + " D, A, B, C;", d: "b32", src: "b32 b32 b32", want: func(a, b, c uint64) uint64 {
			o, s := order[c&3], octets(a, b)
			return join(s[o[0]], s[o[1]], s[o[2]], s[o[3]])
		}})
	}
	list = append(list, vector{inst: "prmt.b32 D, A, B, C;", d: "b32", src: "b32 b32 b32", want: func(a, b, c uint64) uint64 {
		s := octets(a, b)
		var out [4]byte
		for i := range out {
			sel := c >> (4 * i) & 15
			out[i] = s[sel%8]
			if sel >= 8 {
				out[i] = 0
				if s[sel%8] > 127 {
					out[i] = 255
				}
			}
		}
		return join(out[:]...)
	}})
	for _, ta := range []string{"u32", "s32"} {
		for _, tb := range []string{"u32", "s32"} {
			to := "u32"
			if ta == "s32" || tb == "s32" {
				to = "s32"
			}
			small := func(t string, b byte) int64 {
				if t == "s32" {
					return int64(int8(b))
				}
				return int64(b)
			}
			list = append(list, vector{inst: "dp4a." + ta + "." + tb + " D, A, B, C;", d: to, src: ta + " " + tb + " " + to, want: func(a, b, c uint64) uint64 {
				sum := int64(int32(c))
				for i := range 4 {
					sum += small(ta, octets(a, 0)[i]) * small(tb, octets(b, 0)[i])
				}
				return uint64(uint32(sum))
			}})
		}
	}
	return list
}
