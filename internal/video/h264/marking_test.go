package h264

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/video/picture"
)

var idrHeader = header{identity: identity{reference: true, idr: true}, kind: sliceI}

// pictureP returns the header of a P picture, which is a reference picture with the marking operations.
func pictureP(num int, marking ...operation) header {
	return header{identity: identity{frameNum: num, reference: true, orderLow: 2 * num}, marking: marking}
}

// references parses pictures, and returns the references of each: frame_num, or L and LongTermFrameIdx, or frame_num and ! for a frame
// that does not exist; and ? if the picture is not decodable.
func (s *sets) referencesOf(t *testing.T, headers ...header) (list []string) {
	t.Helper()
	p := newParser(t, 0)
	_, err := p.Parse(s.packet())
	require.NoError(t, err)
	for _, h := range headers {
		pic, err := p.Parse(annexB(s.slice(h)))
		require.NoError(t, err)
		var names []string
		for _, r := range entriesOf(pic) {
			name := fmt.Sprint(r.num)
			if r.long == 1 {
				name = "L" + name
			}
			if r.packet == none {
				name += "!"
			} else {
				assert.NotEqual(t, r.packet, pic.Params.Int(picture.Surface))
			}
			names = append(names, name)
		}
		if pic.Undecodable {
			names = append(names, "?")
		}
		list = append(list, strings.Join(names, " "))
	}
	return list
}

func TestMarkingOperations(t *testing.T) {
	long := idrHeader
	long.longTerm = true
	for _, c := range []struct {
		name    string
		headers []header
		want    []string
	}{
		{"sliding window", []header{idrHeader, pictureP(1), pictureP(2), pictureP(3), pictureP(4)}, []string{"", "0", "0 1", "0 1 2", "1 2 3"}},
		{"1: unused short term", []header{idrHeader, pictureP(1), pictureP(2, operation{code: 1, operand: 1}), pictureP(3)}, []string{"", "0", "0 1", "1 2"}},
		{"1: absent", []header{idrHeader, pictureP(1, operation{code: 1, operand: 7}), pictureP(2)}, []string{"", "0", "0 1"}},
		{"2: unused long term", []header{long, pictureP(1, operation{code: 2}), pictureP(2)}, []string{"", "L0", "1"}},
		{
			"3: becomes long term",
			[]header{idrHeader, pictureP(1, operation{code: 3, operand: 0, long: 2}), pictureP(2, operation{code: 3, operand: 0, long: 2}), pictureP(3)},
			[]string{"", "0", "L2 1", "L2 2"},
		},
		{
			"4: limit",
			[]header{long, pictureP(1, operation{code: 6, long: 1}), pictureP(2, operation{code: 4, operand: 1}), pictureP(3, operation{code: 4}), pictureP(4)},
			[]string{"", "L0", "L0 L1", "L0 2", "2 3"},
		},
		{"5: none remains", []header{idrHeader, pictureP(1), pictureP(2, operation{code: 5}), pictureP(1), pictureP(2)}, []string{"", "0", "0 1", "0", "0 1"}},
		{"5 and 6", []header{idrHeader, pictureP(1, operation{code: 5}, operation{code: 6, long: 3}), pictureP(1), pictureP(2)}, []string{"", "0", "L3", "L3 1"}},
		{"6: the picture itself", []header{idrHeader, pictureP(1, operation{code: 6, long: 4}), pictureP(2, operation{code: 6, long: 4}), pictureP(3)}, []string{"", "0", "0 L4", "0 L4"}},
		{"long-term frames stay in the window", []header{long, pictureP(1), pictureP(2), pictureP(3), pictureP(4)}, []string{"", "L0", "L0 1", "L0 1 2", "L0 2 3"}},
		{"too many", []header{
			long, pictureP(1, operation{code: 6, long: 1}), pictureP(2, operation{code: 6, long: 2}), pictureP(3, operation{code: 6, long: 3}), pictureP(4),
		}, []string{"", "L0", "L0 L1", "L0 L1 L2", "L1 L2 L3"}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, newSets(3).referencesOf(t, c.headers...)) })
	}
}

func TestMarkingFollowsThePredictionWeights(t *testing.T) {
	s := newSets(3)
	s.weighted, s.weightedBi = true, 1
	b := pictureP(2, operation{code: 3, operand: 1, long: 2})
	b.kind, b.orderLow = sliceB, 1
	headers := []header{idrHeader, pictureP(1, operation{code: 6, long: 1}), b, pictureP(3)}
	assert.Equal(t, []string{"", "0", "0 L1", "L1 L2 2"}, s.referencesOf(t, headers...))
}

func TestFrameNumWraps(t *testing.T) {
	headers, last := []header{idrHeader}, ""
	for i := 1; i < 40; i++ {
		headers = append(headers, pictureP(i))
	}
	for i, refs := range newSets(2).referencesOf(t, headers...) {
		if i >= 2 {
			assert.Equal(t, fmt.Sprint((i-2)%16, " ", (i-1)%16), refs)
		}
		last = refs
	}
	assert.Equal(t, "5 6", last)
}

func TestGapsAreFramesThatDoNotExist(t *testing.T) {
	s := newSets(3)
	s.gapsAllowed = true
	to1 := pictureP(4)
	to1.modifications[0] = []modification{{0, 2}} // frame_num 1
	s.active[0] = 1
	non := pictureP(4)
	non.modifications[0] = []modification{{0, 0}} // frame_num 3
	for _, c := range []struct {
		name    string
		headers []header
		want    []string
	}{
		{"names one that exists", []header{idrHeader, pictureP(1), to1, {identity: identity{frameNum: 5, orderLow: 10}}}, []string{"", "0", "1 2! 3!", "2! 3! 4"}},
		{"the first does not exist", []header{idrHeader, pictureP(1), pictureP(4), pictureP(5)}, []string{"", "0", "1 2! 3! ?", "2! 3! 4 ?"}},
		{"names one that does not exist", []header{idrHeader, pictureP(1), non, pictureP(5)}, []string{"", "0", "1 2! 3! ?", "2! 3! 4 ?"}},
		{"B", []header{idrHeader, pictureP(1), {identity: identity{frameNum: 3, orderLow: 1}, kind: sliceB}}, []string{"", "0", "0 1 2! ?"}},
		{"I", []header{idrHeader, pictureP(1), {identity: identity{frameNum: 9, orderLow: 1}, kind: sliceI}}, []string{"", "0", "6! 7! 8!"}},
		{"not a reference", []header{idrHeader, {identity: identity{frameNum: 2}, kind: sliceI}, {identity: identity{frameNum: 2}, kind: sliceI}}, []string{"", "0 1!", "0 1!"}},
		{"IDR", []header{idrHeader, pictureP(1), pictureP(5), idrHeader, pictureP(1)}, []string{"", "0", "2! 3! 4! ?", "", "0"}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, s.referencesOf(t, c.headers...)) })
	}
}

func TestReferencesMustExist(t *testing.T) {
	named := pictureP(2)
	named.modifications[0] = []modification{{0, 4}}
	long := pictureP(2)
	long.modifications[0] = []modification{{2, 0}}
	assert.Equal(t, []string{"", "0", "0 1 ?", "0 1 2 ?", ""}, newSets(3).referencesOf(t, idrHeader, pictureP(1), named, pictureP(3), idrHeader))
	assert.Equal(t, []string{"", "0", "0 1 ?"}, newSets(3).referencesOf(t, idrHeader, pictureP(1), long))
	without := newSets(1)
	without.references = 0
	assert.Equal(t, []string{"", "?", ""}, without.referencesOf(t, idrHeader, pictureP(1), idrHeader))
}
