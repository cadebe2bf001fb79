package lerobot

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/columns"
	"github.com/robocache/robocache/dataset/mp4"
)

// videoPlace is where an episode's video is: in which file of its feature, and from which frame on.
type videoPlace struct{ chunk, file, first int }

// films are the video files of a feature, of which one is being written: episodes lie in it one behind the other, as they are encoded.
type films struct {
	dir         string
	limit       int64 // bytes at which the next file begins
	chunk, file int
	path        string
	out         output
	sum         maphash.Hash
	movie       *mp4.Writer // nil before the first, and where a file was finished
	begun       bool
}

// add copies a clip.
func (s *films) add(ctx context.Context, w *Writer, c clip) (at videoPlace, err error) {
	track, done, err := c.open()
	if err != nil {
		return at, &WriteError{Episode: w.report.Episodes, Kind: dataset.ErrMissing, Err: err}
	}
	defer done()
	if s.movie != nil && (!s.movie.Fits(track) || s.movie.Size()+track.Bytes(c.from, c.to) >= s.limit) {
		if err := s.finish(w); err != nil {
			return at, err
		}
	}
	if s.movie == nil {
		if err := s.begin(w); err != nil {
			return at, err
		}
	}
	first, err := s.movie.Append(ctx, track, c.from, c.to)
	var bad *dataset.FormatError
	if err != nil && !errors.As(err, &bad) && ctx.Err() == nil {
		err = w.broken(s.path, err)
	}
	return videoPlace{s.chunk, s.file, first}, err
}

// begin opens the next file.
func (s *films) begin(w *Writer) error {
	if s.begun {
		if s.file++; s.file == chunk {
			s.chunk, s.file = s.chunk+1, 0
		}
	}
	s.begun = true
	s.path = filepath.Join(s.dir, fmt.Sprintf("chunk-%03d", s.chunk), fmt.Sprintf("file-%03d.mp4", s.file))
	out, err := w.open(filepath.Join(w.folder.Path(), s.path))
	if err != nil {
		return w.broken(s.path, err)
	}
	s.out = out
	s.sum.Reset()
	if s.movie, err = mp4.NewWriter(io.MultiWriter(out, &s.sum), w.opt.FPS); err != nil {
		return w.broken(s.path, err)
	}
	return nil
}

// finish completes the file that is being written, if there is one.
func (s *films) finish(w *Writer) error {
	if s.movie == nil {
		return nil
	}
	err := s.movie.Close()
	if closing := s.out.Close(); err == nil {
		err = closing
	}
	size, want, seed := s.movie.Size(), s.sum.Sum64(), s.sum.Seed()
	s.movie, s.out = nil, nil
	if err != nil {
		return w.broken(s.path, err)
	}
	w.proofs = append(w.proofs, written{s.path, func(ctx context.Context, file *os.File, got int64) error {
		var sum maphash.Hash
		sum.SetSeed(seed)
		if _, err := io.Copy(&sum, columns.WithContext(ctx, file)); err != nil {
			return err
		}
		if got != size || sum.Sum64() != want {
			return errors.New("not the bytes that were written")
		}
		return nil
	}, false})
	return nil
}

// abandon closes what is being written.
func (s *films) abandon() {
	if s.out != nil {
		s.out.Close()
		s.movie, s.out = nil, nil
	}
}
