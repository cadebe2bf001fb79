package nvdec

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/nvdectest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/picture"
)

// Offsets in CUVIDPICPARAMS: the reference lists of both codecs.
const (
	entries, entrySize = picture.Codec + 104, 28 // CUVIDH264DPBENTRY[16]
	reservedFrom       = picture.IsIntra + 4
	fmoFlags           = picture.Codec + 104 + 16*28 + 6*16 + 2*64 + 8 + 8
	slotSurfaces       = picture.Codec + 252
	listLengths        = picture.Codec + 236
	lists              = picture.Codec + 396
)

// references returns the surfaces to which a picture may refer.
func references(codec string, p *picture.Params) (list []int) {
	if codec == "h264" {
		for at := entries; at < entries+16*entrySize; at += entrySize {
			if s := p.Int(at); s >= 0 {
				list = append(list, s)
			}
		}
		return list
	}
	for i := range 3 {
		for j := range p.Int(listLengths + 4*i) {
			list = append(list, p.Int(slotSurfaces+4*int(p[lists+8*i+j])))
		}
	}
	return list
}

// comparable returns parameters with packets instead of surfaces, and without fields that the driver's parser fills at will. H.264's
// references are sorted, because the decoder makes its lists from their numbers.
func comparable(codec string, p picture.Params, holds map[int]int) picture.Params {
	clear(p[picture.DataSize:][:4])
	clear(p[picture.DataAddress:][:8])
	clear(p[picture.SliceAddress:][:8])
	clear(p[reservedFrom:picture.Codec])
	put := func(at int) {
		if s := p.Int(at); s >= 0 {
			p.Put(at, holds[s])
		}
	}
	put(picture.Surface)
	if codec == "hevc" {
		for i := range 16 {
			put(slotSurfaces + 4*i)
		}
		return p
	}
	clear(p[fmoFlags+4:][:44])
	var list [][]byte
	for at := entries; at < entries+16*entrySize; at += entrySize {
		put(at)
		list = append(list, slices.Clone(p[at:][:entrySize]))
	}
	slices.SortFunc(list, slices.Compare)
	copy(p[entries:], slices.Concat(list...))
	return p
}

// isWide reports whether a stream has more than 320 columns, so that its pictures take most of a test's time.
func isWide(s *videotest.Stream) bool { return binary.LittleEndian.Uint32(s.Formats[0][16:]) > 320 }

// Each picture comes in decoding order with its number, its visible part and its bits. The engine gets the parameters that the driver's own
// parser makes.
func TestPicturesOfAllStreams(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for name, s := range streams(t, "h") {
		if !thorough.Long && isWide(s) && name != "h264_size_1080" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			codec, queued := codecOf(name), 0
			ours, theirs := map[int]int{}, map[int]int{}
			b := newBench(t, func(l *nvdectest.Library) {
				l.Decode = func(p nvdectest.Picture) {
					want := s.Pictures[queued]
					ours[p.Params.Int(picture.Surface)], theirs[want.Params.Int(picture.Surface)] = queued, queued
					a, b := comparable(codec, p.Params, ours), comparable(codec, want.Params, theirs)
					for at := range a {
						if a[at] != b[at] {
							t.Errorf("packet %d: byte %d of the parameters is %d, want %d", queued, at, a[at], b[at])
						}
					}
					assert.Equal(t, nvdectest.Hash(s.Packets[queued]), nvdectest.Hash(p.Data))
					assert.Len(t, p.Slices, len(want.Slices))
					queued++
				}
			})
			d := b.open(codec, nil)
			next := int64(0)
			show := func(number int64, p *video.Planes, err error) error {
				require.NoError(t, err)
				require.Equal(t, 1000+next, number)
				checkPicture(t, p, formatOf(s.Formats[0]), s.Packets[next])
				next++
				return nil
			}
			for i, packet := range s.Packets {
				require.NoError(t, d.Decode(packet, 1000+int64(i), show))
			}
			require.NoError(t, d.Flush(show))
			require.NoError(t, d.Close())
			assert.EqualValues(t, len(s.Packets), next)
			assert.Equal(t, len(s.Packets), queued)
			for i, ahead := range b.fake.Ahead() {
				assert.Equal(t, min(delay, len(s.Packets)-1-i), ahead, "pictures that the engine has when picture %d is read", i)
			}
		})
	}
}

// Streams by kvazaar and in recordings are decoded, too. An H200 decodes them in TestFramesOnAGPU.
func TestPicturesOfPlainStreams(t *testing.T) {
	b := newBench(t, nil)
	for name, s := range videotest.Plain(t) {
		a := decode(t, b.open(s.Codec(), nil), s.Packets[:min(len(s.Packets), thorough.Of(200, 2000))])
		for number, err := range a {
			require.NoError(t, err, "%s: packet %d", name, number)
		}
	}
}

// request is a picture that is wanted, and the packet where decoding begins.
type request struct {
	stream      *videotest.Stream
	start, want int
}

// decodable reports whether a picture's references are there, and theirs, if decoding begins at start. H.264's parameters name all pictures
// that are kept, of which a slice may use some.
func (r request) decodable() bool {
	holds, ok := map[int]int{}, make([]bool, r.want+1)
	for i := range r.want + 1 {
		p := &r.stream.Pictures[i].Params
		ok[i] = i >= r.start
		for _, s := range references(codecOf(r.stream.Name), p) {
			ok[i] = ok[i] && holds[s] >= r.start && ok[holds[s]]
		}
		ok[i] = ok[i] || i >= r.start && p.Int(picture.IsIntra) != 0
		holds[p.Int(picture.Surface)] = i
	}
	return ok[r.want]
}

// A picture is the same if decoding begins at any key frame before it. Otherwise the reason is given, never another picture.
func TestRandomAccess(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	all := streams(t, "h")
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return !thorough.Long && isWide(all[name]) })
	b := newBench(t, nil)
	sequence := map[string][]uint64{}
	for _, name := range names {
		d := b.open(codecOf(name), nil)
		show := func(number int64, p *video.Planes, err error) error {
			sequence[name] = append(sequence[name], digest(p))
			return err
		}
		for i, packet := range all[name].Packets {
			require.NoError(t, d.Decode(packet, int64(i), show))
		}
		require.NoError(t, d.Flush(show))
		require.NoError(t, d.Close())
	}
	random := rand.New(rand.NewPCG(5, 8))
	open, created, undecodable := len(b.device.Leaks()), b.fake.Created(), 0
	for range thorough.Of(120, 10000) {
		r := request{stream: all[names[random.IntN(len(names))]]}
		for r.start = random.IntN(len(r.stream.Packets)); r.stream.Pictures[r.start].Params.Int(picture.IsIntra) == 0; r.start-- {
		}
		r.want = min(r.start+random.IntN(24), len(r.stream.Packets)-1)
		name, shown, because := r.stream.Name, 0, error(nil)
		d := b.open(codecOf(name), nil)
		show := func(number int64, p *video.Planes, err error) error {
			if number == int64(r.want) {
				shown++
				if because = err; err == nil {
					require.Equal(t, sequence[name][r.want], digest(p), "%s from %d to %d", name, r.start, r.want)
				}
			}
			return nil
		}
		require.NoError(t, d.Decode(seek(r.stream, r.start), int64(r.start), show))
		for i := r.start + 1; i <= r.want; i++ {
			require.NoError(t, d.Decode(r.stream.Packets[i], int64(i), show))
		}
		require.NoError(t, d.Flush(show))
		require.NoError(t, d.Close())
		require.Equal(t, 1, shown)
		if r.decodable() {
			require.NoError(t, because, "%s from %d to %d", name, r.start, r.want)
		} else if because != nil || codecOf(name) == "hevc" {
			require.ErrorIs(t, because, video.ErrUndecodable, "%s from %d to %d", name, r.start, r.want)
			undecodable++
		}
	}
	assert.Positive(t, undecodable)
	assert.Len(t, b.device.Leaks(), open)
	assert.Equal(t, created, b.fake.Created(), "decoders are used again")
}
