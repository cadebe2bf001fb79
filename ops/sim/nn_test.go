package sim_test

import (
	"flag"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/nntest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ptx"
)

// networks are the families of kernels that networks are made of.
var networks = strings.Fields("matmul matmul_norm matmul_norm_back attention attention_backward gradient adamw norm tokens embed loss")

// The suite of networks on a simulated device, in an order of blocks and warps of its own: the bits of the CPU's exact way, which are a GPU's.
func TestNN(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Parallel()
	dev, d := device(t, cudasim.Config{Seed: 1})
	var mu sync.Mutex
	launches := map[string]int{}
	d.Watch(func(l *cudasim.Launch) {
		mu.Lock()
		defer mu.Unlock()
		launches[l.Kernel]++
	})
	nntest.Run(t, dev)
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	for _, family := range networks {
		for _, entry := range ptx.Images(family)[0].Entries {
			assert.Positive(t, launches[entry.Name], entry.Name)
		}
	}
}
