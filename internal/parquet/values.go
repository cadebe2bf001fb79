package parquet

// Values are rows of a column. The values of all rows stand one after the other in one of the lists: Float32 and Float64 of columns of that
// type, Float32 of float16 too, Int64 of whole numbers and truth values, Texts of texts.
type Values struct {
	Rows    int
	Width   int   // how many values a row has, if Lens is nil
	Lens    []int // how many values each row has, where that differs
	Float32 []float32
	Float64 []float64
	Int64   []int64
	Texts   []string
	Images  []Image // of a Writer; Column.Images reads them
	Nulls   []int   // which values are null, in order: NaN, 0 or empty

	AsLists bool   // Read makes Lists
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

// add notes n rows of so many values.
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

// grow notes that the last row has one value more.
func (v *Values) grow() {
	if v.Lens == nil {
		v.Lens = make([]int, v.Rows)
		for i := range v.Lens {
			v.Lens[i] = v.Width
		}
	}
	v.Lens[v.Rows-1]++
}

// settle drops Lens where all rows are of one length.
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

// Image is a value of a column of images: its bytes, or the path of a file that has them.
type Image struct {
	Bytes []byte // nil if there are none
	Path  string
}
