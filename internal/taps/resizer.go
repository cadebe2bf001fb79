package taps

// Sample is the type of a picture's samples.
type Sample interface{ uint8 | uint16 | float32 }

// Sum is the type in which samples are multiplied by weights and summed. Whole samples of 8 bits need int32, of 16 bits int64.
type Sum interface{ int32 | int64 | float32 }

// Filter is an axis with weights of type T.
type Filter[T Sum] struct {
	*Axis
	weights []T
}

// Whole returns a filter with the whole weights.
func Whole[T int32 | int64](a *Axis) Filter[T] {
	f := Filter[T]{Axis: a}
	for _, w := range a.Whole() {
		f.weights = append(f.weights, T(w))
	}
	return f
}

// Floats returns a filter with the exact weights, rounded to float32.
func Floats(a *Axis) Filter[float32] {
	f := Filter[float32]{Axis: a}
	for _, w := range a.Exact {
		f.weights = append(f.weights, float32(w))
	}
	return f
}

func (f *Filter[T]) taps(i int) (first int, weights []T) {
	return int(f.First[i]), f.weights[i*f.Most:][:f.Count[i]]
}

// Round converts sums with whole weights into whole samples, rounded half up.
func Round[S uint8 | uint16, T int32 | int64](to []S, sums []T) {
	for i, v := range sums {
		to[i] = S(min((v+1<<(Bits-1))>>Bits, T(^S(0))))
	}
}

// Keep copies sums with float weights, because they are the samples.
func Keep(to, sums []float32) { copy(to, sums) }

// Resizer resizes pictures with C samples in a pixel: first along rows, then along columns. Its memory is used again for the next picture.
type Resizer[S Sample, T Sum] struct {
	C     int
	Round func(to []S, sums []T)
	sums  []T
	lines []S // rows after the first pass
}

// Reserve makes memory for results of w columns, from pictures of up to `rows` rows.
func (r *Resizer[S, T]) Reserve(w, rows int) {
	r.sums, r.lines = make([]T, w*r.C), make([]S, rows*w*r.C)
}

// Window writes the h x w pixels of the resized picture from row y and column x on to `to`, [h,w,C]. row returns a row of the picture.
func (r *Resizer[S, T]) Window(to []S, across, down Filter[T], x, y, w, h int, row func(y int) []S) {
	width := w * r.C
	first, _ := down.taps(y)
	last, weights := down.taps(y + h - 1)
	for i := first; i < last+len(weights); i++ {
		r.along(r.lines[(i-first)*width:][:width], row(i), across, x)
	}
	sums := r.sums[:width]
	for i := range h {
		begin, weights := down.taps(y + i)
		clear(sums)
		for k, w := range weights {
			for e, v := range r.lines[(begin-first+k)*width:][:width] {
				sums[e] += T(w * T(v))
			}
		}
		r.Round(to[i*width:][:width], sums)
	}
}

// along resizes a row. x is the first column of the result.
func (r *Resizer[S, T]) along(to, from []S, across Filter[T], x int) {
	sums, c := r.sums[:len(to)], r.C
	for i := range len(to) / c {
		first, weights := across.taps(x + i)
		switch at := from[c*first:][:c*len(weights)]; c {
		case 1:
			var sum T
			for k, w := range weights {
				sum += T(w * T(at[k]))
			}
			sums[i] = sum
		case 3:
			var red, green, blue T
			for k, w := range weights {
				p := at[3*k : 3*k+3 : 3*k+3]
				red, green, blue = red+T(w*T(p[0])), green+T(w*T(p[1])), blue+T(w*T(p[2]))
			}
			sums[3*i], sums[3*i+1], sums[3*i+2] = red, green, blue
		default:
			for channel := range c {
				var sum T
				for k, w := range weights {
					sum += T(w * T(at[k*c+channel]))
				}
				sums[i*c+channel] = sum
			}
		}
	}
	r.Round(to, sums)
}
