package tensorcore

// step16 is Rule.step for Hopper with 16 products.
func step16(acc float32, a, b *[16]Decoded) float32 {
	c, exp := addend(acc)
	most := exp
	var exps, sigs [16]int32
	for i := range a {
		e := int32(a[i].exp) + int32(b[i].exp)
		most = max(most, e)
		exps[i] = e
		sigs[i] = int32(a[i].sig) * int32(b[i].sig)
	}
	if most >= notFinite {
		return infinite(acc, a[:], b[:])
	}
	sum := cut(c, 2, most-exp)
	for i := range exps {
		v := sigs[i]
		sign := v >> 31
		m := uint32((v^sign)-sign) >> uint32(most+1-exps[i])
		sum += int64(int32(m)^sign) - int64(sign)
	}
	return round(sum, most-25)
}
