package tensor_test

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// A tensor over a slice is the same memory. Views share it too.
func ExampleOf() {
	data := []float32{1, 2, 3, 4, 5, 6}
	t, err := tensor.Of(data, 2, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	row, _ := t.Slice(0, 1, 2)
	data[3] = 40
	elements, _ := tensor.Data[float32](row)
	fmt.Println(t, elements)
	_, err = tensor.Of(data, 2, 2)
	fmt.Println(err, errors.Is(err, tensor.ErrShape))
	// Output:
	// f32 [2,3] on host [40 5 6]
	// tensor.Of: wrong shape: got 6 elements, want 4 for shape [2,2] true
}

// Expand repeats a dimension without copying: its stride is 0.
func ExampleTensor_Expand() {
	clock := tensor.Must(tensor.Of([]int64{0, 10, 20}, 3))
	batch, _ := clock.Expand(4, 3)
	fmt.Println(batch, "strides", batch.Strides())
	// Output:
	// i64 [4,3] on host strides [0 1]
}

// Rounding is to nearest even, once, also from float64.
func ExampleF16FromF64() {
	x := 1 + 0x1p-11 + 0x1p-40 // a little above half way between two Float16 numbers
	fmt.Println(tensor.F16FromF64(x).F32(), tensor.F16FromF32(float32(x)).F32())
	// Output:
	// 1.0009766 1
}
