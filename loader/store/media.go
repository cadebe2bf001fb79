package store

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Media is a packed media stream: the frames of all episodes as they were encoded, one after the other. In a store's file its tensors are
// NAME.frames, NAME.frame_offsets, NAME.times and NAME.offsets, and any program has frame i of episode e by slices of them. In Python:
//
//	t = safetensors.numpy.load_file("store.safetensors")
//	k = t["NAME.offsets"][e] + i
//	begin, end = t["NAME.frame_offsets"][k : k + 2]
//	jpeg = t["NAME.frames"][begin:end].tobytes()
type Media struct {
	Name     string
	Encoding string // of all frames: "jpeg", "png", or one of raw pixels
	// Width and Height are those of all frames, pixels; 0 if a dataset does not say, or if frames that say it themselves are of several sizes.
	Width, Height int
	Frames        *tensor.Tensor // [bytes], u8; nil of a store in several files, as are the next two: its frames are had by Store.Episode
	FrameOffsets  *tensor.Tensor // [S+1], i64: frame k is the bytes FrameOffsets[k] to FrameOffsets[k+1]-1
	Times         *tensor.Tensor // [S], i64 nanoseconds
	Offsets       []int64        // [E+1]: episode e has the frames Offsets[e] to Offsets[e+1]-1

	shards []*Media // as those of a Stream
	begins []int
}

// Len returns S, the frames of all episodes.
func (m *Media) Len() int { return int(m.Offsets[len(m.Offsets)-1]) }

// Bytes returns how many bytes the frames of all episodes have.
func (m *Media) Bytes() int {
	n := 0
	for _, s := range present(m, m.shards) {
		n += s.Frames.Len()
	}
	return n
}

// present returns a stream or media stream in the files that have it: itself if it is in one file.
func present[T any](whole *T, shards []*T) []*T {
	if shards == nil {
		return []*T{whole}
	}
	return slices.DeleteFunc(slices.Clone(shards), func(s *T) bool { return s == nil })
}

func (m *Media) close() {
	for _, t := range []*tensor.Tensor{m.Frames, m.FrameOffsets, m.Times} {
		t.Close() // which of host memory only says so
	}
}

// Notes about a stream or media stream whose name is taken.
var (
	nameOfStream = dataset.Note{Code: dataset.CodeNameTaken, Detail: dataset.Detail{Got: "a stream of numbers"}}
	nameOfMedia  = dataset.Note{Code: dataset.CodeNameTaken, Detail: dataset.Detail{Got: "a media stream"}}
)

// difference says how frames differ from the stream's, or nothing. Those that say their own size, as JPEG and PNG do, may have any; then nobody says it
// for all.
func (m *Media) difference(encoding string, width, height int) (n dataset.Note) {
	same := width == m.Width && height == m.Height
	if encoding != m.Encoding || !same && encoding != "jpeg" && encoding != "png" {
		n.Code, n.Got, n.Want = dataset.CodeFrameSize, fmt.Sprintf("%s frames of %dx%d", encoding, width, height), fmt.Sprintf("%s of %dx%d", m.Encoding, m.Width, m.Height)
		return n
	}
	if !same {
		m.Width, m.Height = 0, 0
	}
	return n
}

// AllMedia stands for all media streams in BuildOptions.Media.
const AllMedia = "all"
