package parquet

// Values holds rows of a column. The values for all rows are consecutive in one list: Float32 (also for float16) or Float64, Int64 for
// integers and booleans, Texts for texts.
type Values struct {
	Rows    int
	Width   int   // values per row, if Lens is nil
	Lens    []int // values in each row, if that varies
	Float32 []float32
	Float64 []float64
	Int64   []int64
	Texts   []string
	Images  []Image // for a Writer; Column.Images reads them
	Nulls   []int   // indices of null values, ascending; the value itself is NaN, 0 or empty

	AsLists bool   // makes Read return Lists
	Lists   *Lists // rows for such a column
	part    *listPart
}

// Len returns the number of values.
func (v *Values) Len() int {
	if v.part != nil {
		return v.part.values
	}
	return len(v.Float32) + len(v.Float64) + len(v.Int64) + len(v.Texts)
}

// add records n rows with width values each.
func (v *Values) add(n, width int) {
	switch {
	case v.Lens != nil:
	case v.Rows == 0 && width > 0:
		v.Width = width
		v.Rows = n
		return
	case v.Width == width:
		v.Rows += n
		return
	default:
		v.Lens = make([]int, v.Rows, v.Rows+n)
		for i := range v.Lens {
			v.Lens[i] = v.Width
		}
	}
	for range n {
		v.Lens = append(v.Lens, width)
	}
	v.Rows += n
}

// grow records one more value in the last row.
func (v *Values) grow() {
	if v.Lens == nil {
		v.Lens = make([]int, v.Rows)
		for i := range v.Lens {
			v.Lens[i] = v.Width
		}
	}
	v.Lens[v.Rows-1]++
}

// settle drops Lens if all rows have the same length.
func (v *Values) settle() {
	if len(v.Lens) == 0 {
		return
	}
	for _, n := range v.Lens {
		if n != v.Lens[0] || n == 0 {
			return
		}
	}
	v.Width, v.Lens = v.Lens[0], nil
}

// Image is a value in an image column: its bytes, or the path of a file with the image.
type Image struct {
	Bytes []byte // nil if there are none
	Path  string
}
