package video

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/fault"
)

// MaxPixels is the largest picture that is decoded: 268 million pixels.
const MaxPixels = 1 << 28

// Job is a decoding job.
type Job struct {
	Codec   string   // such as "h264"
	Entry   []byte   // sample entry box from an mp4 file, with the decoder's configuration if packets lack it
	Packets []Packet // in decoding order, starting where decoding can begin
	// Begins reports whether decoding can begin with a key frame. If it is nil, decoding can begin with each.
	Begins func(packet int) bool
	// Open returns a packet's bytes, exactly Size of them. ctx ends with the decoding.
	Open func(ctx context.Context, packet int) (io.Reader, error)
	// Fail returns the error for the frame at a place in ranks, without kind and got. Place -1 means the whole job.
	Fail func(place int) *dataset.FormatError
}

// Packet is an encoded frame.
type Packet struct {
	Size uint32
	Rank int32 // position among the pictures in display order
	Key  bool
}

var errLeftOut = errors.New("the next frame's picture comes instead")

// colourless has the paths of programs that do not report a picture's colours. They must convert pictures to RGB.
var colourless sync.Map

// run decodes the remaining frames with ffmpeg, or only the next one if c.single is set. It returns like drive. library is the absent
// library that decodes the stream too, or "".
func (c *cursor) run(ctx context.Context, library string) (failed int, err error) {
	path, err := c.job.program(library)
	if err != nil {
		return 0, err
	}
	j, end, until := *c.job, len(c.job.Packets), 0
	if !c.single {
		packet := func(rank int) int { return c.job.packetOf(rank) }
		n := Together(c.left, packet, func(rank int) int { return c.job.beginOf(packet(rank)) })
		if until = len(c.left) - n; until > 0 {
			c.from, end = max(c.from, c.job.beginOf(packet(c.left[0]))), 0
			for _, rank := range c.left[:n] {
				end = max(end, packet(rank)+1)
			}
		}
	}
	if c.single {
		switch next, group := j.packetOf(c.left[0]), j.nextBegin(c.from+1); {
		case next >= group:
			c.from, c.single = group, false
		case next >= c.broken:
			return next, c.undecoded(c.left[0], "", ErrUndecodable)
		default:
			end, until = next+1, len(c.left)-1
		}
	}
	j.Packets = j.Packets[c.from:end]
	j.Open = func(ctx context.Context, i int) (io.Reader, error) { return c.job.Open(ctx, c.from+i) }
	p, err := j.start(ctx, path)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	var picture *Planes
	for rank := -1; len(c.left) > until; {
		want := c.left[0]
		for rank < want && err == nil {
			last := rank
			if rank, picture, err = p.next(); err == nil && j.leftOut(last, rank) {
				err = errLeftOut // later pictures may refer to it
			}
		}
		switch {
		case err == errNoColours:
			p.stop()
			colourless.Store(path, true)
			return c.run(ctx, library)
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			return c.job.packetOf(want), p.explain(c.fail(want), err)
		case rank != want: // it refers to pictures before the first one
			err = c.answer(want, nil, c.undecoded(want, " from ffmpeg", ErrUndecodable))
		default:
			err = c.answer(want, picture, nil)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// leftOut reports whether a picture is missing between two ranks, apart from those before the first packet's.
func (j *Job) leftOut(last, rank int) bool {
	return rank > last+1 && slices.ContainsFunc(j.Packets, func(p Packet) bool {
		return int(p.Rank) > last && int(p.Rank) < rank && p.Rank >= j.Packets[0].Rank
	})
}

// ProgramError means that ffmpeg is missing, or that it or a GPU could not run here. It is not caused by the frames.
type ProgramError struct {
	Err     error
	Library string // the absent library that decodes the stream too, or ""
}

func (e *ProgramError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ProgramError) Unwrap() error { return e.Err }

// outside returns the cause if a program failed for a reason other than its input: a signal ended it, it could not start, or its output
// contains one of the given system errors. Otherwise it returns nil.
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
	const notRun, notFound = 126, 127 // exit codes if the system cannot start the program, for example without one of its libraries
	if e, exited := failed.(*exec.ExitError); exited && (e.ExitCode() == notRun || e.ExitCode() == notFound) {
		return failed
	}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if failed.Error() == "signal: "+signal.String() {
			return failed
		}
	}
	return nil
}

// program finds ffmpeg.
func program() (string, error) { return exec.LookPath(cmp.Or(os.Getenv("ROBOCACHE_FFMPEG"), "ffmpeg")) }

// program finds ffmpeg. library is the absent library that decodes the stream too, or "".
func (j *Job) program(library string) (string, error) {
	path, err := program()
	if err != nil {
		e := j.Fail(-1)
		e.Kind, e.Got = dataset.ErrUnsupported, "no program ffmpeg"
		e.Want = "it in PATH, or its path in ROBOCACHE_FFMPEG; encoded frames can be read without it"
		if library != "" {
			e.Got += " and no library " + library
			e.Want = "one of the packages ffmpeg and " + library + ", ffmpeg" + strings.TrimPrefix(e.Want, "it")
		}
		e.Err = &ProgramError{err, library}
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
	out    pictures
	errors tail
	shift  int32
	waited bool
	failed error // the program's exit error
}

// start starts ffmpeg to decode packets. ffmpeg reads them from standard input as an mp4 file. It writes Matroska, because every
// version can write a timestamp for each picture in it.
func (j *Job) start(ctx context.Context, path string) (*process, error) {
	head, shift := j.header()
	ctx, cancel := context.WithCancel(ctx)
	p := &process{cancel: cancel, shift: shift, feed: &feed{ctx: ctx, job: j, in: bytes.NewReader(head)}}
	format := formats
	p.out.picture.Matrix = unspecified
	if _, old := colourless.Load(path); old {
		format, p.out.picture.Matrix = "rgb24,format=gbrp", identity
	}
	args := []string{
		"-nostdin", "-hide_banner", "-loglevel", "error", "-xerror", "-protocol_whitelist", "file,pipe",
		"-max_pixels", fmt.Sprint(MaxPixels), "-copyts",
	}
	if j.Codec == "h264" {
		// strict waits for as many pictures as the stream may reorder, instead of guessing from the first. With several threads ffmpeg 5.1
		// does not report that it conceals missing slices.
		args = append(args, "-strict", "strict", "-threads", "1")
	}
	// A visible part may begin anywhere. Without unaligned, ffmpeg moves its left edge. With explode it reports more kinds of damage.
	args = append(args, "-flags", "unaligned", "-err_detect", "explode", "-f", "mov", "-i", "pipe:0", "-map", "0:v:0",
		"-vf", "format="+format, "-c:v", "rawvideo", "-allow_raw_vfw", "1", "-f", "matroska", "pipe:1")
	p.cmd = exec.CommandContext(ctx, path, args...)
	p.cmd.Stdin, p.cmd.Stderr = p.feed, &p.errors
	p.cmd.WaitDelay = 2 * time.Second // a wrapper script may leave ffmpeg running with the pipes open
	stdout, err := fault.Call("start", path, p.cmd.StdoutPipe)
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, &ProgramError{Err: fmt.Errorf("ffmpeg: %w", err)}
	}
	p.stdout, p.out.r = stdout, bufio.NewReaderSize(stdout, 1<<16)
	return p, nil
}

// next returns the next picture and its rank. At the end the error is io.EOF.
func (p *process) next() (rank int, picture *Planes, err error) {
	ms, picture, err := p.out.next()
	if err != nil {
		return 0, nil, err
	}
	if ms < 0 || ms%tickMillis != 0 || ms/tickMillis > 1<<31-1 {
		return 0, nil, fmt.Errorf("a picture at %d ms", ms)
	}
	return int(ms/tickMillis) - int(p.shift), picture, nil
}

// wait waits for the program's end.
func (p *process) wait() {
	if !p.waited {
		p.failed, p.waited = p.cmd.Wait(), true
	}
}

// stop ends the program if it is still running.
func (p *process) stop() {
	p.cancel()
	if !p.waited {
		p.stdout.Close() // ends an ffmpeg that a wrapper script left running
	}
	p.wait()
}

// explain completes the error for a frame without a picture. wrong is the error from reading the output, io.EOF at its end.
func (p *process) explain(e *dataset.FormatError, wrong error) error {
	ended := wrong == io.EOF || errors.Is(wrong, io.ErrUnexpectedEOF)
	if ended {
		p.wait()
	} else {
		p.stop() // the program would wait for a reader
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
	var failed error // nil if stop ended the program
	if ended {
		failed = p.failed
	}
	if outer := outside(failed, p.errors.b, syscall.ENOMEM); outer != nil {
		e.Kind, e.Err = dataset.ErrUnsupported, &ProgramError{Err: fmt.Errorf("ffmpeg: %w", outer)}
	}
	if low := strings.ToLower(line); strings.Contains(low, "decoder") && strings.Contains(low, "found") {
		e.Kind = dataset.ErrUnsupported // "no decoder found for: av1"
	}
	return e
}

// feed is ffmpeg's input file: a header followed by the packets.
type feed struct {
	ctx  context.Context
	job  *Job
	in   io.Reader // the header, or a packet
	next int       // next packet
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

// tail keeps the end of the text written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 4096 {
		t.b = append([]byte(nil), t.b[len(t.b)-2048:]...)
	}
	return len(p), nil
}

// address is a part of ffmpeg's messages that differs between runs.
var address = regexp.MustCompile(` @ 0x[0-9a-f]+`)

// last returns the last line without memory addresses.
func (t *tail) last() string {
	lines := bytes.Split(bytes.TrimSpace(t.b), []byte("\n"))
	return strings.ToValidUTF8(string(address.ReplaceAll(bytes.TrimSpace(lines[len(lines)-1]), nil)), "?")
}
