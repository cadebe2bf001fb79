package mp4

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// maxPixels is the largest picture that ffmpeg may decode: 268 million pixels.
const maxPixels = 1 << 28

// program finds ffmpeg.
func (t *Track) program() (string, error) {
	name := os.Getenv("ROBOCACHE_FFMPEG")
	if name == "" {
		name = "ffmpeg"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &dataset.FormatError{
			Format: "mp4", Path: t.file.path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "decode " + t.Codec, Got: "no program ffmpeg",
			Want: "it in PATH, or its path in ROBOCACHE_FFMPEG; encoded frames can be read without it", Err: err,
		}
	}
	return path, nil
}

// process is a running ffmpeg.
type process struct {
	track  *Track
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

// start has ffmpeg decode samples. It reads them from standard input as an mp4 file of their own, and writes Matroska, which any version does with a
// time for each picture.
func (t *Track) start(ctx context.Context, r run) (*process, error) {
	path, err := t.program()
	if err != nil {
		return nil, err
	}
	head, shift := t.header(r)
	p := &process{track: t, shift: shift, feed: &feed{head: head, file: t.file, samples: r.samples}}
	ctx, p.cancel = context.WithCancel(ctx)
	args := []string{"-nostdin", "-hide_banner", "-loglevel", "error", "-xerror", "-protocol_whitelist", "file,pipe", "-max_pixels", fmt.Sprint(maxPixels), "-copyts"}
	if t.Codec == "h264" {
		args = append(args, "-strict", "strict") // waits for as many pictures as the stream may reorder, and does not guess from the first
	}
	args = append(args, "-f", "mov", "-i", "pipe:0", "-map", "0:v:0", "-c:v", "rawvideo", "-pix_fmt", "rgb24", "-allow_raw_vfw", "1", "-f", "matroska", "pipe:1")
	p.cmd = exec.CommandContext(ctx, path, args...)
	p.cmd.Stdin, p.cmd.Stderr = p.feed, &p.errors
	p.cmd.WaitDelay = 2 * time.Second // a script around ffmpeg may leave it behind with the pipes
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.cancel()
		return nil, fmt.Errorf("mp4: ffmpeg: %w", err)
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
func (p *process) explain(frame int, wrong error) error {
	if wrong == io.EOF {
		p.wait()
	} else {
		p.stop() // it would wait for a reader
	}
	if p.feed.err != nil {
		return p.feed.err
	}
	e := &dataset.FormatError{
		Format: "mp4", Path: p.track.file.path, Offset: p.track.samples[p.track.order[frame]].at, Kind: dataset.ErrCorrupt,
		Msg: fmt.Sprintf("decode frame %d (%s)", frame, p.track.Codec), Got: "no picture of it from ffmpeg",
	}
	line := p.errors.last()
	switch {
	case line != "":
		e.Err = errors.New("ffmpeg: " + line)
	case wrong != io.EOF:
		e.Err = wrong
	default:
		e.Err = p.failed
	}
	if low := strings.ToLower(line); strings.Contains(low, "decoder") && strings.Contains(low, "found") {
		e.Kind = dataset.ErrUnsupported // "no decoder found for: av1"
	}
	return e
}

// feed is the file that ffmpeg reads: a head and the samples behind one another.
type feed struct {
	head    []byte
	file    *File
	samples []sample
	read    int64 // of the first of samples
	err     error
}

func (f *feed) Read(p []byte) (int, error) {
	if len(f.head) > 0 {
		n := copy(p, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	if len(f.samples) == 0 {
		return 0, io.EOF
	}
	s := f.samples[0]
	n := int(min(int64(len(p)), int64(s.size)-f.read))
	if f.err = f.file.into("frame", p[:n], s.at+f.read); f.err != nil {
		return 0, f.err
	}
	if f.read += int64(n); f.read == int64(s.size) {
		f.samples, f.read = f.samples[1:], 0
	}
	return n, nil
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
