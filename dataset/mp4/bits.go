package mp4

// bitsOf returns the bits per colour channel in the decoder configuration, or 0 if it does not contain them.
func bitsOf(kind string, c []byte) int {
	switch {
	case kind == "av1C" && len(c) > 2:
		return 8 + int(c[2]>>6&1)*(2+2*int(c[2]>>5&1))
	case kind == "hvcC" && len(c) > 18:
		return 8 + max(int(c[17]&7), int(c[18]&7))
	case kind == "vpcC" && len(c) > 6:
		return int(c[6] >> 4)
	case kind == "avcC" && len(c) > 5:
		return bitsOfAVC(c)
	}
	return 0
}

// bitsOfAVC reads the bit depth after the parameter sets in avcC, which exists in profiles with more than 8 bits.
func bitsOfAVC(c []byte) int {
	switch c[1] {
	case 66, 77, 88: // Baseline, Main, Extended
		return 8
	}
	at := 6
	for set, n := range []int{int(c[5] & 31), 0} {
		if set == 1 {
			if at >= len(c) {
				return 0
			}
			n, at = int(c[at]), at+1
		}
		for range n {
			if at+2 > len(c) {
				return 0
			}
			at += 2 + int(c[at])<<8 + int(c[at+1])
		}
	}
	if at+3 > len(c) {
		return 0
	}
	return 8 + max(int(c[at+1]&7), int(c[at+2]&7))
}
