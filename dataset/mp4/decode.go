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
	return video.DecodeRange(ctx, from, to, t.Planes)
}

// Planes implements video.Clip. Packages of this module use it, because the type video.Show is internal.
func (t *Track) Planes(ctx context.Context, frames []int, device string, show video.Show) error {
	if err := video.CheckNumbers("frame", frames, t.Len()); err != nil {
		return err
	}
	for len(frames) > 0 {
		n := t.forward(frames)
		part := frames[:n]
		job, ranks := t.job(part)
		err := job.Planes(ctx, ranks, device, func(rank int64, p *video.Planes, err error) error {
			at, _ := slices.BinarySearch(ranks, int(rank))
			return show(int64(part[at]), p, err)
		})
		if err != nil {
			return err
		}
		frames = frames[n:]
	}
	return nil
}

// Group implements video.Clip.
func (t *Track) Group(_ context.Context, frame int) (from, to int, err error) {
	if err := video.CheckNumbers("frame", []int{frame}, t.Len()); err != nil {
		return 0, 0, err
	}
	begins := func(frame int) bool { return t.isBack(frame-1, frame) || t.fresh(int(t.order[frame])) }
	for from = frame; from > 0 && !begins(from); from-- {
	}
	for to = frame + 1; to < t.Len() && !begins(to); to++ {
	}
	return from, to, nil
}

// isBack reports whether a frame comes before an earlier one in the media, because an edit list goes back, for example from 5 s to 2 s.
func (t *Track) isBack(earlier, frame int) bool {
	return t.samples[t.order[frame]].time < t.samples[t.order[earlier]].time
}

// forward returns how many frames, at least 1, come before an edit list goes back.
func (t *Track) forward(frames []int) int {
	n := 1
	for n < len(frames) && !t.isBack(frames[n-1], frames[n]) {
		n++
	}
	return n
}

// run is the samples that must be decoded for some frames, in decoding order.
type run struct {
	samples []sample
	index   []int32 // each sample's place in the file
	rank    []int32 // each sample's position in the order in which the samples are shown
	want    []int   // the frames' ranks; -1 if the media times do not ascend
}

// plan finds the samples for frames with ascending media times.
func (t *Track) plan(frames []int) run {
	wanted := make([]int32, len(frames))
	for i, frame := range frames {
		wanted[i] = t.order[frame]
	}
	last, start := int(slices.Max(wanted)), t.samples[wanted[0]].time
	first := t.begin(int(slices.Min(wanted)), start)
	shownFirst := t.samples[first].time
	if !t.fresh(first) || shownFirst > start {
		shownFirst = -maxTime << 1 // there is no such key frame, so the run has all samples from the first one on
	}
	r := run{want: make([]int, len(frames))}
	for i := first; i <= last; i++ {
		if s := t.samples[i]; s.time >= shownFirst {
			r.samples, r.index = append(r.samples, s), append(r.index, int32(i))
		}
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
	for i, s := range wanted {
		r.want[i] = -1
		if at, there := slices.BinarySearch(r.index, s); there {
			r.want[i] = int(r.rank[at])
		}
	}
	return r
}

// begin returns the sample where decoding begins for frames. first is their first sample in the file, and start the first frame's time.
//
// A frame that follows a key frame in the file and is shown before it may need frames before the key frame. Therefore decoding begins with
// a key frame that is shown before all wanted frames, and leaves out samples that are shown before the key frame. After a recovery point in
// h264 such samples stay, because their absence is a gap in frame_num.
func (t *Track) begin(first int, start int64) int {
	for first > 0 && !(t.samples[first].time <= start && t.fresh(first)) {
		first--
	}
	return first
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
			return kind == 5 // from an IDR picture
		}
		length := int64(0)
		for _, b := range head[:prefix] {
			length = length<<8 | int64(b)
		}
		at += prefix + length
	}
	return false
}

// job returns the job for frames, and their ranks.
func (t *Track) job(frames []int) (job *video.Job, ranks []int) {
	r := t.plan(frames)
	job = &video.Job{Codec: t.Codec, Entry: t.stsd, Packets: make([]video.Packet, len(r.samples))}
	for i, s := range r.samples {
		job.Packets[i] = video.Packet{Size: s.size, Rank: r.rank[i], Key: s.key}
	}
	job.Open = func(_ context.Context, i int) (io.Reader, error) {
		s := r.samples[i]
		if s.size == 0 {
			return nil, t.lostError(r.index[i])
		}
		return &sampleReader{t.file, s.at, int64(s.size)}, nil
	}
	job.Fail = func(place int) *dataset.FormatError {
		e := t.undecoded(-1)
		if place >= 0 {
			frame := frames[place]
			e.Offset, e.Msg = t.samples[t.order[frame]].at, fmt.Sprintf("decode frame %d (%s)", frame, t.Codec)
		}
		return e
	}
	job.Begins = func(i int) bool { return t.fresh(int(r.index[i])) }
	return job, r.want
}

// CheckDecoder returns an error that is dataset.ErrUnsupported if this machine has no decoder for the track. It decodes no frame.
func (t *Track) CheckDecoder() error {
	return (&video.Job{Codec: t.Codec, Entry: t.stsd, Fail: t.undecoded}).Check()
}

func (t *Track) undecoded(int) *dataset.FormatError {
	return &dataset.FormatError{Format: "mp4", Path: t.file.path, Offset: -1, Msg: "decode " + t.Codec}
}

// sampleReader reads a sample's remaining bytes.
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

// lostError returns the error for a sample without bytes in the file.
func (t *Track) lostError(i int32) error {
	at := min(t.samples[i].at, t.file.size)
	return t.file.fail(at, dataset.ErrTruncated, fmt.Sprintf("sample %d", i+1), "no bytes of it", "all, because other frames need it")
}
