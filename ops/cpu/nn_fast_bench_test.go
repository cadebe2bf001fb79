package cpu

import (
	"fmt"
	"testing"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func BenchmarkFastMatMul(b *testing.B) {
	for _, w := range []int{1, 2} {
		for _, s := range [][3]int{{80, 64, 64}, {80, 256, 64}, {560, 128, 128}, {2240, 128, 128}, {2240, 256, 128}, {2240, 128, 256}, {2240, 784, 128}, {8000, 1024, 256}, {8000, 256, 1024}} {
			b.Run(fmt.Sprintf("threads=%d/M=%d/N=%d/K=%d", w, s[0], s[1], s[2]), func(b *testing.B) {
				be := New(w)
				defer be.Close()
				f := func(shape ...int) *tensor.Tensor { return tensor.Must(tensor.New(tensor.F32, shape...)) }
				p, err := be.MatMul(&backend.MatMulJob{A: f(s[0], s[2]), B: f(s[1], s[2]), M: s[0], N: s[1], K: s[2], Bias: f(s[1]), Activation: backend.ActivationReLU, Out: f(s[0], s[1])})
				if err != nil {
					b.Fatal(err)
				}
				q, _ := be.NewQueue()
				b.ReportAllocs()
				for b.Loop() {
					p.Run(q)
				}
				b.ReportMetric(float64(2*s[0]*s[1]*s[2])*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
