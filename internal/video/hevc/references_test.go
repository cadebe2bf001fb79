package hevc

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/video/picture"
)

// standardSet is a set in the standard's variables, and derive follows its formulas 7-61 and 7-62 word for word.
type standardSet struct {
	s0, s1       []int
	used0, used1 []int
}

func derive(ref standardSet, deltaRps int, used, use []int) (s standardSet) {
	n0, n1 := len(ref.s0), len(ref.s1)
	add0 := func(d, j int) {
		if d < 0 && use[j] == 1 {
			s.s0, s.used0 = append(s.s0, d), append(s.used0, used[j])
		}
	}
	add1 := func(d, j int) {
		if d > 0 && use[j] == 1 {
			s.s1, s.used1 = append(s.s1, d), append(s.used1, used[j])
		}
	}
	for j := n1 - 1; j >= 0; j-- {
		add0(ref.s1[j]+deltaRps, n0+j)
	}
	add0(deltaRps, n0+n1)
	for j := range n0 {
		add0(ref.s0[j]+deltaRps, j)
	}
	for j := n0 - 1; j >= 0; j-- {
		add1(ref.s0[j]+deltaRps, j)
	}
	add1(deltaRps, n0+n1)
	for j := range n1 {
		add1(ref.s1[j]+deltaRps, n0+j)
	}
	return s
}

func (s standardSet) references() []reference {
	list := []reference{}
	for i, d := range append(slices.Clone(s.s0), s.s1...) {
		list = append(list, reference{d, append(slices.Clone(s.used0), s.used1...)[i] == 1})
	}
	return list
}

// random writes st_ref_pic_set(index) with random values.
func random(r *rand.Rand, w *writer, before []standardSet, index, count int) (s standardSet, predictor int) {
	if index > 0 {
		predicted := r.IntN(2)
		if w.u(1, predicted); predicted == 1 {
			distance := 1
			if index == count {
				distance += r.IntN(index)
				w.ue(distance - 1)
			}
			ref := before[index-distance]
			delta, sign := 1+r.IntN(6), r.IntN(2)
			w.u(1, sign)
			w.ue(delta - 1)
			n := len(ref.s0) + len(ref.s1)
			used, use := make([]int, n+1), make([]int, n+1)
			for j := range n + 1 {
				used[j], use[j] = r.IntN(2), 1
				if w.u(1, used[j]); used[j] == 0 {
					use[j] = r.IntN(2)
					w.u(1, use[j])
				}
			}
			return derive(ref, delta*(1-2*sign), used, use), n
		}
	}
	n0, n1 := r.IntN(4), r.IntN(4)
	w.ue(n0, n1)
	side := func(n, sign int) (deltas, used []int) {
		d := 0
		for range n {
			step, u := 1+r.IntN(4), r.IntN(2)
			d += sign * step
			w.ue(step - 1)
			w.u(1, u)
			deltas, used = append(deltas, d), append(used, u)
		}
		return deltas, used
	}
	s.s0, s.used0 = side(n0, -1)
	s.s1, s.used1 = side(n1, 1)
	return s, 0
}

func TestReferenceSetsAreTheStandards(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	predicted, explicit := 0, 0
	for range 300 {
		var want []standardSet
		count := r.IntN(7)
		m := usual()
		m.maxDPB = 16
		m.sets = func(w *writer) {
			w.ue(count)
			for i := range count {
				s, _ := random(r, w, want, i, count)
				want = append(want, s)
			}
		}
		s, err := readSequence(m.sps()[3:])
		for _, w := range want {
			if len(w.references()) > 15 {
				assert.Equal(t, "st_ref_pic_set", err.(*picture.InvalidError).Element)
				s = nil
			}
		}
		if s == nil {
			continue
		}
		require.NoError(t, err)
		require.Len(t, s.sets, count)
		for i := range want {
			assert.Equal(t, want[i].references(), append([]reference{}, s.sets[i].references...))
			assert.Equal(t, len(want[i].s0), s.sets[i].negative)
			assert.Zero(t, s.sets[i].predictor)
		}

		var p parameterSets
		pps, err := readPictureSet(m.pps()[3:])
		require.NoError(t, err)
		p.sequences[0], p.pictures[0] = s, pps
		var set standardSet
		length, predictor := 0, 0
		unit := m.slice(1, 2, 5, func(w *writer) {
			if count > 0 && r.IntN(2) == 0 {
				i := r.IntN(count)
				w.u(1, 1)
				for bits := 1; bits < count; bits *= 2 {
					length++
				}
				w.u(length, i)
				set, length = want[i], 0
				return
			}
			w.u(1, 0)
			from := w.n
			set, predictor = random(r, w, want, count, count)
			length = w.n - from
		})
		h, _ := readUnitHeader(unit[3:])
		got, err := p.segment(unit[3:], h)
		used := 0
		for _, ref := range set.references() {
			used += flag(ref.used)
		}
		if used > 8 || len(set.references()) > 15 {
			assert.Error(t, err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, set.references(), append([]reference{}, got.set.references...))
		assert.Equal(t, length, got.setBits)
		assert.Equal(t, predictor, got.set.predictor)
		predicted += predictor
		explicit += length
	}
	assert.Greater(t, predicted, 20)
	assert.Greater(t, explicit, 20)
}

func parameters(pic *picture.Picture) []byte { return pic.Params[picture.Codec:] }

// listed returns the order counts in a list.
func listed(pic *picture.Picture, list int) (orders []int) {
	for i := range pic.Params.Int(countAt(list)) {
		orders = append(orders, pic.Params.Int(orderAt(int(parameters(pic)[slotLists+8*list+i]))))
	}
	return orders
}

func longTerm(pic *picture.Picture) (orders []int) {
	for i := range 16 {
		if parameters(pic)[slotLongTerm+i] == 1 {
			orders = append(orders, pic.Params.Int(orderAt(i)))
		}
	}
	slices.SortFunc(orders, cmp.Compare)
	return orders
}

func TestLongTermReferences(t *testing.T) {
	m := usual()
	m.long = func(w *writer) {
		w.ue(2)
		w.u(m.log2POC, 0)
		w.u(1, 1)
		w.u(m.log2POC, 3)
		w.u(1, 0)
	}
	p, err := New(nil, 0)
	require.NoError(t, err)
	parse(t, p, slices.Concat(m.sps(), m.pps(), m.slice(idrWRADL, 2, 0, nil)))
	previous := func(w *writer) { // the picture before is a short-term reference
		w.u(1, 0)
		w.ue(1, 0, 0)
		w.u(1, 1)
	}
	next := func(order int, long func(w *writer)) *picture.Picture {
		return parse(t, p, m.slice(1, 1, order%16, func(w *writer) {
			previous(w)
			long(w)
			w.u(1, 1) // slice_temporal_mvp_enabled_flag
		}))
	}
	next(1, func(w *writer) { w.ue(0, 0) })
	for poc := 2; poc < 16; poc++ {
		pic := next(poc, func(w *writer) {
			w.ue(1, 0) // by its index in the sequence, without cycles
			w.u(1, 0)
			w.u(1, 0)
		})
		assert.False(t, pic.Undecodable)
		assert.Equal(t, []int{poc - 1}, listed(pic, 0))
		assert.Equal(t, []int{0}, listed(pic, 2))
		assert.Equal(t, []int{0}, longTerm(pic))
	}
	withCycle := func(w *writer) {
		w.ue(1, 0)
		w.u(1, 0)
		w.u(1, 1)
		w.ue(1)
	}
	pic := next(16, withCycle)
	assert.False(t, pic.Undecodable)
	assert.Equal(t, []int{0}, listed(pic, 2))
	for poc := 17; poc < 21; poc++ {
		assert.Equal(t, []int{0}, listed(next(poc, withCycle), 2))
	}
	two := func(w *writer) {
		w.ue(1, 1) // both kinds: their cycles are counted apart
		w.u(1, 0)
		w.u(1, 1)
		w.ue(1)
		w.u(4, 3)
		w.flags(1, 1)
		w.ue(0)
	}
	for poc := 21; poc < 32; poc++ {
		pic = next(poc, two)
		assert.False(t, pic.Undecodable)
		assert.Equal(t, []int{0, 19}, listed(pic, 2))
		assert.Equal(t, []int{0, 19}, longTerm(pic))
	}
	sum := func(w *writer) {
		w.ue(0, 2) // cycles add up
		w.u(4, 3)
		w.flags(0, 1) // not for this picture
		w.ue(1)
		w.u(4, 0)
		w.flags(1, 1)
		w.ue(1)
	}
	pic = next(32, sum)
	assert.False(t, pic.Undecodable)
	assert.Equal(t, []int{0}, listed(pic, 2))
	assert.Equal(t, []int{0, 19}, longTerm(pic))
	ambiguous := next(33, func(w *writer) { // 0 and 32 have the same least significant bits
		w.ue(0, 1)
		w.u(4, 0)
		w.flags(1, 0)
	})
	assert.True(t, ambiguous.Undecodable)
	assert.Equal(t, 33, order(ambiguous))
}

// The standard forbids such references, but an encoder that keeps to one set for all pictures is harmless.
func TestKeyPicturesNeedNoReferences(t *testing.T) {
	m := usual()
	p, err := New(nil, 0)
	require.NoError(t, err)
	for range 2 {
		pic := parse(t, p, slices.Concat(m.sps(), m.pps(), m.slice(cra, 2, 9, func(w *writer) {
			w.u(1, 0)
			w.ue(1, 0, 2)
			w.u(1, 1)
		})))
		assert.False(t, pic.Undecodable)
		assert.Empty(t, listed(pic, 0))
		assert.Equal(t, 1, pic.Params.Int(picture.IsIntra))
	}
}
