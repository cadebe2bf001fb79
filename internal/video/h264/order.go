package h264

// order is the state for frame_num and the picture order counts between two pictures.
type order struct {
	lastReference int // PrevRefFrameNum
	lastNum       int // prevFrameNum
	offset        int // prevFrameNumOffset
	high, low     int // prevPicOrderCntMsb, prevPicOrderCntLsb
}

// counts are a frame's top and bottom field order counts.
type counts [2]int

func (c counts) least() int { return min(c[0], c[1]) }

// count returns a picture's order counts (section 8.2.1), and keeps the values that the next picture needs.
func (o *order) count(h *header, s *sps) (c counts) {
	if h.frameNum < o.lastNum {
		o.offset += 1 << s.frameNumBits
	}
	o.lastNum = h.frameNum
	number := o.offset + h.frameNum
	switch s.orderType {
	case 0:
		high, span := o.high, 1<<s.orderBits
		if h.orderLow < o.low && o.low-h.orderLow >= span/2 {
			high += span
		} else if h.orderLow > o.low && h.orderLow-o.low > span/2 {
			high -= span
		}
		if h.reference {
			o.high, o.low = high, h.orderLow
		}
		c[0] = high + h.orderLow
		c[1] = c[0]
	case 1:
		c[0] = s.expectedCount(number, h.reference) + h.delta[0]
		c[1] = c[0] + s.offsetBottom
	case 2:
		c[0] = 2 * number
		if !h.reference {
			c[0]--
		}
		c[1] = c[0]
	}
	c[1] += h.delta[1]
	return c
}

// expectedCount returns expectedPicOrderCnt (section 8.2.1.2). number is FrameNumOffset plus frame_num.
func (s *sps) expectedCount(number int, reference bool) (count int) {
	if s.cycle == 0 {
		number = 0
	}
	if !reference && number > 0 {
		number--
	}
	if number > 0 {
		for i, o := range s.offsets[:s.cycle] {
			cycles := (number - 1) / s.cycle
			if i <= (number-1)%s.cycle {
				cycles++
			}
			count += cycles * int(o)
		}
	}
	if !reference {
		count += s.offsetNonRef
	}
	return count
}
