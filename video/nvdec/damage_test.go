package nvdec

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/test/videotest"
)

// damaged flips bits in the slice data of one packet, behind the slice header. at is the packet.
func damaged(s *videotest.Stream, seed uint64) (at int, packets [][]byte) {
	random := rand.New(rand.NewPCG(seed, 9))
	packets = slices.Clone(s.Packets)
	for {
		at = random.IntN(len(packets))
		begin := bytes.LastIndex(packets[at], []byte{0, 0, 1}) + 20
		if left := len(packets[at]) - begin; left > 4 {
			packet := slices.Clone(packets[at])
			for range 1 + random.IntN(3) {
				packet[begin+random.IntN(left)] ^= 1 << random.IntN(8)
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
