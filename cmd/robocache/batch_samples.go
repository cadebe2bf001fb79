package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/webdataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// jpegQuality is the JPEG quality for frames in samples. A higher quality makes files half as large again without a visible difference.
const jpegQuality = 95

// shards writes samples to tar files, one open file per device.
type shards struct {
	*asking
	filled int     // batches in the open shard
	next   int64   // number of the open or next shard
	open   []shard // one for each device; nil while no shard is open
}

// shard is a tar file that a goroutine writes from a pipe.
type shard struct {
	pipe *io.PipeWriter
	tar  *webdataset.Writer
	done chan error
}

// newShards computes how many batches a shard has. A frame counts with its pixels' bytes.
func newShards(b *asking, r *loader.Report) (*shards, error) {
	size, used := 0, map[string]string{"json": "the sample"}
	take := func(what, member string, bytes int) error {
		small := strings.ToLower(member)
		if used[small] != "" {
			return usagef("--format webdataset: got %s and %s, want streams and cameras with member names, %s, that do not collide; a plan can rename them", used[small], what, member)
		}
		used[small] = what
		size += bytes
		return nil
	}
	for _, s := range r.Streams {
		bytes := 8
		for _, d := range dtypeFlag(nil).List {
			if d.String() == s.DType {
				bytes = d.Size()
			}
		}
		if s.DType == tensor.BF16.String() {
			return nil, usagef("--format webdataset: got values of bf16 in %s, want --dtype f32, f64 or f16: numpy has no bf16", s.Name)
		}
		if err := take("stream "+s.Name, webdataset.Ext(s.Name)+".npy", s.Targets*s.Columns*bytes); err != nil {
			return nil, err
		}
	}
	for i, c := range r.Cameras {
		if o := &b.Cameras[i]; o.DType != 0 && o.DType != tensor.U8 || o.Layout == "CHW" {
			return nil, usagef("--format webdataset: got frames of %s %s in %s, want u8 and HWC: samples have them as JPEG", o.DType, o.Layout, c.Name)
		}
		if err := take("camera "+c.Name, webdataset.Ext(c.Name)+".jpg", c.Targets*c.Height*c.Width*3); err != nil {
			return nil, err
		}
	}
	samples := min(int64(b.tarSamples), int64(b.tarBytes)/int64(max(size, 1)))
	b.shardSteps = int(max(samples/int64(b.Batch), 1))
	return &shards{asking: b}, nil
}

// add writes a step's batches to the open shards. It reports whether the shards are full and have been renamed to their final names.
func (s *shards) add(ctx context.Context, l *loader.Loader, host []*loader.Batch, index func(device int) batchIndex) (full bool, err error) {
	if s.open == nil {
		s.open = make([]shard, s.devices)
		for device := range s.open {
			s.open[device].begin(filepath.Join(s.folder(device), shardName(s.next)))
		}
	}
	for device, b := range host {
		if err := s.fill(ctx, &s.open[device], l, b, index(device)); err != nil {
			s.drop()
			return false, unwritten(err)
		}
	}
	if s.filled++; s.filled < s.shardSteps {
		return false, nil
	}
	return true, s.end()
}

// end closes the open shards and renames them to their final names.
func (s *shards) end() error {
	if s.open == nil {
		return nil
	}
	for device := range s.open {
		if err := s.open[device].end(); err != nil {
			s.drop()
			return unwritten(err)
		}
	}
	s.open, s.filled = nil, 0
	s.next++
	return nil
}

// drop removes the open shards.
func (s *shards) drop() {
	if s == nil {
		return
	}
	for device := range s.open {
		s.open[device].drop()
	}
	s.open, s.filled = nil, 0
}

func (s *shard) begin(path string) {
	from, to := io.Pipe()
	s.pipe, s.tar, s.done = to, webdataset.NewWriter(to), make(chan error, 1)
	go func() {
		err := atomicfile.WriteFile(path, func(w io.Writer) error {
			_, err := io.Copy(w, from)
			return err
		})
		from.CloseWithError(err) // so that a write returns the cause
		s.done <- err
	}()
}

// end closes the file. If it could not be written, the error has the cause.
func (s *shard) end() error {
	s.pipe.CloseWithError(s.tar.Close())
	s.pipe = nil
	return <-s.done
}

var errDropped = errors.New("a shard that is not wanted")

func (s *shard) drop() {
	if s.pipe != nil {
		s.pipe.CloseWithError(errDropped)
		<-s.done
		s.pipe = nil
	}
}

// fill writes a batch's rows to a shard, one sample per row. Rows without a window are skipped.
func (s *shards) fill(ctx context.Context, to *shard, l *loader.Loader, b *loader.Batch, index batchIndex) error {
	lists := [3][]int64{}
	for i, t := range []*tensor.Tensor{b.Episodes, b.Ticks, b.Anchors} {
		var err error
		if lists[i], err = tensor.Data[int64](t); err != nil {
			return err
		}
	}
	type made struct {
		members []webdataset.Member
		err     error
	}
	about := func(row int) sample {
		episode := lists[0][row]
		a := sample{Tick: lists[1][row], Anchor: lists[2][row], Epoch: index.Epoch, Position: index.Taken + int64(index.Rank) + int64(index.World)*int64(row), Batch: index}
		a.Name, a.Episode = l.Known(episode)
		if len(s.Paths) > 1 {
			of, _ := l.StoreOf(episode)
			a.Dataset = &of
		}
		return a
	}
	workers := runtime.GOMAXPROCS(0)
	for row, m := range inorder.Each(ctx, len(lists[0]), workers, 2*workers, func(made) int { return 2 * workers }, func(_ context.Context, row int) (m made) {
		if lists[0][row] >= 0 {
			m.members, m.err = membersOf(b, row, about(row))
		}
		return m
	}) {
		if m.err != nil {
			return m.err
		}
		if m.members == nil {
			continue
		}
		a := about(row)
		if err := to.tar.Add(fmt.Sprintf("%04d-%09d", a.Epoch, a.Position), m.members...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// membersOf returns the members (files in the tar archive) of the sample for a row in a batch on the host.
func membersOf(b *loader.Batch, row int, about sample) ([]webdataset.Member, error) {
	about.Pad, about.Valid = map[string][]int{}, map[string][]int{}
	var list []webdataset.Member
	masks := func(name string, valid, pad *tensor.Tensor) error {
		for _, m := range []struct {
			to   map[string][]int
			from *tensor.Tensor
		}{{about.Valid, valid}, {about.Pad, pad}} {
			flags, err := tensor.Data[uint8](m.from)
			if err != nil {
				return err
			}
			t := m.from.Dim(1)
			numbers := make([]int, t)
			for k, f := range flags[row*t : (row+1)*t] {
				numbers[k] = int(f)
			}
			m.to[name] = numbers
		}
		return nil
	}
	for i := range b.Streams {
		s := &b.Streams[i]
		name := webdataset.Ext(s.Name)
		err := masks(name, s.Valid, s.Pad)
		for _, a := range []named{{name + ".npy", s.Values}, {name + ".grid.npy", s.Grid}} {
			if a.t == nil || err != nil {
				continue
			}
			var values *tensor.Tensor
			if values, err = a.t.Slice(0, row, row+1); err == nil {
				values, err = values.Reshape(a.t.Shape()[1:]...)
			}
			var text bytes.Buffer
			if err == nil {
				err = npy.Write(&text, values)
			}
			list = append(list, webdataset.Member{Ext: a.name, Data: text.Bytes()})
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range b.Cameras {
		c := &b.Cameras[i]
		name := webdataset.Ext(c.Name)
		if err := masks(name, c.Valid, c.Pad); err != nil {
			return nil, err
		}
		pictures, err := jpegs(c.Frames, row)
		if err != nil {
			return nil, err
		}
		for k, p := range pictures {
			ext := name + ".jpg"
			if len(pictures) > 1 {
				ext = fmt.Sprintf("%s.%03d.jpg", name, k)
			}
			list = append(list, webdataset.Member{Ext: ext, Data: p})
		}
	}
	text, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	return append([]webdataset.Member{{Ext: "json", Data: text}}, list...), nil
}

// jpegs encodes one row in the frames [B,T,H,W,3].
func jpegs(frames *tensor.Tensor, row int) (list [][]byte, err error) {
	pixels, err := tensor.Data[uint8](frames)
	if err != nil {
		return nil, err
	}
	t, h, w := frames.Dim(1), frames.Dim(2), frames.Dim(3)
	for k := row * t; k < (row+1)*t; k++ {
		picture := dataset.Picture(pixels[k*h*w*3:(k+1)*h*w*3], h, w, 3)
		var b bytes.Buffer
		if err := jpeg.Encode(&b, picture, &jpeg.Options{Quality: jpegQuality}); err != nil {
			return nil, err
		}
		list = append(list, b.Bytes())
	}
	return list, nil
}
