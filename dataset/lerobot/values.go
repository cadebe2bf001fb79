package lerobot

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/tensor"
)

// single returns a column with one number per row as float64; null becomes NaN. It returns false for other columns.
func single(v *parquet.Values) ([]float64, bool) {
	if v.Lens != nil || (v.Width != 1 && v.Rows > 0) || v.Texts != nil {
		return nil, false
	}
	if v.Float64 != nil {
		return v.Float64, true
	}
	list, _ := floats[float64](v, "")
	return list, true
}

// floats returns all values as T, and how many of them T cannot represent. Null becomes NaN.
func floats[T float32 | float64](v *parquet.Values, typ string) (list []T, changed int) {
	list = make([]T, v.Len())
	for i := range list {
		exact := true
		switch {
		case v.Float32 != nil:
			list[i] = T(v.Float32[i])
		case v.Float64 != nil:
			x := v.Float64[i]
			list[i] = T(x)
			exact = float64(list[i]) == x || x != x
		case typ == "uint64": // they arrive as int64 with the same bits
			list[i], exact = dataset.Float[T](uint64(v.Int64[i]))
		default:
			list[i], exact = dataset.Float[T](v.Int64[i])
		}
		if !exact {
			changed++
		}
	}
	for _, i := range v.Nulls {
		list[i] = T(math.NaN())
	}
	return list, changed
}

// cast converts values from type typ to the type declared in info.json, as LeRobot does when it loads a table. It returns the new type
// and how many values changed. If a declared integer type cannot hold every value, it is ignored, because LeRobot fails for such
// values. Example: pandas wrote a column as int64, but it is declared as float32.
func cast(v *parquet.Values, typ, declared string) (as string, changed int) {
	switch declared {
	case typ:
	case "float32":
		v.Float32, changed = floats[float32](v, typ)
		v.Float64, v.Int64 = nil, nil
		return declared, changed
	case "float64":
		v.Float64, changed = floats[float64](v, typ)
		v.Float32, v.Int64 = nil, nil
		return declared, changed
	default:
		low, high, ok := limits(declared)
		list, fits := v.Int64, ok && typ != "uint64"
		if list == nil && fits {
			wide, _ := floats[float64](v, typ)
			for _, i := range v.Nulls {
				wide[i] = 0
			}
			list, fits = whole(wide)
		}
		if fits && !slices.ContainsFunc(list, func(x int64) bool { return x < low || x > high }) {
			v.Int64, v.Float32, v.Float64 = list, nil, nil
			return declared, 0
		}
	}
	return typ, 0
}

// limits returns the range of an integer type, as far as int64 holds it, and false for other types.
func limits(typ string) (low, high int64, ok bool) {
	if typ == "bool" {
		return 0, 1, true
	}
	digits, unsigned := strings.CutPrefix(typ, "uint")
	bits, err := strconv.Atoi(strings.TrimPrefix(digits, "int"))
	if err != nil || bits < 8 || bits > 64 {
		return 0, 0, false
	}
	if unsigned {
		return 0, int64(uint64(math.MaxUint64)>>(64-bits)) & math.MaxInt64, true
	}
	high = math.MaxInt64 >> (64 - bits)
	return -high - 1, high, true
}

// wholes returns a column with one integer per row, stored as any type. It returns false for a column with nulls or fractions.
func wholes(v *parquet.Values) ([]int64, bool) {
	if v.Lens != nil || (v.Width != 1 && v.Rows > 0) || v.Texts != nil || len(v.Nulls) > 0 {
		return nil, false
	}
	if v.Int64 != nil {
		return v.Int64, true
	}
	list, _ := single(v)
	return whole(list)
}

// whole converts numbers to int64. It returns false if one is not an integer, or beyond 2^53.
func whole(numbers []float64) ([]int64, bool) {
	list := make([]int64, len(numbers))
	for i, x := range numbers {
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 { // also NaN
			return nil, false
		}
		list[i] = int64(x)
	}
	return list, true
}

// valuesOf returns rows of equal width as a tensor [rows,width] in f32 or f64, and how many integers f64 cannot represent. Null becomes
// NaN.
func valuesOf(v *parquet.Values, typ string, rows, width int) (*tensor.Tensor, int, error) {
	switch {
	case v.Float32 != nil:
		t, err := tensor.Of(v.Float32, rows, width)
		return t, 0, err
	case v.Float64 != nil:
		t, err := tensor.Of(v.Float64, rows, width)
		return t, 0, err
	}
	bits := 64
	switch typ {
	case "uint64":
		list, inexact := floats[float64](v, typ)
		t, err := tensor.Of(list, rows, width)
		return t, inexact, err
	case "bool", "int8", "uint8", "int16", "uint16":
		bits = 16
	}
	whole, err := tensor.Of(v.Int64, rows, width)
	if err != nil {
		return nil, 0, err
	}
	t, inexact, err := dataset.Numbers(whole, bits)
	if err != nil || len(v.Nulls) == 0 {
		return t, inexact, err
	}
	if t.DType() == tensor.F32 {
		return t, inexact, nulls[float32](t, v.Nulls)
	}
	return t, inexact, nulls[float64](t, v.Nulls)
}

// nulls sets values to NaN.
func nulls[T float32 | float64](t *tensor.Tensor, at []int) error {
	list, err := tensor.Data[T](t)
	if err != nil {
		return err
	}
	for _, i := range at {
		list[i] = T(math.NaN())
	}
	return nil
}

// even gives all rows the same width. A row with another width becomes NaN, or 0 with a null if the values are integers. It returns how
// many rows have no values, and how many another width.
func even(v *parquet.Values, width int) (empty, odd int) {
	lens := v.Lens
	out := &parquet.Values{Rows: v.Rows, Width: width}
	at, null := 0, 0
	for _, n := range lens {
		nulls := null
		for nulls < len(v.Nulls) && v.Nulls[nulls] < at+n {
			nulls++
		}
		begin := out.Len()
		switch {
		case n == width:
			out.Float32 = append(out.Float32, slice(v.Float32, at, n)...)
			out.Float64 = append(out.Float64, slice(v.Float64, at, n)...)
			out.Int64 = append(out.Int64, slice(v.Int64, at, n)...)
			for _, i := range v.Nulls[null:nulls] {
				out.Nulls = append(out.Nulls, begin+i-at)
			}
		default:
			if n == 0 {
				empty++
			} else {
				odd++
			}
			for i := range width {
				switch {
				case v.Float32 != nil:
					out.Float32 = append(out.Float32, float32(math.NaN()))
				case v.Float64 != nil:
					out.Float64 = append(out.Float64, math.NaN())
				default:
					out.Int64 = append(out.Int64, 0)
				}
				out.Nulls = append(out.Nulls, begin+i)
			}
		}
		at, null = at+n, nulls
	}
	*v = *out
	return empty, odd
}

func slice[T any](list []T, at, n int) []T {
	if list == nil {
		return nil
	}
	return list[at : at+n]
}

// usual returns the most common width among rows with values.
func usual(lens []int) int {
	sorted := slices.Sorted(slices.Values(lens))
	best, most := 0, 0
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		if sorted[i] > 0 && j-i > most {
			best, most = sorted[i], j-i
		}
		i = j
	}
	return best
}

// departs reports whether a timestamp (seconds) differs from the expected one by more than 0.1 ms plus its type's rounding.
func departs(got, want float64, typ string) bool {
	limit := 1e-4
	if typ == "float32" {
		limit += math.Abs(want) / (1 << 24)
	}
	return !(math.Abs(got-want) <= limit)
}
