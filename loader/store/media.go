package store

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Media is a packed media stream: all episodes' encoded frames in sequence. In a store's file its tensors are NAME.frames,
// NAME.frame_offsets, NAME.times and NAME.offsets. Any program can slice frame i of episode e from them. For example, in Python:
//
//	t = safetensors.numpy.load_file("store.safetensors")
//	k = t["NAME.offsets"][e] + i
//	begin, end = t["NAME.frame_offsets"][k : k + 2]
//	jpeg = t["NAME.frames"][begin:end].tobytes()
type Media struct {
	Name     string
	Encoding string // the encoding of all frames: "jpeg", "png", or one for raw pixels
	// Width and Height are the pixels of each frame. They are 0 if the dataset does not declare them, or if the sizes of JPEG or PNG
	// frames differ.
	Width, Height int
	// Resized is true if the frames were decoded and resized: see BuildOptions.Frames. Frames that could not be decoded have no bytes.
	Resized bool
	// Frames [bytes] is u8. Frames, FrameOffsets and Times are nil if the store has several files: use Store.Episode.
	Frames       *tensor.Tensor
	FrameOffsets *tensor.Tensor // [S+1], i64: frame k is the bytes FrameOffsets[k] to FrameOffsets[k+1]-1
	Times        *tensor.Tensor // [S], i64 nanoseconds
	Offsets      []int64        // [E+1]: episode e has the frames Offsets[e] to Offsets[e+1]-1

	shards []*Media // as in Stream
	begins []int
}

// Len returns S, the number of frames in all episodes.
func (m *Media) Len() int { return int(m.Offsets[len(m.Offsets)-1]) }

// Bytes returns the size of all frames in bytes.
func (m *Media) Bytes() int {
	n := 0
	for _, s := range present(m, m.shards) {
		n += s.Frames.Len()
	}
	return n
}

// present returns a stream's parts in the files. A stream in one file has one part, itself.
func present[T any](whole *T, shards []*T) []*T {
	if shards == nil {
		return []*T{whole}
	}
	return slices.DeleteFunc(slices.Clone(shards), func(s *T) bool { return s == nil })
}

func (m *Media) close() {
	for _, t := range []*tensor.Tensor{m.Frames, m.FrameOffsets, m.Times} {
		t.Close() // host memory returns no error
	}
}

// nameOfStream and nameOfMedia are the notes for a stream that is left out because a stream of numbers or a media stream has its name.
var (
	nameOfStream = dataset.Note{Code: dataset.CodeNameTaken, Detail: dataset.Detail{Got: "a stream of numbers"}}
	nameOfMedia  = dataset.Note{Code: dataset.CodeNameTaken, Detail: dataset.Detail{Got: "a media stream"}}
)

// difference returns a note if frames have another format than the stream; its code is empty if not. JPEG and PNG frames may have any
// size, because each frame declares it. If their sizes differ, the stream declares none.
func (m *Media) difference(encoding string, width, height int) (n dataset.Note) {
	same := width == m.Width && height == m.Height
	if encoding != m.Encoding || !same && encoding != "jpeg" && encoding != "png" {
		n.Code, n.Got, n.Want = dataset.CodeFrameSize, fmt.Sprintf("%s frames with %dx%d", encoding, width, height), fmt.Sprintf("%s of %dx%d", m.Encoding, m.Width, m.Height)
		return n
	}
	if !same {
		m.Width, m.Height = 0, 0
	}
	return n
}

// AllMedia selects all media streams in BuildOptions.Media and Frames.
const AllMedia = "all"
