package h264

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReferenceLists(t *testing.T) {
	// Each frame's surface is its frame_num, or 100 and LongTermFrameIdx.
	short := func(num, order int) frame {
		return frame{surface: num, num: num, counts: counts{order + 1, order}}
	}
	long := func(i int) frame { return frame{surface: 100 + i, num: i, long: true} }
	mixed := references{[]frame{long(3), short(12, 50), short(15, 44), short(0, 47), long(0), short(14, 40)}}
	past := references{[]frame{short(0, 2), short(1, 4), short(2, 6)}}
	for _, c := range []struct {
		name       string
		references references
		header     header
		lists      [][]int
	}{
		{"P", mixed, header{active: [2]int{8, 8}}, [][]int{{0, 15, 14, 12, 100, 103}}},
		{"P, cut", mixed, header{active: [2]int{3, 0}}, [][]int{{0, 15, 14}}},
		{"B", mixed, header{kind: sliceB, active: [2]int{8, 8}}, [][]int{{15, 14, 0, 12, 100, 103}, {0, 12, 15, 14, 100, 103}}},
		{"B without future", past, header{kind: sliceB, active: [2]int{8, 8}}, [][]int{{2, 1, 0}, {1, 2, 0}}},
		{"B without future, cut", past, header{kind: sliceB, active: [2]int{1, 1}}, [][]int{{2}, {1}}},
		{"B with one", references{[]frame{short(0, 2)}}, header{kind: sliceB, active: [2]int{2, 2}}, [][]int{{0}, {0}}},
		{"named", mixed, header{active: [2]int{4, 0}, modifications: [2][]modification{{{0, 2}, {1, 0}, {2, 3}}}}, [][]int{{14, 15, 103, 0}}},
		{"named twice", mixed, header{active: [2]int{4, 0}, modifications: [2][]modification{{{0, 2}, {0, 15}}}}, [][]int{{14, 14, 0, 15}}},
		{"absent", mixed, header{active: [2]int{2, 0}, modifications: [2][]modification{{{0, 3}, {2, 7}}}}, [][]int{{none, none}}},
		{"second list", mixed, header{kind: sliceB, active: [2]int{2, 2}, modifications: [2][]modification{nil, {{1, 10}}}}, [][]int{{15, 14}, {12, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.header.frameNum = 1
			for i, want := range c.lists {
				var got []int
				for _, f := range c.references.list(&c.header, i, 15, 46) {
					got = append(got, f.surface)
				}
				assert.Equal(t, want, got, "list %d", i)
			}
		})
	}
}

// TestReferencesAfterARecoveryPoint has lists in which frames from before the point come before others. The encoder may have more or
// fewer of them.
func TestReferencesAfterARecoveryPoint(t *testing.T) {
	for _, c := range []struct {
		name   string
		long   bool // the first picture becomes a long-term reference
		active int
		last   header
		want   bool // undecodable
	}{
		{"P ends with foreign frames", false, 4, low(7, 14, true), false},
		{"P has a long-term frame after them", true, 4, low(7, 14, true), true},
		{"P has a long-term frame after the end", true, 2, low(7, 14, true), false},
		{"B has a future frame after them", false, 4, header{identity: identity{frameNum: 7, orderLow: 11}, kind: sliceB}, true},
		{"B ends with one past frame", false, 1, header{identity: identity{frameNum: 7, orderLow: 11}, kind: sliceB}, false},
		{"P names one from before", false, 1, header{identity: identity{frameNum: 7, orderLow: 14}, modifications: [2][]modification{{{0, 9}}}}, true},
		{"P names a foreign frame", false, 1, header{identity: identity{frameNum: 7, orderLow: 14}, modifications: [2][]modification{{{0, 2}}}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSets(4)
			s.active = [2]int{c.active, c.active}
			key, second := low(5, 10, true), low(6, 12, true)
			key.kind = sliceI
			if c.long {
				second.marking = []operation{{code: 3, operand: 0, long: 0}}
			}
			p := newParser(t, 0)
			_, err := p.Parse(s.packet())
			require.NoError(t, err)
			for _, packet := range [][]byte{annexB(recoveryMessage(recovery{exact: true}), s.slice(key)), annexB(s.slice(second))} {
				pic, err := p.Parse(packet)
				require.NoError(t, err)
				require.False(t, pic.Undecodable)
			}
			pic, err := p.Parse(annexB(s.slice(c.last)))
			require.NoError(t, err)
			assert.Equal(t, c.want, pic.Undecodable)
		})
	}
}
