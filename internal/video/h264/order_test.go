package h264

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// countsOf parses pictures and returns their order counts.
func (s *sets) countsOf(t *testing.T, headers ...header) (list []counts) {
	t.Helper()
	p := newParser(t, 0)
	_, err := p.Parse(s.packet())
	require.NoError(t, err)
	for _, h := range headers {
		pic, err := p.Parse(annexB(s.slice(h)))
		require.NoError(t, err)
		order := orderOf(&pic.Params)
		list = append(list, counts{order, pic.Params.Int(184 + 100)})
	}
	return list
}

func both(values ...int) (list []counts) {
	for _, v := range values {
		list = append(list, counts{v, v})
	}
	return list
}

// low returns a picture with pic_order_cnt_lsb.
func low(num, order int, reference bool, marking ...operation) header {
	return header{identity: identity{frameNum: num, orderLow: order, reference: reference}, marking: marking}
}

func TestOrderCountsOfType0(t *testing.T) {
	s := newSets(3)
	assert.Equal(t, both(0, 8, 4, 16, 12, 24, 0, -2, 2), s.countsOf(t,
		idrHeader, low(1, 8, true), low(2, 4, false), low(2, 0, true), low(3, 12, false), low(3, 8, true), idrHeader, low(1, 14, false), low(1, 2, false)))
}

func TestOrderCountsOfTheBottomField(t *testing.T) {
	s := newSets(3)
	s.orderPresent, s.frameOnly, s.height = true, false, 2
	h := low(1, 6, true)
	h.delta[1] = -3
	assert.Equal(t, []counts{{0, 0}, {6, 3}}, s.countsOf(t, idrHeader, h))
	s.orderType, s.offsetBottom, s.cycle = 1, 1, 1
	s.offsets[0] = 10
	h.delta = [2]int{2, 3}
	assert.Equal(t, []counts{{0, 1}, {12, 16}}, s.countsOf(t, idrHeader, h))
}

func TestOrderCountsOfType1(t *testing.T) {
	s := newSets(2)
	s.orderType, s.deltaZero, s.cycle, s.offsetNonRef = 1, true, 1, -2
	s.offsets[0] = 4
	headers, want := []header{idrHeader}, []int{0}
	for i := 1; i < 40; i++ { // I b P b P, decoded as I P b P b
		headers = append(headers, low(i, 0, true), low(i+1, 0, false))
		want = append(want, 4*i, 4*i-2)
	}
	assert.Equal(t, both(want...), s.countsOf(t, headers...))

	s.deltaZero, s.offsetNonRef, s.cycle = false, 0, 3
	copy(s.offsets[:], []int32{1, 10, 100})
	delta := low(2, 0, true)
	delta.delta[0] = 1000
	assert.Equal(t, both(0, 1, 1011, 111, 112, 122, 222), s.countsOf(t,
		idrHeader, low(1, 0, true), delta, low(3, 0, true), low(4, 0, true), low(5, 0, true), low(6, 0, true)))

	s.cycle = 0
	assert.Equal(t, both(0, 0), s.countsOf(t, idrHeader, low(1, 0, true)))
}

func TestOrderCountsOfType2(t *testing.T) {
	s := newSets(2)
	s.orderType = 2
	headers, want := []header{idrHeader}, []int{0}
	for i := 1; i < 40; i++ {
		headers = append(headers, low(i, 0, true))
		want = append(want, 2*i)
	}
	assert.Equal(t, both(want...), s.countsOf(t, headers...))
	assert.Equal(t, both(0, 1, 2), s.countsOf(t, idrHeader, low(1, 0, false), low(1, 0, true)))
}

func TestOrderCountsBeginAnewAfterOperation5(t *testing.T) {
	for kind, want := range [][]counts{both(0, 2, 4, 2, 4), both(0, 3, 6, 3, 6), both(0, 2, 4, 2, 4)} {
		s := newSets(2)
		s.orderType, s.deltaZero, s.cycle = kind, true, 1
		s.offsets[0] = 3
		assert.Equal(t, want, s.countsOf(t, idrHeader, low(1, 2, true), low(2, 4, true, operation{code: 5}), low(1, 2, true), low(2, 4, true)))
	}
	s := newSets(2) // the reference has the difference of its fields
	s.orderPresent = true
	h := low(1, 6, true, operation{code: 5})
	h.delta[1] = -2
	p := newParser(t, 0)
	for _, packet := range [][]byte{s.packet(), annexB(s.slice(idrHeader)), annexB(s.slice(h))} {
		_, err := p.Parse(packet)
		require.NoError(t, err)
	}
	pic, err := p.Parse(annexB(s.slice(low(1, 4, false))))
	require.NoError(t, err)
	assert.Equal(t, 2, entriesOf(pic)[0].order)
	assert.Equal(t, 4, orderOf(&pic.Params))
}
