package all_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// replacement is a file of a recording with one element replaced.
type replacement struct {
	what, file string
	data       []byte
	legal      bool                        // the bytes are a recording of other values, so that only the times are compared
	rows       bool                        // the bytes are a recording with one stream of fewer rows, which a layout of T+1 states or several rates allows
	one        func(element string) string // returns the same of all elements that may be missing; nil for no rule
}

// timesOnly returns a content without its values.
func (c content) timesOnly() content {
	times := map[string]int{}
	for name, n := range c.elements {
		times[name[:strings.LastIndexByte(name, ':')]] += n
	}
	c.elements = times
	return c
}

// withoutTheStreamOf returns a content without the stream that has the first element missing in a part.
func (c content) withoutTheStreamOf(part content) content {
	for name, n := range c.elements {
		if part.elements[name] < n {
			stream, _, _ := strings.Cut(name, "@")
			c.elements = maps.Clone(c.elements)
			maps.DeleteFunc(c.elements, func(name string, _ int) bool { return strings.HasPrefix(name, stream+"@") })
			return c
		}
	}
	return c
}

// timeOf and streamOf are parts of an element's name.
func timeOf(element string) string {
	return element[strings.IndexByte(element, '@'):strings.LastIndexByte(element, ':')]
}

func streamOf(element string) string { return element[:strings.IndexByte(element, '@')] }

// alone returns an error if a part lacks elements that differ in the result of a function, or has an episode that cannot be read.
func (c content) alone(part content, of func(element string) string) error {
	lost := map[string]bool{}
	for name, n := range c.elements {
		if part.elements[name] < n {
			lost[of(name)] = true
		}
	}
	if len(lost) > 1 || len(part.errs) > 0 {
		return fmt.Errorf("%d of %d elements: %v, %v", part.count, c.count, lost, part.errs)
	}
	return nil
}

// An element is replaced by nothing, by two copies, or by one with another size. Either a note counts it and all others are read, or the error has a type.
func TestAReplacedElementIsNotedOrAnError(t *testing.T) {
	replaced := map[string]func(name string, data []byte) []replacement{
		"rlds": func(name string, data []byte) []replacement {
			return append(replacedRecords(name, data), replacedFeatures(name, data)...)
		},
		"rosbag/testdata/small-none.bag": replacedMessages, "rosbag2/testdata/plain.db3": replacedBlobs,
		"calvin": replacedFrames, "aloha/testdata/jpeg.hdf5": replacedShapes, "hdf5/plain/testdata/several.hdf5": replacedShapes,
		"hdf5/plain/testdata/layouts/rates.hdf5": replacedShapes, "isaaclab/testdata/demos.hdf5": replacedShapes, "robomimic/testdata/kinds.hdf5": replacedShapes,
	}
	for _, s := range sweeps(t) {
		of := replaced[s.name]
		if of == nil {
			continue
		}
		delete(replaced, s.name)
		t.Run(s.name, func(t *testing.T) {
			root, open := s.lay(t)
			whole, err := s.read(t.Context(), open)
			require.NoError(t, err)
			tried := 0
			for _, name := range slices.Sorted(maps.Keys(s.files)) {
				to := filepath.Join(root, filepath.FromSlash(name))
				for _, r := range of(name, s.files[name]) {
					filetest.Write(t, to, r.data)
					part, err := s.read(t.Context(), open)
					if want := whole; err == nil {
						if r.legal {
							want, part = whole.timesOnly(), part.timesOnly()
						} else if r.rows {
							want = whole.withoutTheStreamOf(part)
						}
						err = s.compare(want, part)
						if err == nil && r.one != nil {
							err = whole.alone(part, r.one)
						}
					}
					if err != nil {
						t.Errorf("%s, %s: %v", name, r.what, err)
					}
					tried++
				}
				filetest.Write(t, to, s.files[name])
			}
			require.NotZero(t, tried)
		})
	}
	require.Empty(t, replaced)
}

// others are the forms of an element that replace it.
func others(b []byte) map[string][]byte {
	return map[string][]byte{"empty": nil, "doubled": slices.Concat(b, b), "short": b[:len(b)*2/3], "long": append(bytes.Clone(b), make([]byte, 9)...)}
}

// replacedRecords replaces each record in a TFRecord file, with right checksums.
func replacedRecords(name string, data []byte) (list []replacement) {
	if !strings.Contains(name, "tfrecord") {
		return nil
	}
	for at := 0; at < len(data); {
		end := at + 16 + int(binary.LittleEndian.Uint64(data[at:]))
		for what, with := range others(data[at+12 : end-4]) {
			list = append(list, replacement{what: what, file: name, data: slices.Concat(data[:at], tfRecord(with), data[end:])})
		}
		at = end
	}
	return list
}

// tfRecord is a record with its length and its checksums.
func tfRecord(data []byte) []byte {
	sum := func(b []byte) []byte {
		c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
		return binary.LittleEndian.AppendUint32(nil, (c>>15|c<<17)+0xa282ead8)
	}
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	return slices.Concat(head, sum(head), data, sum(data))
}

// replacedFrames replaces a frame's file.
func replacedFrames(name string, data []byte) (list []replacement) {
	if !strings.HasPrefix(path.Base(name), "episode_") {
		return nil
	}
	for what, with := range others(data) {
		list = append(list, replacement{what: what, file: name, data: with})
	}
	return list
}

// replacedShapes replaces, in the version 1 object header of each HDF5 dataset, the number of rows and then the other dimensions.
func replacedShapes(name string, data []byte) (list []replacement) {
	for at := 0; at+32 <= len(data); at += 8 {
		rank := int(data[at+9])
		dataspace := binary.LittleEndian.Uint16(data[at:]) == 1 && data[at+8] == 1 && data[at+10] <= 1 && rank > 0 && rank < 5
		if size := int(binary.LittleEndian.Uint16(data[at+2:])); !dataspace || size < 8+8*rank || size > 8+16*rank+8 || at+16+8*rank > len(data) {
			continue
		}
		for d := range rank {
			n := binary.LittleEndian.Uint64(data[at+16+8*d:])
			for what, with := range map[string]uint64{"empty": 0, "doubled": 2 * n, "short": n - min(n, 1), "long": n + 1} {
				b := bytes.Clone(data)
				binary.LittleEndian.PutUint64(b[at+16+8*d:], with)
				list = append(list, replacement{what: fmt.Sprint(what, " ", at, " ", d), file: name, data: b, legal: d > 0 && with > 0, rows: d == 0})
			}
		}
	}
	return list
}
