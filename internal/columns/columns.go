package columns

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// Find returns the indices of the columns that an entry names: a name, an array's name, or a range without its end.
func Find(cols []dataset.Column, entry string) []int {
	var list []int
	for i, c := range cols {
		if c.Name == entry {
			list = append(list, i) // names may come twice
		}
	}
	if len(list) > 0 {
		return list
	}
	if lo, hi, ok := strings.Cut(entry, ":"); ok {
		a, errA := strconv.Atoi(lo)
		b, errB := strconv.Atoi(hi)
		if errA != nil || errB != nil || a < 0 || b <= a || b > len(cols) {
			return nil
		}
		for i := a; i < b; i++ {
			list = append(list, i)
		}
		return list
	}
	for i, c := range cols {
		if strings.HasPrefix(c.Name, entry+"[") || strings.HasPrefix(c.Name, entry+".") {
			list = append(list, i)
		}
	}
	return list
}

func Names(cols []dataset.Column) []string {
	return (&dataset.Stream{Columns: cols}).ColumnNames()
}

// RotationAt returns the rotation that begins at column i, if all its columns are there.
func RotationAt(cols []dataset.Column, i int) dataset.Rotation {
	r := cols[i].Rotation
	n := r.Width()
	if n == 0 || i+n > len(cols) {
		return dataset.RotationNone
	}
	for _, c := range cols[i : i+n] {
		if c.Rotation != r || c.Integer {
			return dataset.RotationNone
		}
	}
	if base, ok := strings.CutSuffix(cols[i].Name, "[0]"); ok && cols[i+n-1].Name != fmt.Sprintf("%s[%d]", base, n-1) {
		return dataset.RotationNone
	}
	return r
}

// Repeated returns the first name that a list has a second time.
func Repeated(names []string) (name string, found bool) {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return name, true
		}
		seen[name] = true
	}
	return "", false
}

// NoColumn returns an entry that names none of the columns, with a similar name if there is one, and the entries that do.
func NoColumn(cols []dataset.Column, entry string) (got, want string) {
	names := Names(cols)
	return fmt.Sprintf("column %q", entry) + text.DidYouMean(entry, names), fmt.Sprintf("one of %s, or a range within 0:%d", text.Closest(entry, names), len(cols))
}
