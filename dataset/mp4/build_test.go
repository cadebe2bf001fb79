package mp4

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// movie is a file with a video track of parts that a test chooses. Its media lies before moov, from byte 24 on.
type movie struct {
	media            []byte
	movie, scale     uint32 // ticks a second
	entry            string // the four letters
	extra            []byte // behind the fixed part of the description
	dref             []byte
	tables           [][]byte
	elst             []byte
	mvex, other      []byte
	mdatSize, handle string
}

// newMovie has four frames of 10 bytes, in two chunks.
func newMovie() *movie {
	return &movie{
		media: bytes.Repeat([]byte("0123456789"), 4), movie: 1000, scale: 100, entry: "avc1", dref: atom("url ", words(1)), handle: "vide",
		tables: [][]byte{
			atom("stts", words(0, 1, 4, 10)), atom("stsc", words(0, 1, 1, 2, 1)), atom("stsz", words(0, 0, 4, 10, 10, 10, 10)), atom("stco", words(0, 2, 24, 44)),
		},
	}
}

// with replaces the table of the kind, or of the other kind that says the same, or adds it.
func (m *movie) with(kind string, body ...uint32) *movie {
	same := map[string]string{"stz2": "stsz", "co64": "stco"}[kind]
	m.tables = slices.DeleteFunc(m.tables, func(b []byte) bool { return string(b[4:8]) == kind || string(b[4:8]) == same })
	m.tables = append(m.tables, atom(kind, words(body...)))
	return m
}

func (m *movie) edit(version uint32, body ...uint32) *movie {
	m.elst = atom("edts", atom("elst", words(version<<24), words(body...)))
	return m
}

func (m *movie) bytes() []byte {
	fixed := make([]byte, visualHead-8)
	binary.BigEndian.PutUint16(fixed[6:], 1)
	binary.BigEndian.PutUint16(fixed[24:], 64)
	binary.BigEndian.PutUint16(fixed[26:], 48)
	stsd := atom("stsd", words(0, 1), atom(m.entry, fixed, m.extra))
	stbl := atom("stbl", append([][]byte{stsd}, m.tables...)...)
	minf := atom("minf", atom("dinf", atom("dref", words(0, 1), m.dref)), stbl)
	mdia := atom("mdia", atom("mdhd", words(0, 0, 0, m.scale, 40, 0)), atom("hdlr", words(0, 0), []byte(m.handle), make([]byte, 13)), minf)
	moov := atom("moov", atom("mvhd", words(0, 0, 0, m.movie, 0), make([]byte, 80)), m.other, atom("trak", m.elst, mdia), m.mvex)
	mdat := atom("mdat", m.media)
	switch m.mdatSize {
	case "64 bits":
		mdat = slices.Concat(words(1), []byte("mdat"), binary.BigEndian.AppendUint64(nil, uint64(16+len(m.media))), m.media)
	case "to the end":
		return slices.Concat(atom("ftyp", []byte("isom"), words(0)), moov, words(0), []byte("mdat"), m.media)
	}
	return slices.Concat(atom("ftyp", []byte("isom"), words(0)), mdat, moov)
}

func (m *movie) track() (*Track, error) {
	data := m.bytes()
	f, err := NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return f.Video()
}

func (m *movie) must(t *testing.T) *Track {
	t.Helper()
	v, err := m.track()
	require.NoError(t, err)
	return v
}

// where returns the places of the frames in the order in which they are shown.
func where(v *Track) (list []int64) {
	for _, i := range v.order {
		list = append(list, v.samples[i].at)
	}
	return list
}
