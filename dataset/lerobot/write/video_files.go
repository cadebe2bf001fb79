package write

import (
	"context"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/dataset/mp4"
)

// videoPlace locates an episode's video: the number of the file in its feature's series, and the first frame.
type videoPlace struct{ file, first int }

// videoFiles writes a video feature's files. One file is open, and episodes are appended to it without decoding.
type videoFiles struct {
	in            *outputFolder
	fps           float64
	pattern, name string // for the files' paths
	limit         int64  // bytes after which the next file begins; 0 makes a file for each episode
	file          int    // number of the open file
	out           *hashedFile
	movie         *mp4.Writer // nil before the first file, and after one is finished
	begun         bool
}

// add copies a clip's encoded frames to the open video file, or to a new file if they do not fit. It returns their place.
func (s *videoFiles) add(ctx context.Context, episode int, c clip) (at videoPlace, err error) {
	track, done, err := c.open()
	if err != nil {
		return at, &Error{Episode: episode, Kind: dataset.ErrMissing, Err: err}
	}
	defer done()
	if s.movie != nil && (!s.movie.Fits(track) || s.movie.Size()+track.Bytes(c.from, c.to) >= s.limit) {
		if err := s.finish(); err != nil {
			return at, err
		}
	}
	if s.movie == nil {
		if err := s.begin(); err != nil {
			return at, err
		}
	}
	first, err := s.movie.Append(ctx, track, c.from, c.to)
	return videoPlace{s.file, first}, err
}

// begin opens the next file.
func (s *videoFiles) begin() error {
	if s.begun {
		s.file++
	}
	s.begun = true
	out, err := s.in.create(filepath.FromSlash(layout.File(s.pattern, s.file, s.name)))
	if err != nil {
		return err
	}
	s.out = out
	s.movie, err = mp4.NewWriter(out, s.fps)
	return err
}

// finish completes the open file, if there is one.
func (s *videoFiles) finish() error {
	if s.movie == nil {
		return nil
	}
	err := s.movie.Close()
	if closing := s.out.Close(); err == nil {
		err = closing
	}
	s.movie, s.out = nil, nil
	return err
}

// abandon closes the open file.
func (s *videoFiles) abandon() {
	if s.out != nil {
		s.out.abandon()
		s.movie, s.out = nil, nil
	}
}
