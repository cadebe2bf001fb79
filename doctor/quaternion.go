package doctor

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/text"
)

// The rules for quaternions.
const (
	normOff    = 2e-3 // distance of a length from 1 that is a fault; three decimals give up to 1e-3
	normLikely = 5e-3 // distance of a length from 1 up to which four columns are taken for a quaternion
	leastUnit  = 0.95 // share of the samples with such a length
	leastRows  = 20
)

// quaternions examines each group of four columns that is a unit quaternion, by declaration or by names and values. It returns the columns
// in these groups.
func (x *examiner) quaternions(s *dataset.Stream, v *values, t *tally) (found map[int]bool) {
	named := x.work.quaternionsByName(s)
	for lo := 0; lo+4 <= len(s.Columns); lo++ {
		declared := s.Columns[lo].Rotation
		is := declared != dataset.RotationNone && s.Columns[lo+3].Rotation == declared
		if !is && declared == dataset.RotationNone {
			is = slices.Contains(named, lo) && v.nearUnit(lo) || v.unit(s, t, lo)
		}
		if !is {
			continue
		}
		x.quaternion(s, v, lo)
		if found == nil {
			found = map[int]bool{}
		}
		for c := lo; c < lo+4; c++ {
			found[c] = true
		}
		lo += 3
	}
	return found
}

// nearUnit reports whether four columns with the names of a quaternion may be one, possibly scaled: most rows have a length from 0.5 to 2.
func (v *values) nearUnit(lo int) bool {
	n, near := 0, 0
	every := max(1, v.rows/500)
	for i := 0; i < v.rows; i += every {
		if norm := v.norm(i, lo); norm > 0 {
			if n++; norm > 0.5 && norm < 2 {
				near++
			}
		}
	}
	return n > 0 && 10*near >= 9*n
}

// unit reports whether the four columns from lo on are a quaternion by their values alone: their length is 1 in nearly all rows, at least
// two of them change, and they are not a one-hot choice.
func (v *values) unit(s *dataset.Stream, t *tally, lo int) bool {
	moving, squares := 0, 0.0
	for c := lo; c < lo+4; c++ {
		k := &t.columns[c]
		if s.Columns[c].Integer || s.Columns[c].Rotation != dataset.RotationNone || k.bad > 0 {
			return false
		}
		if k.max > k.min {
			moving++
		}
		squares += k.square + 2*k.shift*k.sum + float64(v.rows)*k.shift*k.shift
	}
	if v.rows < leastRows || moving < 2 {
		return false
	}
	const look = 500
	every := max(1, v.rows/look)
	if every == 1 && squares < 0.999*leastUnit*(1-normLikely)*(1-normLikely)*float64(v.rows) { // the sum over all rows is less than that of the rows that must be unit
		return false
	}
	seen, other, all := 0, 0, (v.rows+every-1)/every
	for i := 0; i < v.rows; i += every {
		seen++
		if s := v.square(i, lo); !(s >= (1-normLikely)*(1-normLikely) && s <= (1+normLikely)*(1+normLikely)) {
			if other++; float64(all-other) < leastUnit*float64(all) || seen > leastRows && float64(seen-other) < leastUnit/2*float64(seen) {
				return false
			}
		}
	}
	whole := 0
	for i := 0; i < v.rows; i += every {
		if !slices.ContainsFunc([]int{0, 1, 2, 3}, func(k int) bool { a := v.at(i, lo+k); return a != math.Trunc(a) }) {
			whole++
		}
	}
	return 2*whole < seen && !slices.ContainsFunc(s.Columns[lo:lo+4], func(c dataset.Column) bool { return recognise.NoQuaternion(c.Name) })
}

// square returns the sum of the squares of four columns.
func (v *values) square(row, lo int) float64 {
	if i := row*v.width + lo; v.f32 != nil {
		a, b, c, d := float64(v.f32[i]), float64(v.f32[i+1]), float64(v.f32[i+2]), float64(v.f32[i+3])
		return a*a + b*b + c*c + d*d
	}
	a, b, c, d := v.at(row, lo), v.at(row, lo+1), v.at(row, lo+2), v.at(row, lo+3)
	return a*a + b*b + c*c + d*d
}

func (v *values) norm(row, lo int) float64 {
	return math.Sqrt(v.square(row, lo))
}

// quaternion adds findings about samples with another length than 1, and about changes of sign, for the four columns from lo on.
func (x *examiner) quaternion(s *dataset.Stream, v *values, lo int) {
	var off, flips []int
	zeros, judged := 0, 0
	worst := 1.0
	var last [4]float64
	known := false
	for i := range v.rows {
		q := [4]float64{v.at(i, lo), v.at(i, lo+1), v.at(i, lo+2), v.at(i, lo+3)}
		norm := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
		if math.IsNaN(norm) || math.IsInf(norm, 0) {
			known = false
			continue
		}
		judged++
		if math.Abs(norm-1) > normOff {
			off = append(off, i)
			if norm == 0 {
				zeros++
			} else if math.Abs(norm-1) > math.Abs(worst-1) {
				worst = norm
			}
		}
		if known && q[0]*last[0]+q[1]*last[1]+q[2]*last[2]+q[3]*last[3] < 0 {
			flips = append(flips, i)
		}
		last, known = q, norm > 0
	}
	columns := []string{s.Columns[lo].Name, s.Columns[lo+1].Name, s.Columns[lo+2].Name, s.Columns[lo+3].Name}
	which := []int{lo, lo + 1, lo + 2, lo + 3}
	if len(off) > 0 && zeros < judged { // a message type may have fields that its publisher leaves 0
		why := fmt.Sprintf("%s of %d with a quaternion that is not of length 1", text.Count(len(off), "sample"), v.rows)
		if worst != 1 {
			why += fmt.Sprintf(", at worst of %s", short(worst))
		}
		if zeros > 0 {
			why += fmt.Sprintf("; %s 0, 0, 0, 0", text.Count(zeros, "is", "are"))
		}
		f := x.add(QuaternionNorm, s.Name, len(off), why+" ("+text.List(columns, mostNames)+")")
		x.show(f, s, v, which, off)
	}
	if turned := len(flips); turned > 0 {
		f := x.add(QuaternionFlip, s.Name, turned, fmt.Sprintf("the quaternion changes its sign %s, which is the same rotation written otherwise (%s)",
			text.Count(turned, "time"), text.List(columns, mostNames)))
		x.show(f, s, v, which, flips)
	}
}
