package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// shapes has what RC_HOST and RC_FLAG can say.
const shapes = `#pragma once
namespace rc {
RC_HOST constexpr u32 threads = 0x80, each = 4; // a block; units a thread
// targets a block:
// one unit each
RC_HOST constexpr u32 most_tile = threads * each;
RC_HOST constexpr u64 all = ~0ull >> 1;
RC_HOST constexpr u32 none = ~0u, mixed = (7 + 2) * 3 % 10 << 2 | 1, room = sizeof(outer) / sizeof(inner);
RC_HOST constexpr i32 below = -(3 - 1);

// what is between two samples
RC_HOST enum kind : u32 { linear, previous = 5, next, kind_f64 };
RC_HOST enum class_of : u8 {
    small, // few
    // many
    large = each,
};

// inner is the smaller one.
RC_HOST struct alignas(16) inner {
    u8 a;
    u16 b; // a pair of bytes
    const inner *next_one;
};
// ---- A heading ----
RC_HOST struct outer {
    const void *src, *__restrict__ times; // what it is
    u32 flags, tile;
    float pace;
    double rate;
    i64 start[2], grid[each][2];
    i32 bias;
    class_of sort;
    // of each stream
    inner stream[most_tile / 256];
    kind k;

    RC_FN_MEMBER bool foo() const { return tile > 3; }
    template <class C> RC_FN_MEMBER C as(C x) const { struct { C x; } y = {x}; return y.x; }
    static_assert(sizeof(u32) == 4, "it is");
    RC_FLAG(flags, u32, clock, 0, 2) // its clock
    RC_FLAG(flags, bool, check, 1 + 1, 1);
    RC_FLAG(flags, kind, what, 28, 4)
};
struct task : outer {
    u32 more;
    RC_FLAG(more, bool, last, 31, 1)
};
static_assert(sizeof(inner) == 16, "it is");
} // namespace rc
`

func lexed(t *testing.T, text string) map[string]*unit {
	u, err := lex("k.cuh", []byte(text))
	require.NoError(t, err)
	return map[string]*unit{"k.cuh": u}
}

func rendered(t *testing.T, text string) string {
	s, err := survey(lexed(t, text), nil)
	require.NoError(t, err)
	out, err := renderInterface(s)
	require.NoError(t, err)
	return string(out)
}

// squeezed has single blanks where gofmt lines things up.
func squeezed(text string) string {
	return regexp.MustCompile(`[ \t]+`).ReplaceAllString(text, " ")
}

func TestInterfaceSaysInGoWhatTheSourcesSay(t *testing.T) {
	got := rendered(t, shapes)
	for _, want := range []string{
		"const Threads = 128 // threads in k.cuh: a block; units a thread\n",
		"const MostTile = 512 // most_tile in k.cuh: targets a block: one unit each\n",
		"const All = 9223372036854775807 ", "const None = 4294967295 ", "const Mixed = 29 ", "const Room = 11 ", "const Below = -2 ",
		"// The values for kind in k.cuh: what is between two samples\nconst (\n\tKindLinear   = 0\n\tKindPrevious = 5\n\tKindNext     = 6\n\tKindF64      = 7\n)\n",
		"\tClassOfSmall = 0 // few\n\tClassOfLarge = 4 // many\n",
		"// Inner is inner in k.cuh: 16 bytes.\n//\n// inner is the smaller one.\n",
		"// Outer is outer in k.cuh: 176 bytes.\ntype",
		"_ [1]byte\n", "Times uint64 // offset 8: what it is\n", "Grid [4][2]int64", "Stream [2]Inner", "// offset 128: of each stream\n",
		"\tClock uint32 // bits 0 to 1: its clock\n\tCheck bool   // bit 2\n\tWhat  uint32 // bits 28 to 31\n", "type TaskMore struct {\n",
	} {
		assert.Contains(t, squeezed(got), squeezed(want))
	}
}

// The compiler that builds the kernels says where everything lies; so does package binary, of what is written in Go.
func TestLayoutIsThatOfTheCompiler(t *testing.T) {
	if _, err := exec.LookPath("clang++-19"); err != nil {
		t.Skip("no clang-19 here to ask")
	}
	common := filetest.Read(t, filepath.Join(kernels, "common.cuh"))
	dir := t.TempDir()
	write := func(name, text string) {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	write("common.cuh", string(common))
	s, err := survey(lexed(t, shapes), nil)
	require.NoError(t, err)
	// outer is used by a constant that stands before it.
	moved := strings.Replace(shapes, ", room = sizeof(outer) / sizeof(inner)", "", 1)
	write("k.cuh", strings.Replace(moved, "static_assert(sizeof(inner)", "constexpr u32 room = sizeof(outer) / sizeof(inner);\nstatic_assert(sizeof(inner)", 1))
	write("k.cu", "#include \"common.cuh\"\n#include \"k.cuh\"\nusing namespace rc;\n"+assertions(s))
	out, err := compile(dir, "k.cu")
	require.NoError(t, err, out)
}

// Every struct and constant that the kernels really share, in each source by itself.
func TestCheckedInInterfaceIsThatOfTheCompiler(t *testing.T) {
	if _, err := exec.LookPath("clang++-19"); err != nil {
		t.Skip("no clang-19 here to ask")
	}
	all, err := readFolder(kernels)
	require.NoError(t, err)
	compiled := map[string]bool{}
	for _, f := range all.families {
		own := &surface{decls: map[string]declarations{}}
		fresh := thorough.Long // else a family is compiled if it has declarations that none before it had
		for _, src := range f.sources {
			own.files = append(own.files, src.name)
			own.decls[src.name] = all.surface.decls[src.name]
			fresh = fresh || len(own.decls[src.name]) > 0 && !compiled[src.name]
			compiled[src.name] = true
		}
		if !fresh {
			continue
		}
		dir := t.TempDir()
		for _, src := range f.sources {
			data := filetest.Read(t, filepath.Join(kernels, src.name))
			if src.name == f.name+".cu" {
				data = append(data, assertions(own)...)
			}
			filetest.Write(t, filepath.Join(dir, src.name), data)
		}
		if assertions(own) == "" {
			continue
		}
		out, err := compile(dir, f.name+".cu")
		require.NoError(t, err, "%s: %s", f.name, out)
	}
}

// assertions says in C++ what a surface says in Go.
func assertions(s *surface) string {
	var b strings.Builder
	is := func(what string, n any) { fmt.Fprintf(&b, "static_assert(%s == %v, \"\");\n", what, n) }
	for _, file := range s.files {
		for _, d := range s.decls[file] {
			switch d := d.(type) {
			case *constant:
				is(d.name, fmt.Sprint("(", d.typ, ")", d.value.n))
			case *enumeration:
				for _, c := range d.items {
					is(c.name, c.value.n)
				}
			case *structure:
				is("sizeof("+d.name+")", d.layout.size)
				is("alignof("+d.name+")", d.layout.align)
				for _, c := range d.layout.cells {
					is(fmt.Sprintf("__builtin_offsetof(%s, %s)", d.name, c.name), c.offset)
				}
			}
		}
	}
	return b.String()
}

func compile(dir, name string) (string, error) {
	cmd := exec.Command("clang++-19", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent",
		"-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", name)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestBytesAreWhatPackageBinaryWrites(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go here to compile what is written from what clang compiles")
	}
	dir := t.TempDir()
	program := `package main
import ("bytes"; "encoding/binary"; "fmt")
func main() {
	p := Outer{Src: 1, Times: 2, Flags: OuterFlags{Clock: 3, Check: true, What: KindF64}.Word(), Tile: 4, Pace: 5.5, Rate: -6, Start: [2]int64{-7, 8}, Bias: -9, Sort: 10, K: 11}
	p.Grid[3][1], p.Stream[1] = 12, Inner{A: 13, B: 14, NextOne: 15}
	want, err := binary.Append(nil, binary.LittleEndian, &p)
	fmt.Println(bytes.Equal(want, p.Bytes()), err, len(want), p.Flags)
	defer func() { fmt.Println(recover()) }()
	OuterFlags{Clock: 4}.Word()
}
`
	for name, text := range map[string]string{"go.mod": "module m\ngo 1.25\n", "main.go": program, interfaceFile: strings.Replace(rendered(t, shapes), "package ptx", "package main", 1)} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "true <nil> 176 1879048199\nptx: OuterFlags.Clock is 4, which does not fit 2 bits\n", string(out))
}

func TestWhatTheHostCannotKnowIsRefusedWithItsLine(t *testing.T) {
	in := func(member string) string { return "RC_HOST struct x {\n    u32 flags;\n    " + member + "\n};\n" }
	for text, says := range map[string]string{
		"#if A\nRC_HOST constexpr u32 a = 1;\n#endif\n":                   "k.cuh:2: RC_HOST inside #if",
		"RC_HOST u32 a = 1;":                                              "k.cuh:1: constexpr, enum or struct",
		"RC_HOST template <class C> struct a {};":                         "k.cuh:1: constexpr, enum or struct",
		"RC_HOST constexpr float a = 1;":                                  "k.cuh:1: a is a float",
		"RC_HOST constexpr u32 a = 1.5;":                                  `k.cuh:1: "1.5" is not an integer`,
		"RC_HOST constexpr u32 a = b;":                                    "k.cuh:1: b is not a constant that is marked RC_HOST",
		"RC_HOST constexpr u32 a = b;\nRC_HOST constexpr u32 b = a;":      "is made of itself",
		"RC_HOST constexpr u32 a = f(1);":                                 "k.cuh:1: f is not a constant",
		"RC_HOST constexpr u32 a = 1 ? 2 : 3;":                            `k.cuh:1: "?" is not understood`,
		"RC_HOST constexpr u32 a = -1;":                                   "k.cuh:1: a is -1, which does not fit a u32",
		"RC_HOST constexpr u32 a = 1u - 2;":                               "k.cuh:1: -1 does not fit an unsigned number of 32 bits",
		"RC_HOST constexpr u64 a = 0x10000 * 0x10000;":                    "k.cuh:1: 4294967296 does not fit a number of 32 bits",
		"RC_HOST constexpr u64 a = 1 << 31;":                              "k.cuh:1: 2147483648 does not fit",
		"RC_HOST constexpr u64 a = 1u << 32;":                             "is not a shift of 32 bits",
		"RC_HOST constexpr u32 a = 1 / 0;":                                "k.cuh:1: a division by 0",
		"RC_HOST constexpr u32 a = sizeof(y);":                            "k.cuh:1: y is no type that the host knows",
		"RC_HOST constexpr u32 a = 1;\nRC_HOST constexpr u32 a = 1;":      "k.cuh:2: a is declared at k.cuh:1 too",
		"RC_HOST constexpr u32 a_b = 1;\nRC_HOST enum a : u32 { b };":     "k.cuh:2: b is AB in Go, as is what is declared at k.cuh:1",
		"RC_HOST constexpr u32 image = 1;":                                "k.cuh:1: image is Image in Go, as is what is declared at image.go:9",
		"RC_HOST enum { a };":                                             "k.cuh:1: an enum's name wanted",
		"RC_HOST enum a { b };":                                           "k.cuh:1: : wanted",
		"RC_HOST enum a : u8 { b = 255, c };":                             "k.cuh:1: c is 256, which does not fit a u8",
		"RC_HOST struct a {};":                                            "k.cuh:1: struct a has no fields",
		"RC_HOST struct a : b { u32 c; };":                                "k.cuh:1: { wanted",
		"RC_HOST struct alignas(4) a { u64 b; };":                         "k.cuh:1: alignas(4) of a, whose fields need 8",
		"RC_HOST struct a { a b; };":                                      "k.cuh:1: struct a holds itself",
		"RC_FLAG(flags, u32, clock, 0, 2)":                                "k.cuh:1: RC_FLAG outside of a struct",
		in("some x;"):                                                     "k.cuh:3: some is no type that the host knows: mark it RC_HOST",
		in("bool x;"):                                                     "k.cuh:3: bool is no type that the host knows",
		in("u32 x = 1;"):                                                  `k.cuh:3: , wanted, got "="`,
		in("u32 bytes;"):                                                  "k.cuh:3: field bytes of x",
		in("u32 x[0];"):                                                   "k.cuh:3: the length of x is 0",
		in("union { u32 x; };"):                                           `k.cuh:3: "union" is not understood in struct x`,
		in("#if A"):                                                       "#if without #endif",
		in("#ifdef A\n    u32 x;\n#endif"):                                "k.cuh:3: a directive among the fields of x",
		in("u32 x"):                                                       `k.cuh:4: , wanted, got "}"`,
		in("RC_FLAG(flags, u32, a, 0, 32)"):                               "k.cuh:3: the width of a is 32, not from 1 to 31",
		in("RC_FLAG(flags, u32, a, 30, 3)"):                               "k.cuh:3: a ends past bit 31",
		in("RC_FLAG(flags, bool, a, 0, 2)"):                               "k.cuh:3: a is a bool of 2 bits",
		in("RC_FLAG(flags, float, a, 0, 2)"):                              "k.cuh:3: a is a float",
		in("RC_FLAG(more, u32, a, 0, 2)"):                                 "k.cuh:3: x has no field u32 more",
		in("RC_FLAG(flags, u32, a, 0, 2)\n RC_FLAG(flags, u32, b, 1, 1)"): "k.cuh:4: b and a share",
	} {
		u, err := lex("k.cuh", []byte(text))
		if err == nil {
			_, err = survey(map[string]*unit{"k.cuh": u}, map[string]string{"Image": "image.go:9"})
		}
		assert.ErrorContains(t, err, says, text)
	}
}

func TestKernelIsComparedWithItsParameterInThePTX(t *testing.T) {
	struct8 := func(name, param, body string) func(map[string]string) {
		return func(f map[string]string) {
			f["common.cuh"] = "RC_HOST struct x {\n    u32 a[2];\n};\nRC_HOST struct y {\n    u32 a[3];\n};\n"
			f["k.cu"] = "#include \"common.cuh\"\n" + body
			for _, arch := range []string{"90", "80"} {
				file := "k.sm_" + arch + ".ptx"
				f[file] = strings.NewReplacer("entry k(", "entry "+name+"(", ".param .u64 a", param).Replace(f[file])
			}
		}
	}
	eight := ".param .align 4 .b8 a[8]"
	macro := "#define RC_K(name) \\\n    RC_KERNEL_OCC(32 * (1 + 1), 2) k_##name(const x p) { \\\n    }\nRC_K(f32)\n"
	for _, c := range []struct {
		name, param, body, says string
	}{
		{"k", eight, "RC_KERNEL(32) k(const x p) {}\n", ""},
		{"k", eight, "RC_KERNEL(32) k(const y p) {}\n", "k.cu:2: k takes y of 12 bytes, and in the PTX 8"},
		{"k_f32", eight, macro, ""},
		{"k_f32", eight, strings.Replace(macro, "const x", "const y", 1), "k.cu:2: k_##name takes y of 12 bytes, and no entry of k does in the PTX"},
		{"k", eight, "RC_KERNEL(32) k(const other p) {}\n", ""},
		{"k", ".param .u64 a", "RC_KERNEL(32) k(const u64 p) {}\n", ""},
		{"k", ".param .b8 a[99]", "RC_KERNEL(32) k(const some<8> p) {}\n", ""},
		{"k", ".param .b8 a[99]){ ret; }\n.visible .entry j(" + eight, "RC_KERNEL(32) j(const x p) {}\nRC_KERNEL(32) k(const some<8> p) {}\n", ""},
		{"k", ".param .b8 a[99]){ ret; }\n.visible .entry j(" + eight, "RC_KERNEL(32) j(const x p) {}\n", "k: entry k takes 99 bytes, as no RC_HOST struct of its kernels has"},
	} {
		_, err := readFolder(makeFolder(t, struct8(c.name, c.param, c.body)))
		if c.says == "" {
			assert.NoError(t, err, c.body)
		} else {
			assert.ErrorContains(t, err, c.says)
		}
	}
}
