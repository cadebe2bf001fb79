package driver

import (
	"slices"
	"sync"

	"github.com/robocache/robocache/cudasim/internal/exec"
)

// graph is recorded work. It is immutable once its capture has ended.
type graph struct{ nodes []*node }

// node is a piece of work with its dependencies, which come earlier in the graph's list.
type node struct {
	handle uintptr
	after  []*node
	op     *task
}

// graphExec is a graph ready to launch.
type graphExec struct {
	mu    sync.Mutex
	after [][]int
	now   *execution // updates replace it and never change it, because a running launch uses the old one
}

// execution is the work of a graph's launch: its nodes one after the other, in an order that its edges allow.
type execution struct {
	running *sync.Mutex // launches of one graphExec do not overlap
	ops     []*task
	after   [][]int
	seed    uint64 // 0: in the order of the list; else the order of each launch differs
}

// order returns the nodes' numbers in the order of this launch.
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

// edges returns each node's dependencies by number.
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
