package hevc

import "math/bits"

// writer writes a NAL unit's bits.
type writer struct {
	b []byte
	n int
}

func (w *writer) u(n int, v int) {
	for i := n - 1; i >= 0; i-- {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(v>>i&1) << (7 - w.n%8)
		w.n++
	}
}

func (w *writer) flags(values ...int) {
	for _, v := range values {
		w.u(1, v)
	}
}

func (w *writer) ue(values ...int) {
	for _, v := range values {
		n := bits.Len(uint(v + 1))
		w.u(n-1, 0)
		w.u(n, v+1)
	}
}

func (w *writer) se(values ...int) {
	for _, v := range values {
		w.ue(max(2*v-1, -2*v))
	}
}

// unit returns the NAL unit after a start code, with trailing bits and emulation prevention bytes.
func (w *writer) unit(kind int) []byte {
	w.u(1, 1)
	out, zeros := []byte{0, 0, 1, byte(kind << 1), 1}, 0
	for _, b := range w.b {
		if zeros == 2 && b <= 3 {
			out, zeros = append(out, 3), 0
		}
		if out = append(out, b); b == 0 {
			zeros++
		} else {
			zeros = 0
		}
	}
	return out
}

// made describes parameter sets. Functions write optional parts, each after its flag.
type made struct {
	profile, chroma, depth, chromaDepth int
	width, height                       int
	layers, log2POC, maxDPB             int
	coding                              []int // log2 sizes and depths as in the standard
	scaling, pcm, sets, long, vui       func(w *writer)
	extension                           int // 8 bits
	tiles, control, lists               func(w *writer)
	pictureExtension                    int // 8 bits
	dependent, output, hidden, extra    int
	initQP, merge                       int
}

func usual() made {
	return made{profile: 1, chroma: 1, width: 416, height: 240, log2POC: 4, maxDPB: 6, coding: []int{0, 3, 0, 3, 1, 2}, merge: 1}
}

func (w *writer) optional(part func(w *writer)) {
	if part == nil {
		w.u(1, 0)
		return
	}
	w.u(1, 1)
	part(w)
}

func (m made) sps() []byte {
	w := &writer{}
	w.u(4, 0)
	w.u(3, m.layers)
	w.u(1, 1)
	w.u(3, 0)
	w.u(5, m.profile)
	w.u(32, 1<<30)
	w.u(48, 1<<47)
	w.u(8, 93)
	flags := []int{3, 1, 2, 0, 3, 3, 0, 0} // sub_layer_profile_present_flag and sub_layer_level_present_flag
	clear(flags[m.layers:])
	if m.layers > 0 {
		for _, f := range flags {
			w.u(2, f)
		}
	}
	for _, present := range flags {
		for range present >> 1 {
			w.u(44, 1<<43-1)
			w.u(44, 1<<40-1)
		}
		w.u(8*(present&1), 255)
	}
	w.ue(0, m.chroma)
	if m.chroma == 3 {
		w.u(1, 0)
	}
	w.ue(m.width, m.height)
	w.u(1, 1)
	w.ue(1, 2, 3, 4)
	w.ue(m.depth, m.chromaDepth, m.log2POC-4)
	w.u(1, bit(m.layers > 0))
	for i := range m.layers + 1 {
		w.ue(m.maxDPB-1-bit(i < m.layers), 0, 0)
	}
	w.ue(m.coding...)
	w.optional(m.scaling)
	w.flags(1, 0)
	w.optional(m.pcm)
	if m.sets == nil {
		w.ue(0)
	} else {
		m.sets(w)
	}
	w.optional(m.long)
	w.flags(1, 0)
	w.optional(m.vui)
	w.u(1, bit(m.extension > 0))
	w.u(8*bit(m.extension > 0), m.extension)
	return w.unit(spsUnit)
}

func (m made) pps() []byte {
	w := &writer{}
	w.ue(0, 0)
	w.flags(m.dependent, m.output)
	w.u(3, m.extra)
	w.flags(1, 0)
	w.ue(2, 1)
	w.se(m.initQP)
	w.flags(0, 1, 1)
	w.ue(1)
	w.se(-3, 4)
	w.flags(1, 0, 1, 0, bit(m.tiles != nil), 0)
	if m.tiles != nil {
		m.tiles(w)
	}
	w.u(1, 1)
	w.optional(m.control)
	w.optional(m.lists)
	w.u(1, 0)
	w.ue(m.merge)
	w.u(1, 1)
	w.u(1, bit(m.pictureExtension > 0))
	w.u(8*bit(m.pictureExtension > 0), m.pictureExtension)
	return w.unit(ppsUnit)
}

func bit(v bool) int { return flag(v) }

// slice returns a picture's first slice. references writes the part after the order count, unless it is an IDR picture.
func (m made) slice(kind, sliceType, lsb int, references func(w *writer)) []byte {
	w := &writer{}
	w.u(1, 1)
	if kind >= blaWLP {
		w.u(1, 0)
	}
	w.ue(0)
	w.u(m.extra, 0)
	w.ue(sliceType)
	w.u(m.output, 1-m.hidden)
	if kind != idrWRADL && kind != idrNLP {
		w.u(m.log2POC, lsb)
		references(w)
	}
	w.u(16, 0x5a5a)
	return w.unit(kind)
}
