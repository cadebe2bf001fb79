package sim_test

import (
	"flag"
	"regexp"
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
var networks = strings.Fields("matmul matmul_norm matmul_norm_back attention attention_backward gradient adamw norm tokens noise embed loss")

// again matches the cases that run no line of a kernel that the others leave out. The long set and the search for mutants have them too.
var again = regexp.MustCompile(strings.Join([]string{
	`^square/1x2x12[789]x.*x64$`, `^square/1x1x25`, `^causal_padded/.*x(17|40|130)x64$`, `^dropout/.*x130x32$`, `^stairs/.*x64$`,
	`^cross(_dropout)?/.*x(100x33|33x100|300x5)x64$`, `^edge_queries(_dropout)?/.*x(266|274|282)x5x64$`,
	`^tail_(back|norm)/(9|18|27|32)x(176|272)x`, `^tail_next_back/(76|92|108|116)x`, `^few_rows_back/`, `^weights/large$`, `^norm/11$`,
}, "|"))

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
	nntest.Pick(t, dev, func(name string) bool { return thorough.Long || !nntest.Long(name) && !again.MatchString(name) })
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	for _, family := range networks {
		for _, entry := range ptx.Images(family)[0].Entries {
			assert.Positive(t, launches[entry.Name], entry.Name)
		}
	}
}
