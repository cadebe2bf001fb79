package write

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/dataset/mp4"
)

// videoPlace locates an episode's video: the file in its feature's series, and the first frame.
type videoPlace struct{ chunk, file, first int }

// videoFiles writes a video feature's files. One file is open, and episodes are appended to it without decoding.
type videoFiles struct {
	in          *outputFolder
	fps         float64
	dir         string
	limit       int64 // bytes after which the next file begins
	chunk, file int
	out         *hashedFile
	movie       *mp4.Writer // nil before the first file, and after one is finished
	begun       bool
}

// add copies a clip.
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
	return videoPlace{s.chunk, s.file, first}, err
}

// begin opens the next file.
func (s *videoFiles) begin() error {
	if s.begun {
		if s.file++; s.file == layout.ChunkFiles {
			s.chunk, s.file = s.chunk+1, 0
		}
	}
	s.begun = true
	out, err := s.in.create(filepath.Join(s.dir, fmt.Sprintf("chunk-%03d", s.chunk), fmt.Sprintf("file-%03d.mp4", s.file)))
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
