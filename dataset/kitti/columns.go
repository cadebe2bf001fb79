package kitti

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// layouts are the columns of the files that are known: bare points; KITTI, SemanticKITTI and most others; nuScenes; with the time within the sweep.
var layouts = [][]string{
	{"x", "y", "z"},
	{"x", "y", "z", "intensity"},
	nuScenes,
	{"x", "y", "z", "intensity", "ring", "time"},
}

var nuScenes = []string{"x", "y", "z", "intensity", "ring"}

// Plausible ranges of columns. A lidar sees some hundred metres, and a map of many scans is smaller than 10 km. Intensity is a
// fraction, a byte or a 16-bit number. Rings number the lasers, at most 128 so far. Times are seconds relative to a moment within
// the sweep.
const (
	maxCoordinate = 10_000
	maxIntensity  = 1<<16 - 1
	maxRing       = 127
	maxTime       = 10
)

// isNumber returns false for NaN, infinities, and tiny numbers, which are whole numbers or halves of doubles read as float32.
func isNumber(v, limit float64) bool {
	return v == 0 || math.Abs(v) > 1e-30 && math.Abs(v) <= limit
}

// looksLike reports whether a number may be in a column of that name.
func looksLike(name string, v float64) bool {
	switch name {
	case "intensity":
		return v >= 0 && isNumber(v, maxIntensity)
	case "ring":
		return v >= 0 && v <= maxRing && v == math.Trunc(v)
	case "time":
		return isNumber(v, maxTime)
	}
	return isNumber(v, maxCoordinate)
}

// fits reports whether the numbers may be whole points with these columns. Points without an echo, with NaN in x, y and z, do not
// count.
func fits(data []byte, names []string) bool {
	size := 4 * len(names)
	if len(data)%size != 0 {
		return false
	}
	for ; len(data) > 0; data = data[size:] {
		if x, y, z := number(data, 0), number(data, 1), number(data, 2); x != x && y != y && z != z {
			continue
		}
		for i, name := range names {
			if !looksLike(name, number(data, i)) {
				return false
			}
		}
	}
	return true
}

// passes reports whether a time passes in the last column: it grows, and goes back less than once in ten points, as where a laser's points end.
func passes(data []byte, width int) bool {
	points, forth, back, last := 0, 0, 0, math.NaN()
	for ; len(data) >= 4*width; data = data[4*width:] {
		t := number(data, width-1)
		if x := number(data, 0); x != x {
			continue
		}
		points++
		if t > last {
			forth++
		}
		if t < last {
			back++
		}
		last = t
	}
	return forth > 0 && 10*back < points
}

func number(data []byte, i int) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
}

// find guesses the columns of a file: the one layout that fits its numbers, and with a width that explains them better than any
// other. The error names the possible layouts.
func find(data []byte) ([]string, error) {
	if len(data) == 0 { // no points, of whichever columns
		return layouts[1], nil
	}
	var possible, sure [][]string
	w := weigh(data)
	for _, names := range layouts {
		if fits(data, names) {
			possible = append(possible, names)
		}
	}
	for _, names := range possible {
		if w.confirms(len(names), len(data)/4) && (!slices.Contains(names, "time") || passes(data, len(names))) {
			sure = append(sure, names)
		}
	}
	if len(sure) == 1 {
		return sure[0], nil
	}
	return nil, unknown(data, possible)
}

// unknown returns the error for a file with unknown columns, with the possible layouts.
func unknown(data []byte, possible [][]string) error {
	got, list := fmt.Sprintf("%d bytes that may be ", len(data)), []string{}
	for _, names := range possible {
		list = append(list, fmt.Sprintf("%d points of %s", len(data)/4/len(names), strings.Join(names, ",")))
	}
	if possible != nil {
		list = append(list, "of columns that are not known here")
	}
	if possible == nil {
		got = fmt.Sprintf("%d bytes that do not look like whole points of ", len(data))
		for _, names := range layouts {
			list = append(list, strings.Join(names, ","))
		}
	}
	return &dataset.FormatError{Format: "kitti", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "columns", Got: got + strings.Join(list, " or "),
		Want: "the names of the columns"}
}
