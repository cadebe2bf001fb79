package driver

import (
	"slices"
	"sync"

	"github.com/robocache/robocache/cudasim/internal/exec"
)

// graph is recorded work. It does not change once its capture has ended.
type graph struct{ nodes []*node }

// node is a piece of work and what must be done before it; these come earlier in the graph's list.
type node struct {
	handle uintptr
	after  []*node
	op     *task
}

// graphExec is a graph ready to launch.
type graphExec struct {
	mu    sync.Mutex
	index map[uintptr]int // of the nodes of the graph it was made from
	after [][]int
	now   *execution // replaced by updates, never changed: a launch keeps the one that it began with
}

// execution is what a launch of a graph does: its nodes one after the other, in one of the orders allowed.
type execution struct {
	running *sync.Mutex // launches of one graphExec do not overlap
	ops     []*task
	after   [][]int
	seed    uint64 // 0: in the order of the list. The next launch's order comes from another
}

// order is the nodes' numbers in the order of this launch.
func (x *execution) order() []int {
	x.seed = exec.Mix(x.seed)
	seed, list, done := x.seed, make([]int, 0, len(x.ops)), make([]bool, len(x.ops))
	for len(list) < len(x.ops) {
		var ready []int
		for i, after := range x.after {
			if !done[i] && !slices.ContainsFunc(after, func(j int) bool { return !done[j] }) {
				ready = append(ready, i)
			}
		}
		seed = exec.Mix(seed)
		next := ready[seed%uint64(len(ready))]
		list, done[next] = append(list, next), true
	}
	return list
}

// edges gives each node's dependencies by number.
func (g *graph) edges() [][]int {
	at := map[*node]int{}
	out := make([][]int, len(g.nodes))
	for i, n := range g.nodes {
		at[n] = i
		for _, a := range n.after {
			out[i] = append(out[i], at[a])
		}
	}
	return out
}

func (g *graph) ops() []*task {
	out := make([]*task, len(g.nodes))
	for i, n := range g.nodes {
		out[i] = n.op
	}
	return out
}
