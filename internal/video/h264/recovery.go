package h264

import "github.com/robocache/robocache/internal/video/bitstream"

const seiRecovery = 6 // payloadType

// recovery is a recovery point SEI message.
type recovery struct {
	frames int // recovery_frame_cnt
	exact  bool
	broken bool // broken_link_flag
}

// readRecovery returns the recovery point in a SEI NAL unit, or nil. It ignores damage.
func readRecovery(nal []byte) *recovery {
	r := bitstream.NewReader(nal, 1)
	sum := func() (n int) {
		for {
			b := int(r.Bits(8))
			if n += b; b != 255 {
				return n
			}
		}
	}
	for r.Err() == nil {
		kind, size := sum(), sum()
		if kind == seiRecovery {
			point := recovery{frames: int(r.UE()), exact: r.Flag(), broken: r.Flag()}
			if r.Err() != nil {
				return nil
			}
			return &point
		}
		r.Skip(8 * size)
	}
	return nil
}
