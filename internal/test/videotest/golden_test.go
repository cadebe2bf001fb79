package videotest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStreamsHavePackets(t *testing.T) {
	all := Streams(t, "h")
	assert.Len(t, all, 69)
	for _, s := range all {
		assert.NotEmpty(t, s.Packets, s.Name)
	}
	assert.Len(t, all["h264_g2"].Pictures, len(all["h264_g2"].Packets))
	assert.Len(t, all["h264_g2"].Shown, len(all["h264_g2"].Packets))
}
