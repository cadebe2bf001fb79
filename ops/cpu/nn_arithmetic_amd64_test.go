package cpu

// sets are all kinds of arithmetic that this processor has.
func sets() map[string]*arithmetic {
	all := map[string]*arithmetic{"plain": &plain, "fastest": fast}
	if fast != &plain {
		all["avx2"] = &avx2
	}
	return all
}
