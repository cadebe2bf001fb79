package pcd_test

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/pcd"
	"github.com/robocache/robocache/tensor"
)

func ExampleParse() {
	cloud, err := pcd.Parse([]byte(`VERSION 0.7
FIELDS x y z intensity
SIZE 4 4 4 1
TYPE F F F U
COUNT 1 1 1 1
WIDTH 2
HEIGHT 1
POINTS 2
DATA ascii
1 2 0.5 200
nan nan nan 0
`), dataset.Options{})
	if err != nil {
		panic(err)
	}
	intensity, err := tensor.Data[float32](cloud.Features)
	fmt.Println(cloud.Points, cloud.Names(), intensity, err)
	fmt.Println(cloud.NotFinite, "is not finite")
	// Output:
	// f32 [2,3] on host [intensity] [200 0] <nil>
	// 1 is not finite
}
