package hevc

// store is the decoded picture buffer: the pictures to which later ones can refer, each in a slot that it keeps, and the surfaces.
type store struct {
	slots    [16]slot
	surfaces []int // the number of the picture that was decoded to it last
	decoded  int   // pictures
}

type slot struct {
	used     bool
	longTerm bool
	surface  int
	poc      int
}

// references are the slots to which a picture refers.
type references struct {
	before, after, long []byte
	missing             bool
}

func (s *store) clear() { s.slots = [16]slot{} }

// keep empties the slots that are not in the reference picture set of a picture with the order count poc.
func (s *store) keep(h *segment, poc, log2 int) (refs references) {
	var kept [16]bool
	find := func(list *[]byte, used bool, matches func(*slot) bool) *slot {
		at, found := 0, 0
		for i := range s.slots {
			if s.slots[i].used && matches(&s.slots[i]) {
				at, found = i, found+1
			}
		}
		if used {
			*list = append(*list, byte(at))
			refs.missing = refs.missing || found != 1
		}
		kept[at] = kept[at] || found == 1
		if found != 1 {
			return nil
		}
		return &s.slots[at]
	}
	for _, ref := range h.long {
		mask, target := 1<<log2-1, ref.lsb
		if ref.whole {
			mask, target = -1, poc-h.lsb+ref.lsb-ref.cycles<<log2
		}
		if found := find(&refs.long, ref.used, func(s *slot) bool { return s.poc&mask == target }); found != nil {
			found.longTerm = true
		}
	}
	for i, ref := range h.set.references {
		list := &refs.before
		if i >= h.set.negative {
			list = &refs.after
		}
		find(list, ref.used, func(s *slot) bool { return !s.longTerm && s.poc == poc+ref.delta })
	}
	for i := range s.slots {
		if !kept[i] {
			s.slots[i] = slot{}
		}
	}
	return refs
}

// add returns the surface for a new picture, and keeps the picture as a reference if it is decodable. The surface is the least recently
// decoded one without a reference. Reference picture sets are smaller than the store, so that there is one, and an empty slot.
func (s *store) add(poc int, decodable bool) int {
	held, surface := make([]bool, len(s.surfaces)), -1
	for _, slot := range s.slots {
		if slot.used {
			held[slot.surface] = true
		}
	}
	for i, when := range s.surfaces {
		if !held[i] && (surface < 0 || when < s.surfaces[surface]) {
			surface = i
		}
	}
	s.decoded++
	s.surfaces[surface] = s.decoded
	for i := range s.slots {
		if decodable && !s.slots[i].used {
			s.slots[i] = slot{used: true, surface: surface, poc: poc}
			break
		}
	}
	return surface
}
