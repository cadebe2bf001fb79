package exec

import "math/bits"

// Mix is the finalizer of splitmix64.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func shuffle[T any](seed uint64, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		seed = Mix(seed)
		hi, _ := bits.Mul64(seed, uint64(i+1))
		list[i], list[hi] = list[hi], list[i]
	}
}

func shuffled(seed, n uint64) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i)
	}
	shuffle(seed, list)
	return list
}
