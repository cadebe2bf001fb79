package pcd

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/tensor"
)

// entry is a line of the header.
type entry struct {
	offset int64
	line   int
	words  []string // after the keyword
}

func (e entry) fail(kind error, msg, got, want string) error {
	return &dataset.FormatError{Format: "pcd", Offset: e.offset, Line: e.line, Kind: kind, Msg: msg, Got: got, Want: want}
}

// keywords of a header. COLUMNS is version 0.5's name for FIELDS.
var keywords = []string{"VERSION", "FIELDS", "COLUMNS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA"}

// header describes the content of a file.
type header struct {
	encoding      string
	width, height int
	view          dataset.Viewpoint
	fields        []records.Field // one a number of a record
	counts        []int           // numbers of each FIELDS entry that has any, for the columns of compressed data
	record        int             // bytes
	padding       int             // numbers of fields named "_"
	size          int             // bytes before the data
	line          int             // the data's first
}

// readHeader reads up to the line DATA.
func readHeader(data []byte) (*header, error) {
	entries := map[string]entry{}
	h := &header{view: dataset.Identity, line: 1}
	lineEnd := records.LineEnd(data)
	for h.encoding == "" {
		rest := data[h.size:]
		end := bytes.IndexByte(rest, lineEnd)
		if end < 0 {
			return nil, &dataset.FormatError{Format: "pcd", Offset: int64(len(data)), Line: h.line, Kind: dataset.ErrTruncated, Msg: "header", Want: "a line DATA"}
		}
		words := strings.Fields(string(rest[:min(end, maxLine)]))
		e := entry{offset: int64(h.size), line: h.line}
		h.size, h.line = h.size+end+1, h.line+1
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		e.words = words[1:]
		written := words[0]
		words[0] = strings.ToUpper(written)
		switch key := words[0]; {
		case !slices.Contains(keywords, key):
			return nil, e.fail(dataset.ErrCorrupt, "header", records.Quote(written), "one of "+strings.Join(keywords, ", "))
		case end > maxLine:
			return nil, e.fail(dataset.ErrTooLarge, "header line", fmt.Sprintf("%d bytes", end), fmt.Sprintf("at most %d", maxLine))
		case key == "COLUMNS":
			words[0] = "FIELDS"
		case key == "DATA":
			h.encoding = strings.ToLower(strings.Join(e.words, " "))
			if !slices.Contains([]string{"ascii", "binary", "binary_compressed"}, h.encoding) {
				return nil, e.fail(dataset.ErrUnsupported, "DATA", records.Quote(strings.Join(e.words, " ")), "ascii, binary or binary_compressed")
			}
		}
		if _, twice := entries[words[0]]; twice {
			return nil, e.fail(dataset.ErrCorrupt, "header", words[0]+" twice", "each line once")
		}
		entries[words[0]] = e
	}
	if v, ok := entries["VERSION"]; ok && !slices.Contains([]string{".5", ".6", ".7", "0.5", "0.6", "0.7"}, strings.Join(v.words, " ")) {
		return nil, v.fail(dataset.ErrUnsupported, "VERSION", records.Quote(strings.Join(v.words, " ")), "0.5, 0.6 or 0.7")
	}
	if err := h.layout(entries); err != nil {
		return nil, err
	}
	if err := h.shape(entries); err != nil {
		return nil, err
	}
	return h, h.viewpoint(entries)
}

// maxLine is how long a header's line may be: room for MaxFields names.
const maxLine = 1 << 18

var types = map[string]records.Scalar{
	"I1": records.I8, "I2": records.I16, "I4": records.I32, "I8": records.I64,
	"U1": records.U8, "U2": records.U16, "U4": records.U32, "U8": records.U64,
	"F4": records.F32, "F8": records.F64,
}

// layout works out the fields. Without SIZE, TYPE and COUNT they are float32, once each.
func (h *header) layout(entries map[string]entry) error {
	names, ok := entries["FIELDS"]
	if !ok || len(names.words) == 0 {
		return entry{offset: -1}.fail(dataset.ErrCorrupt, "header", "no FIELDS", "the names of the fields")
	}
	word := func(key string, i int, def string) (string, entry, error) {
		e, ok := entries[key]
		if !ok {
			return def, names, nil
		}
		if len(e.words) != len(names.words) {
			return "", e, e.fail(dataset.ErrCorrupt, key, fmt.Sprintf("%d words", len(e.words)), fmt.Sprintf("%d, one a field", len(names.words)))
		}
		return e.words[i], e, nil
	}
	for i, name := range names.words {
		size, at, err := word("SIZE", i, "4")
		if err != nil {
			return err
		}
		letter, typed, err := word("TYPE", i, "F")
		if err != nil {
			return err
		}
		if _, ok := entries["TYPE"]; ok {
			at = typed
		}
		typ := strings.ToUpper(letter) + size
		scalar := types[typ]
		if scalar == 0 {
			return at.fail(dataset.ErrUnsupported, "field "+records.Quote(name), "TYPE "+records.Quote(letter)+" of SIZE "+records.Quote(size), "I or U of 1, 2, 4 or 8, or F of 4 or 8")
		}
		text, at, err := word("COUNT", i, "1")
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(text)
		if err != nil || count < 0 {
			return at.fail(dataset.ErrCorrupt, "COUNT of "+records.Quote(name), records.Quote(text), "a whole number that is not negative")
		}
		if count == 0 {
			continue // it takes no room
		}
		if count > records.MaxFields-len(h.fields) {
			return at.fail(dataset.ErrTooLarge, "COUNT of "+records.Quote(name), text, fmt.Sprintf("at most %d numbers a point", records.MaxFields))
		}
		f := records.Field{Name: name, Type: typ, Scalar: scalar, Skip: name == "_"}
		if f.Skip {
			h.padding += count
		}
		if count == 1 {
			f.Pack()
		}
		for k := range count {
			if count > 1 {
				f.Name = fmt.Sprintf("%s[%d]", name, k)
			}
			h.fields = append(h.fields, f)
		}
		h.counts = append(h.counts, count)
		h.record += count * scalar.Size()
	}
	if h.record == 0 {
		return entries["COUNT"].fail(dataset.ErrUnsupported, "COUNT", "0 of every field", "x, y and z")
	}
	return nil
}

// shape works out how many points there are, and holds WIDTH, HEIGHT and POINTS against each other.
func (h *header) shape(entries map[string]entry) error {
	get := func(key string) (int, bool, error) {
		e, ok := entries[key]
		if !ok {
			return 0, false, nil
		}
		if len(e.words) == 1 {
			if n, err := strconv.Atoi(e.words[0]); err == nil && n >= 0 && n <= math.MaxUint32 {
				return n, true, nil
			}
		}
		return 0, false, e.fail(dataset.ErrCorrupt, key, records.Quote(strings.Join(e.words, " ")), "a whole number from 0 to 2^32-1")
	}
	width, haveWidth, err := get("WIDTH")
	if err != nil {
		return err
	}
	height, haveHeight, err := get("HEIGHT")
	if err != nil {
		return err
	}
	points, havePoints, err := get("POINTS")
	if err != nil {
		return err
	}
	if !haveHeight {
		height = 1
	}
	switch {
	case haveWidth:
	case havePoints && height == 1:
		width = points
	default:
		return entry{offset: -1}.fail(dataset.ErrCorrupt, "header", "no WIDTH", "WIDTH and HEIGHT, or POINTS")
	}
	n, err := tensor.NumElements(width, height)
	if err != nil {
		return entries["WIDTH"].fail(dataset.ErrTooLarge, "WIDTH and HEIGHT", fmt.Sprintf("%d x %d", width, height), "fewer points")
	}
	if havePoints && points != n {
		return entries["POINTS"].fail(dataset.ErrCorrupt, "POINTS", strconv.Itoa(points), fmt.Sprintf("%d, WIDTH times HEIGHT", n))
	}
	h.width, h.height = width, height
	return nil
}

func (h *header) viewpoint(entries map[string]entry) error {
	e, ok := entries["VIEWPOINT"]
	if !ok {
		return nil
	}
	var v [7]float64
	if len(e.words) != len(v) {
		return e.fail(dataset.ErrCorrupt, "VIEWPOINT", fmt.Sprintf("%d numbers", len(e.words)), "7: tx ty tz qw qx qy qz")
	}
	for i, w := range e.words {
		f, err := decimal.ParseFloat(w, 64)
		if err != nil {
			return e.fail(dataset.ErrCorrupt, "VIEWPOINT", records.Quote(w), "a number")
		}
		v[i] = f
	}
	h.view = dataset.Viewpoint{Position: [3]float64(v[:3]), Orientation: [4]float64(v[3:])}
	return nil
}
