package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Damage is what a reader passed over because it was broken, of one kind.
type Damage struct {
	What  string       // in the plural: "data messages of a wrong length"
	Count int          // of these; 0 where only their bytes can be counted
	Bytes int64        // of the file that they take
	First *FormatError // the first of them
}

// String says what was lost: "data messages of a wrong length: 2, 38 bytes (first: ulog: byte 188: ...)".
func (d Damage) String() string {
	s := d.What
	if d.Count > 0 {
		s += fmt.Sprintf(": %d", d.Count)
	}
	if d.Bytes > 0 {
		s += fmt.Sprintf(", %d bytes", d.Bytes)
	}
	switch {
	case d.First == nil:
		return s
	case d.Count > 1:
		return s + " (first: " + d.First.Error() + ")"
	}
	return s + " (" + d.First.Error() + ")"
}

// Damages is the damage of a file, each kind once, in the order in which the kinds were found.
type Damages []Damage

// Add counts one thing more of a kind.
func (d *Damages) Add(what string, bytes int64, found *FormatError) {
	for i := range *d {
		if k := &(*d)[i]; k.What == what {
			k.Count++
			k.Bytes += bytes
			return
		}
	}
	*d = append(*d, Damage{what, 1, bytes, found})
}

// Join adds the damage of another part of the file, which comes after this.
func (d *Damages) Join(other Damages) {
	for _, o := range other {
		i := slices.IndexFunc(*d, func(k Damage) bool { return k.What == o.What })
		if i < 0 {
			*d = append(*d, o)
			continue
		}
		(*d)[i].Count += o.Count
		(*d)[i].Bytes += o.Bytes
	}
}

// Bytes returns the bytes of the file that were lost.
func (d Damages) Bytes() (sum int64) {
	for _, k := range d {
		sum += k.Bytes
	}
	return sum
}

// SetPath names the file in what was found.
func (d Damages) SetPath(path string) {
	for _, k := range d {
		if k.First != nil {
			k.First.Path = path
		}
	}
}

// String lists the damage.
func (d Damages) String() string {
	list := make([]string, len(d))
	for i, k := range d {
		list[i] = k.String()
	}
	return strings.Join(list, "; ")
}

// AsDamage returns an error as what Damage keeps of it, and false if it is none of a broken file: what is not supported is not broken.
func AsDamage(err error) (*FormatError, bool) {
	var bad *FormatError
	if !errors.As(err, &bad) || errors.Is(err, ErrUnsupported) {
		return nil, false
	}
	return bad, true
}

// Notes returns a note for each kind of damage.
func (d Damages) Notes() (notes Notes) {
	for _, k := range d {
		notes = append(notes, Note{Code: "lost", Detail: Detail{Cause: errors.New(k.String())}})
	}
	return notes
}
