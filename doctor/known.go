package doctor

import (
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/recognise"
)

// known is what is kept from one episode to the next: what names say, which is looked up once, and room.
type known struct {
	names  map[string]says
	groups map[string]grouped // by stream
	tally  tally              // of the stream that is looked at
	jumps  []int              // of that
	usual  []float64          // changes of its columns
	limits []float64          // beyond which they jump
}

func newKnown() *known { return &known{names: map[string]says{}, groups: map[string]grouped{}} }

// says is what a name tells of a stream or a column.
type says struct {
	command bool // it was asked for, not measured
	rests   bool // it rests at its limits by nature
	strikes bool // it strikes and is gone, as forces and accelerations do
}

// of returns what a name says.
func (k *known) of(name string) says {
	s, seen := k.names[name]
	if !seen {
		s = saysOf(name)
		k.names[name] = s
	}
	return s
}

// grouped are the columns of a stream at which four begin that are called as the parts of a quaternion are.
type grouped struct {
	columns []dataset.Column
	at      []int
}

// quaternions returns where in a stream's columns quaternions begin by their names.
func (k *known) quaternions(s *dataset.Stream) []int {
	g, seen := k.groups[s.Name]
	if seen && dataset.SameColumns(g.columns, s.Columns) {
		return g.at
	}
	g = grouped{columns: s.Columns}
	for lo := 0; lo+4 <= len(s.Columns); lo++ {
		if _, is := recognise.QuaternionNames(s.Name, s.Columns[lo:lo+4]); is {
			g.at = append(g.at, lo)
		}
	}
	k.groups[s.Name] = g
	return g.at
}
