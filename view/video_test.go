package view

import (
	"encoding/json"
	"fmt"
	"image/jpeg"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/settest"
)

// The shared videos have each frame's number among those of all episodes painted into its top, in 16 cells of 8 by 16 pixels: bit b in row b/8, column b%8.
func TestVideoFramesAreThoseAtTheCursor(t *testing.T) {
	path := shared(t, "lerobot_v3_g1")
	if _, err := exec.LookPath("ffmpeg"); err != nil && os.Getenv("ROBOCACHE_FFMPEG") == "" {
		t.Skip("no ffmpeg in PATH")
	}
	d := settest.Open(t, path)
	s := serve(t, d, Options{})
	const episode = 2
	first := 0
	for i := range episode {
		first += getJSON[episodeJSON](t, s, fmt.Sprintf("/api/episodes/%d", i)).Frames
	}
	for _, camera := range []string{"observation.images.front", "observation.images.wrist"} {
		for _, frame := range []int{0, 1, 31, 32, 33, 200, 63, 341} { // around the ends of what is decoded together, and back
			r := get(s, fmt.Sprintf("/api/episodes/%d/frame?camera=%s&at=%.4f&height=64", episode, camera, (float64(frame)+0.3)/30))
			require.Equal(t, http.StatusOK, r.StatusCode)
			var where struct{ Frame int }
			require.NoError(t, json.Unmarshal([]byte(r.Header.Get("Frame")), &where))
			assert.Equal(t, frame, where.Frame)
			im, err := jpeg.Decode(r.Body)
			require.NoError(t, err)
			painted := 0
			for bit := range 16 {
				if red, _, _, _ := im.At(bit%8*8+4, bit/8*16+8).RGBA(); red > 0x8000 {
					painted |= 1 << bit
				}
			}
			assert.Equal(t, first+frame, painted, "%s, frame %d", camera, frame)
		}
	}
}
