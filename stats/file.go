package stats

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/summary"
)

// magic is the beginning of the file of a state.
const magic = "robocache stats 1\n"

// ErrState is returned if a file is not a state, or is cut.
var ErrState = errors.New("not the state of statistics, as robocache stats --shard writes it, or not whole")

// header is the JSON of a state's file, before the accumulators of its streams.
type header struct {
	about
	Number  int
	Streams []streamAbout
}

// WriteTo writes the state: a line that identifies the format, the length of a JSON object and the object, the counts for each
// stream, and a SHA-256 over all of it. The file contains no values, except for columns where few values share the bits that decide
// a quantile; see [Accumulator].
func (s *State) WriteTo(w io.Writer) (int64, error) {
	h := header{about: s.about, Number: s.number}
	list := s.streams()
	for _, own := range list {
		h.Streams = append(h.Streams, own.streamAbout)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	b := append(binary.AppendUvarint([]byte(magic), uint64(len(text))), text...)
	for _, own := range list {
		b = own.acc.exact.AppendBinary(b)
	}
	sum := sha256.Sum256(b)
	n, err := w.Write(append(b, sum[:]...))
	return int64(n), err
}

// Read reads a state from a file. If the file is not a state, the error is [ErrState].
func Read(path string) (*State, error) {
	b, err := fault.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func parse(b []byte) (*State, error) {
	body, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok || len(body) < sha256.Size {
		return nil, ErrState
	}
	sum := sha256.Sum256(b[:len(b)-sha256.Size])
	if !bytes.Equal(sum[:], b[len(b)-sha256.Size:]) {
		return nil, ErrState
	}
	body = body[:len(body)-sha256.Size]
	n, size := binary.Uvarint(body)
	if size <= 0 || n > uint64(len(body)-size) {
		return nil, ErrState
	}
	var h header
	if err := json.Unmarshal(body[size:size+int(n)], &h); err != nil {
		return nil, ErrState
	}
	if h.Number < -1 || h.Shards < 0 || !slices.IsSorted(h.Have) || len(slices.Compact(slices.Clone(h.Have))) < len(h.Have) ||
		len(h.Have) > 0 && (h.Have[0] < 0 || h.Have[len(h.Have)-1] >= max(1, h.Shards)) {
		return nil, ErrState
	}
	rest := body[size+int(n):]
	s := &State{about: h.about, number: h.Number, by: map[string]*stream{}}
	for _, about := range h.Streams {
		exact, left, err := summary.ReadExact(rest)
		if err != nil || exact.Width() != len(about.Columns) || exact.Wide() != about.F64 || s.by[about.key()] != nil || !about.Binned.fits(len(about.Columns)) {
			return nil, ErrState
		}
		rest = left
		s.by[about.key()] = &stream{about, &Accumulator{exact, exact.Width(), exact.Wide()}}
	}
	if len(rest) > 0 {
		return nil, ErrState
	}
	return s, nil
}
