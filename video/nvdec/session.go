package nvdec

import (
	"context"
	"errors"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudadrv/nvdec"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/picture"
)

// class is the kind of a session, which does not change.
type class struct {
	codec         nvdec.Codec
	bits          int
	width, height int // largest
}

// session is a decoder on the device with the memory for one of its pictures. One stream uses it at a time.
type session struct {
	class
	surfaces int
	size     [2]int // now
	device   string
	ctx      *cudadrv.Context
	decoder  *nvdec.Decoder
	stream   *cudadrv.Stream
	host     *cudadrv.HostMem
	mapped   *nvdec.Frame // from read until unmap
	failed   bool
}

func newSession(lib *nvdec.Library, ctx *cudadrv.Context, device string, c class, f *picture.Format, surfaces int) (*session, error) {
	s := &session{class: c, surfaces: surfaces, size: [2]int{f.Width, f.Height}, device: device, ctx: ctx}
	var err error
	s.decoder, err = lib.NewDecoder(ctx, nvdec.Config{
		Codec: c.codec, Bits: c.bits, Width: f.Width, Height: f.Height, MaxWidth: c.width, MaxHeight: c.height, Surfaces: surfaces, Mapped: 1,
	})
	if err != nil {
		return nil, err
	}
	if s.stream, err = ctx.NewStream(cudadrv.StreamOptions{}); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *session) close() error {
	err := errors.Join(s.unmap(), s.decoder.Close())
	if s.stream != nil {
		err = errors.Join(err, s.stream.Close())
	}
	if s.host != nil {
		err = errors.Join(err, s.host.Close())
	}
	return err
}

// check notes an error, after which the session is not used again.
func (s *session) check(err error) error {
	s.failed = s.failed || err != nil
	return refusal(err)
}

// sampleBytes returns the size of a sample.
func sampleBytes(bits int) int { return (bits + 7) / 8 }

// prepare changes the picture size.
func (s *session) prepare(f *picture.Format) error {
	if size := [2]int{f.Width, f.Height}; size != s.size {
		if err := s.decoder.Reconfigure(f.Width, f.Height, s.surfaces); err != nil {
			return err
		}
		s.size = size
	}
	need := int64(f.Width * f.Height * 3 / 2 * sampleBytes(f.Bits))
	if s.host != nil {
		if s.host.Size() >= need {
			return nil
		}
		if err := s.host.Close(); err != nil {
			return err
		}
	}
	var err error
	s.host, err = s.ctx.MallocHost(need)
	return err
}

// read waits for the picture on a surface, and returns its visible part, in the device's memory if onDevice is true. It is valid until
// unmap.
func (s *session) read(surface int, f *picture.Format, onDevice bool) (p *video.Planes, status nvdec.Status, err error) {
	if s.mapped, err = s.decoder.Map(surface, s.stream); err != nil {
		return nil, status, err
	}
	if onDevice {
		p, err = s.view(f)
	} else {
		p, err = s.copy(s.mapped, f)
	}
	if err == nil {
		status, err = s.decoder.Status(surface)
	}
	return p, status, err
}

// unmap ends the use of the picture that read returned.
func (s *session) unmap() error {
	if s.mapped == nil {
		return nil
	}
	err := s.mapped.Unmap()
	s.mapped = nil
	return err
}

// view returns the mapped frame's visible part where it is.
func (s *session) view(f *picture.Format) (*video.Planes, error) {
	p, m := planes(f), s.mapped
	for i, row := range []int{f.Crop[1], m.Height + f.Crop[1]/2} {
		p.Stride[i], p.Start[i] = m.Pitch, row*m.Pitch+f.Crop[0]*sampleBytes(f.Bits)
	}
	p.Memory = memory{m, s.device}
	return p, s.stream.Synchronize(context.Background())
}

// memory is a mapped frame as a tensor.Buffer.
type memory struct {
	*nvdec.Frame
	device string
}

func (m memory) Addr() uint64   { return uint64(m.Address) }
func (m memory) Size() int64    { return int64(m.Pitch) * int64(m.Height) * 3 / 2 }
func (m memory) Device() string { return m.device }
func (m memory) Close() error   { return nil }

// planes returns a picture of a format, without samples.
func planes(f *picture.Format) *video.Planes {
	return &video.Planes{
		Width: f.Crop[2] - f.Crop[0], Height: f.Crop[3] - f.Crop[1], Bits: f.Bits, Shift: 8*sampleBytes(f.Bits) - f.Bits,
		Layout: video.NV12, Matrix: f.Colour[2], FullRange: f.FullRange,
	}
}

// copy copies a frame's visible part to the host. All its numbers are even.
func (s *session) copy(frame *nvdec.Frame, f *picture.Format) (*video.Planes, error) {
	p, left, top, sample := planes(f), f.Crop[0], f.Crop[1], sampleBytes(f.Bits)
	row := p.Width * sample
	size := row * p.Height
	for i, rows := range []int{0, frame.Height} {
		_, height := p.Size(i)
		from := frame.Address + cudadrv.DevicePtr((rows+top>>i)*frame.Pitch+left*sample)
		to := cudadrv.Plane{Host: s.host, Offset: int64(i * size), Pitch: int64(row)}
		if err := s.stream.Copy2D(to, cudadrv.Plane{Device: from, Pitch: int64(frame.Pitch)}, int64(row), int64(height)); err != nil {
			return nil, errors.Join(err, s.stream.Synchronize(context.Background()))
		}
	}
	if err := s.stream.Synchronize(context.Background()); err != nil {
		return nil, err
	}
	all := s.host.Bytes()
	p.Data = [3][]byte{all[:size], all[size : size*3/2]}
	p.Stride = [3]int{row, row}
	return p, nil
}
