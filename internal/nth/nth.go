package nth

import (
	"cmp"
	"slices"
)

// Of returns what would be at k if a list were sorted, and leaves the list in another order. It takes time in proportion to the list: where the pivots are
// bad, what is left is sorted. None is NaN.
func Of[T cmp.Ordered](list []T, k int) T {
	for tries := 0; len(list) > 12; tries++ {
		if tries > 64 {
			break
		}
		pivot := middle(list[0], list[len(list)/2], list[len(list)-1])
		i, j := 0, len(list)-1
		for i <= j {
			for list[i] < pivot {
				i++
			}
			for list[j] > pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch { // up to j there is nothing above the pivot, from i on nothing below it, and between them it
		case k <= j:
			list = list[:j+1]
		case k >= i:
			list, k = list[i:], k-i
		default:
			return pivot
		}
	}
	slices.Sort(list)
	return list[k]
}

func middle[T cmp.Ordered](a, b, c T) T { return max(min(a, b), min(max(a, b), c)) }
