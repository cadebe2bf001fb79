package nvdec

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video/bitstream"
)

// damaged flips bits in a slice's data, behind the header. at is the packet.
func damaged(s *videotest.Stream, seed uint64) (at int, packets [][]byte) {
	const header = 20
	random := rand.New(rand.NewPCG(seed, 9))
	packets = slices.Clone(s.Packets)
	for {
		at = random.IntN(len(packets))
		packet, list := slices.Clone(packets[at]), [][]byte(nil)
		for unit := range bitstream.Units(packet, 0) {
			slice := unit[0]&31 <= 5
			if s.Codec() == "hevc" {
				slice = unit[0]>>1 < 32
			}
			if slice && len(unit) > header+4 {
				list = append(list, unit[header:])
			}
		}
		if len(list) > 0 {
			data := list[random.IntN(len(list))]
			for range 1 + random.IntN(3) {
				data[random.IntN(len(data))] ^= 1 << random.IntN(8)
			}
			packets[at] = packet
			return at, packets
		}
	}
}

func TestDamageIsBehindTheSliceHeader(t *testing.T) {
	s := golden(t, "h264_main")
	for seed := range uint64(100) {
		at, packets := damaged(s, seed)
		for i, packet := range packets {
			assert.Equal(t, i == at, !bytes.Equal(s.Packets[i], packet))
			if i == at {
				assert.Len(t, packet, len(s.Packets[at]))
			}
		}
	}
}
