package mp4

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// DecodeFrames decodes the frames from to to-1, each as u8 [H,W,3] in the order red, green, blue. The rotation in the file is not
// applied. Levels with 10 or 12 bits are rounded. A chroma sample counts for all pixels that it covers.
//
// The decoder is an imported driver, such as video/dav1d for AV1, or ffmpeg from PATH or from the environment variable ROBOCACHE_FFMPEG.
// If none decodes the track, the error is dataset.ErrUnsupported. A frame that cannot be decoded is an error and never another frame. The
// later frames follow. DecodeFrames ends early after an error that all later frames would have.
func (t *Track) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		if err := dataset.CheckRange("frame", from, to, t.Len()); err != nil {
			yield(nil, err)
			return
		}
		for from < to {
			end := t.end(from, to)
			if !t.decodeRun(ctx, from, end, yield) {
				return
			}
			from = end
		}
	}
}

// end returns where the frames of one job end. If an edit list goes back in the media, for example from 5 s to 2 s, another job begins there.
func (t *Track) end(from, to int) int {
	end := from + 1
	for end < to && t.samples[t.order[end]].time >= t.samples[t.order[end-1]].time {
		end++
	}
	return end
}

// Planes decodes the frames from to to-1, and calls show for each one with its number, in decoding order. The pictures may be in the memory
// of a device, such as "cuda:0"; "" means that they must be on the host. Packages of this module use it, because show's type is internal.
func (t *Track) Planes(ctx context.Context, from, to int, device string, show video.Show) error {
	if err := dataset.CheckRange("frame", from, to, t.Len()); err != nil {
		return err
	}
	for end := 0; from < to; from = end {
		end = t.end(from, to)
		job, ranks, lost := t.job(from, end)
		job.Device = device
		err := job.Planes(ctx, ranks, func(rank int64, p *video.Planes, err error) error {
			return show(int64(from+slices.Index(ranks, int32(rank))), p, err)
		})
		if err = cmp.Or(err, lost); err != nil {
			return err
		}
	}
	return nil
}

// run is a sequence of samples, in decoding order, that must be decoded for some frames.
type run struct {
	samples []sample
	index   []int32 // each sample's place in the file
	rank    []int32 // of each sample, in the order in which the samples are shown
	want    []int32 // the ranks of the frames
	lost    int     // the first missing sample that a frame needs, in the file's order; -1 if none is missing
}

// plan finds the samples for frames from to to-1. Their media times ascend.
func (t *Track) plan(from, to int) run {
	frames := t.order[from:to]
	first, last := int(slices.Min(frames)), int(slices.Max(frames))
	start := t.samples[frames[0]].time
	// A frame that follows a key frame in the file and is shown before it may need frames before the key frame. Therefore the run begins
	// with a key frame that is shown before all wanted frames, and leaves out samples that are shown before the key frame. After a recovery
	// point in h264 such samples stay, because their absence is a gap in frame_num.
	for first > 0 && !(t.samples[first].time <= start && t.fresh(first)) {
		first--
	}
	shownFirst := t.samples[first].time
	if !t.fresh(first) || shownFirst > start {
		shownFirst = -maxTime << 1 // there is no such key frame, so the run has all samples from the first one on
	}
	r := run{lost: -1}
	for i := first; i <= last; i++ {
		s := t.samples[i]
		if s.time < shownFirst {
			continue
		}
		if s.size == 0 {
			r.lost = i
			break
		}
		r.samples, r.index = append(r.samples, s), append(r.index, int32(i))
	}
	r.rank = make([]int32, len(r.index))
	byTime := make([]int32, len(r.index))
	for i := range byTime {
		byTime[i] = int32(i)
	}
	slices.SortStableFunc(byTime, func(a, b int32) int { return cmp.Compare(r.samples[a].time, r.samples[b].time) })
	for rank, i := range byTime {
		r.rank[i] = int32(rank)
	}
	for _, s := range frames {
		if i, ok := slices.BinarySearch(r.index, s); ok {
			r.want = append(r.want, r.rank[i])
		} else {
			r.want = append(r.want, -1)
		}
	}
	return r
}

// fresh reports whether decoding can begin with a sample. In h264 it must be an IDR picture. A key frame may also be a recovery point, with
// open groups of pictures or intra refresh, where ffmpeg leaves pictures out or returns incomplete ones.
func (t *Track) fresh(i int) bool {
	s := t.samples[i]
	if !s.key || t.Codec != "h264" || len(t.Config) < 5 {
		return s.key
	}
	prefix := int64(t.Config[4]&3) + 1
	for at := int64(0); at+prefix < int64(s.size); {
		head, err := t.file.read("frame", s.at+at, prefix+1)
		if err != nil {
			return false
		}
		if kind := head[prefix] & 31; kind >= 1 && kind <= 5 { // a slice
			return kind == 5 // of an IDR picture
		}
		length := int64(0)
		for _, b := range head[:prefix] {
			length = length<<8 | int64(b)
		}
		at += prefix + length
	}
	return false
}

// job returns the job for frames from to to-1, and their ranks up to the first frame that needs a missing sample. The error names that
// sample.
func (t *Track) job(from, to int) (job *video.Job, ranks []int32, err error) {
	r := t.plan(from, to)
	there := slices.Index(r.want, -1)
	if there < 0 {
		there = len(r.want)
	} else {
		err = t.lostError(from+there, r.lost)
	}
	job = &video.Job{Codec: t.Codec, Entry: t.stsd, Packets: make([]video.Packet, len(r.samples))}
	for i, s := range r.samples {
		job.Packets[i] = video.Packet{Size: s.size, Rank: r.rank[i], Key: s.key}
	}
	job.Open = func(_ context.Context, i int) (io.Reader, error) {
		return &sampleReader{t.file, r.samples[i].at, int64(r.samples[i].size)}, nil
	}
	job.Fail = func(place int) *dataset.FormatError {
		e := t.undecoded(-1)
		if place >= 0 {
			e.Offset, e.Msg = t.samples[t.order[from+place]].at, fmt.Sprintf("decode frame %d (%s)", from+place, t.Codec)
		}
		return e
	}
	job.Begins = func(i int) bool { return t.fresh(int(r.index[i])) }
	return job, r.want[:there], err
}

// decodeRun yields frames from to to-1, or their errors. It returns false if DecodeFrames ends.
func (t *Track) decodeRun(ctx context.Context, from, to int, yield func(*tensor.Tensor, error) bool) bool {
	job, ranks, lost := t.job(from, to)
	if n := 0; len(ranks) > 0 {
		for frame, err := range job.Decode(ctx, ranks) {
			if !yield(frame, err) {
				return false
			}
			n++
		}
		if n < len(ranks) {
			return false
		}
	}
	if lost != nil {
		yield(nil, lost)
	}
	return lost == nil
}

// CheckDecoder returns an error that is dataset.ErrUnsupported if this machine has no decoder for the track. It decodes no frame.
func (t *Track) CheckDecoder() error {
	return (&video.Job{Codec: t.Codec, Entry: t.stsd, Fail: t.undecoded}).Check()
}

func (t *Track) undecoded(int) *dataset.FormatError {
	return &dataset.FormatError{Format: "mp4", Path: t.file.path, Offset: -1, Msg: "decode " + t.Codec}
}

// sampleReader reads the rest of a sample.
type sampleReader struct {
	file     *File
	at, left int64
}

func (r *sampleReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), r.left)
	if err := r.file.into("frame", p[:n], r.at); err != nil {
		return 0, err
	}
	r.at, r.left = r.at+n, r.left-n
	return int(n), nil
}

func (t *Track) lostError(frame, sample int) error {
	s := t.samples[sample]
	return t.file.fail(min(s.at, t.file.size), dataset.ErrTruncated, fmt.Sprintf("decode frame %d", frame), fmt.Sprintf("no bytes of sample %d", sample+1), "the frames that it needs")
}
