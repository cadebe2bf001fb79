package video

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/tensor"
)

// maxPixels is the largest picture that ffmpeg may decode: 268 million pixels.
const maxPixels = 1 << 28

// Job is what is to be decoded.
type Job struct {
	Codec   string   // "h264" and so on
	Entry   []byte   // the sample entry of an mp4 file, a box, with the decoder's configuration where the packets lack it
	Packets []Packet // in the order of decoding, beginning where decoding can
	// Open returns the bytes of a packet, as many as its size says. ctx ends with the decoding.
	Open func(ctx context.Context, packet int) (io.Reader, error)
	// Fail returns the error of the frame that is wanted at a place, whose kind and what was got are filled in; of place -1 that of the whole.
	Fail func(place int) *dataset.FormatError
}

// Packet is a frame as it is encoded.
type Packet struct {
	Size uint32
	Rank int32 // among the pictures, in the order in which they are shown
	Key  bool
}

var errLeftOut = errors.New("the next frame's picture comes instead")

// Decode decodes the frames of these ranks, which ascend, each u8 [H,W,3]. The first error ends it, and so does the end of ctx. Without the program the
// error is dataset.ErrUnsupported.
func (j *Job) Decode(ctx context.Context, ranks []int32) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		p, err := j.start(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer p.stop()
		for i, want := range ranks {
			var frame *tensor.Tensor
			rank, err := int32(-1), error(nil)
			for rank < want && err == nil {
				rank, frame, err = p.next()
			}
			switch {
			case ctx.Err() != nil:
				err = ctx.Err()
			case err != nil:
				err = p.explain(j.Fail(i), err)
			case rank != want:
				err = p.explain(j.Fail(i), errLeftOut)
			}
			if err != nil {
				frame = nil
			}
			if !yield(frame, err) || err != nil {
				return
			}
		}
	}
}

// ProgramError is an ffmpeg that there is not, or that could not do its work here, which says nothing of the frames that it was given.
type ProgramError struct{ Err error }

func (e *ProgramError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *ProgramError) Unwrap() error { return e.Err }

// outside returns why a program failed whatever it was given: it was ended by somebody or by a machine without memory for it, or it says one of the errors
// of the system that are no matter of that; nil if it is not known to be so.
func outside(failed error, said []byte, errors ...syscall.Errno) error {
	low := strings.ToLower(string(said))
	for _, e := range errors {
		if strings.Contains(low, e.Error()) {
			return e
		}
	}
	if failed == nil {
		return nil
	}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if failed.Error() == "signal: "+signal.String() {
			return failed
		}
	}
	return nil
}

// program finds ffmpeg.
func (j *Job) program() (string, error) {
	name := os.Getenv("ROBOCACHE_FFMPEG")
	if name == "" {
		name = "ffmpeg"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		e := j.Fail(-1)
		e.Kind, e.Got, e.Want = dataset.ErrUnsupported, "no program ffmpeg", "it in PATH, or its path in ROBOCACHE_FFMPEG; encoded frames can be read without it"
		e.Err = &ProgramError{err}
		return "", e
	}
	return path, nil
}

// process is a running ffmpeg.
type process struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	feed   *feed
	stdout io.Closer
	out    *pictures
	errors tail
	shift  int32
	waited bool
	failed error // of the program
}

// start has ffmpeg decode packets. It reads them from standard input as an mp4 file of their own, and writes Matroska, which any version does with a
// time for each picture.
func (j *Job) start(ctx context.Context) (*process, error) {
	path, err := j.program()
	if err != nil {
		return nil, err
	}
	head, shift := j.header()
	ctx, cancel := context.WithCancel(ctx)
	p := &process{cancel: cancel, shift: shift, feed: &feed{ctx: ctx, job: j, in: bytes.NewReader(head)}}
	args := []string{"-nostdin", "-hide_banner", "-loglevel", "error", "-xerror", "-protocol_whitelist", "file,pipe", "-max_pixels", fmt.Sprint(maxPixels), "-copyts"}
	if j.Codec == "h264" {
		args = append(args, "-strict", "strict") // waits for as many pictures as the stream may reorder, and does not guess from the first
	}
	args = append(args, "-f", "mov", "-i", "pipe:0", "-map", "0:v:0", "-c:v", "rawvideo", "-pix_fmt", "rgb24", "-allow_raw_vfw", "1", "-f", "matroska", "pipe:1")
	p.cmd = exec.CommandContext(ctx, path, args...)
	p.cmd.Stdin, p.cmd.Stderr = p.feed, &p.errors
	p.cmd.WaitDelay = 2 * time.Second // a script around ffmpeg may leave it behind with the pipes
	stdout, err := fault.Call("start", path, p.cmd.StdoutPipe)
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, &ProgramError{fmt.Errorf("ffmpeg: %w", err)}
	}
	p.stdout, p.out = stdout, &pictures{r: bufio.NewReaderSize(stdout, 1<<16)}
	return p, nil
}

// next returns the next picture and its rank. At the end the error is io.EOF.
func (p *process) next() (rank int32, frame *tensor.Tensor, err error) {
	ms, b, err := p.out.next()
	if err != nil {
		return 0, nil, err
	}
	if ms < 0 || ms%tickMillis != 0 || ms/tickMillis > 1<<31-1 {
		return 0, nil, fmt.Errorf("a picture at %d ms", ms)
	}
	frame, err = tensor.Of(b, p.out.height, p.out.width, 3)
	return int32(ms/tickMillis) - p.shift, frame, err
}

// wait waits for the program's end.
func (p *process) wait() {
	if !p.waited {
		p.failed, p.waited = p.cmd.Wait(), true
	}
}

// stop ends the program if it still runs.
func (p *process) stop() {
	p.cancel()
	if !p.waited {
		p.stdout.Close() // ends one that a script left behind
	}
	p.wait()
}

// explain says why there is no picture of a frame: what is wrong with the output, io.EOF if that is at its end.
func (p *process) explain(e *dataset.FormatError, wrong error) error {
	ended := wrong == io.EOF || errors.Is(wrong, io.ErrUnexpectedEOF)
	if ended {
		p.wait()
	} else {
		p.stop() // it would wait for a reader
	}
	if p.feed.err != nil {
		return p.feed.err
	}
	e.Kind, e.Got = dataset.ErrCorrupt, "no picture of it from ffmpeg"
	line := p.errors.last()
	switch {
	case line != "":
		e.Err = errors.New("ffmpeg: " + line)
	case wrong != io.EOF:
		e.Err = wrong
	default:
		e.Err = p.failed
	}
	var failed error // unless stop ended it
	if ended {
		failed = p.failed
	}
	if outer := outside(failed, p.errors.b, syscall.ENOMEM); outer != nil {
		e.Kind, e.Err = dataset.ErrUnsupported, &ProgramError{fmt.Errorf("ffmpeg: %w", outer)}
	}
	if low := strings.ToLower(line); strings.Contains(low, "decoder") && strings.Contains(low, "found") {
		e.Kind = dataset.ErrUnsupported // "no decoder found for: av1"
	}
	return e
}

// feed is the file that ffmpeg reads: a head and the packets behind one another.
type feed struct {
	ctx  context.Context
	job  *Job
	in   io.Reader // the head, or a packet
	next int       // packet
	err  error
}

func (f *feed) Read(p []byte) (int, error) {
	for {
		n, err := f.in.Read(p)
		switch {
		case n > 0:
			return n, nil
		case err != io.EOF:
			f.err = err
			return 0, err
		case f.next == len(f.job.Packets):
			return 0, io.EOF
		}
		in, err := f.job.Open(f.ctx, f.next)
		if err != nil {
			f.err = err
			return 0, err
		}
		f.in = in
		f.next++
	}
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 4096 {
		t.b = append([]byte(nil), t.b[len(t.b)-2048:]...)
	}
	return len(p), nil
}

// last returns the last line.
func (t *tail) last() string {
	lines := bytes.Split(bytes.TrimSpace(t.b), []byte("\n"))
	return strings.ToValidUTF8(string(bytes.TrimSpace(lines[len(lines)-1])), "?")
}
