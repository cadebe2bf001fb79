package doctor

import (
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/recognise"
)

// workspace is shared by the examiners of consecutive episodes: roles by name, which are computed once, and buffers.
type workspace struct {
	roles       map[string]role
	quaternions map[string]quaternionColumns // by stream

	// The buffers hold results for the stream that is examined.
	tally  tally
	jumps  []int
	usual  []float64 // usual change of each column
	limits []float64 // change of each column from which it is a jump
}

func newWorkspace() *workspace {
	return &workspace{roles: map[string]role{}, quaternions: map[string]quaternionColumns{}}
}

// role returns the role of the stream or column with a name.
func (k *workspace) role(name string) role {
	r, cached := k.roles[name]
	if !cached {
		r = roleOf(name)
		k.roles[name] = r
	}
	return r
}

// quaternionColumns caches the indices at which four columns have the names of a quaternion's parts.
type quaternionColumns struct {
	columns []dataset.Column
	at      []int
}

// quaternionsByName returns the indices of a stream's columns at which a quaternion begins, judged by names: 3 for x, y, z, qx, qy, qz, qw.
func (k *workspace) quaternionsByName(s *dataset.Stream) []int {
	g, cached := k.quaternions[s.Name]
	if cached && dataset.SameColumns(g.columns, s.Columns) {
		return g.at
	}
	g = quaternionColumns{columns: s.Columns}
	for lo := 0; lo+4 <= len(s.Columns); lo++ {
		if _, is := recognise.QuaternionNames(s.Name, s.Columns[lo:lo+4]); is {
			g.at = append(g.at, lo)
		}
	}
	k.quaternions[s.Name] = g
	return g.at
}

// floats returns a buffer of n numbers, which it keeps in room.
func floats(room *[]float64, n int) []float64 {
	*room = slices.Grow((*room)[:0], n)[:n]
	return *room
}
