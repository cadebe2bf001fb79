package view

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
)

// mostVideo is the answer's length in bytes if a request has no end. Browsers request the rest when they need it. A longer answer would occupy one connection
// until then, and browsers have six for a server.
const mostVideo = 1 << 20

// video returns the file with a camera's frames. It returns false if there is none, if the timestamps are not ascending, or if
// the frames are depth, because a browser would show it as levels without a scale.
func (e *entry) video(camera int) (dataset.VideoFile, bool) {
	m := &e.Media[camera]
	v, ok := m.Source.(dataset.VideoFile)
	return v, ok && m.Depth == nil && v.VideoPath() != "" && e.mediaOrder[camera].which == nil
}

// serveVideo sends a camera's video file, or the part that the header Range names. If the request has "times", it sends two float64 numbers a frame instead,
// little-endian: the time in seconds from the episode's start, and the time in the file.
func (s *Server) serveVideo(w http.ResponseWriter, r *http.Request, e *entry) error {
	k, err := e.camera(r)
	if err != nil {
		return err
	}
	v, ok := e.video(k)
	if !ok {
		return &missing{"video file of " + e.Media[k].Name}
	}
	file, seconds, done, err := v.OpenVideo(r.Context())
	if err != nil {
		return err
	}
	defer done()
	if r.Form.Has("times") {
		var b []byte
		for i, t := range e.mediaOrder[k].times {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.seconds(t)))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(seconds[i]))
		}
		send(w, "application/octet-stream", b)
		return nil
	}
	if from, open := strings.CutSuffix(r.Header.Get("Range"), "-"); open {
		if n, err := strconv.ParseInt(strings.TrimPrefix(from, "bytes="), 10, 64); err == nil {
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", n, n+mostVideo-1))
		}
	}
	w.Header().Set("Content-Type", "video/mp4")
	http.ServeContent(w, r, "", time.Time{}, file)
	return nil
}
