package video

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/tensor"
)

// Encoding describes how pictures are encoded. It uses LeRobot's settings: every second picture is a key frame, so that seeking is
// fast, and four pixels share their colour.
type Encoding struct {
	Codec         string // one of Encodings
	Width, Height int    // picture size in pixels
	Rate          float64
}

// encoders maps codecs to ffmpeg's encoder names.
var encoders = map[string]string{"av1": "libsvtav1", "h264": "libx264", "hevc": "libx265"}

// Encodings lists the valid values for Encoding.Codec.
func Encodings() []string { return slices.Sorted(maps.Keys(encoders)) }

// Encode writes an mp4 file from pictures u8 [Height,Width,3], which it consumes one by one. It stops at the first error, also from
// pictures, and when ctx ends; the file's content is then invalid. An error that the pictures did not cause is an *fs.PathError: a full
// or failing disk, a program that was killed or out of memory, and a missing program or encoder, which is dataset.ErrUnsupported too.
func (e Encoding) Encode(ctx context.Context, path string, pictures iter.Seq2[*tensor.Tensor, error]) error {
	job := &Job{Fail: func(int) *dataset.FormatError {
		return &dataset.FormatError{Format: "video", Offset: -1, Msg: "encode " + e.Codec}
	}}
	program, err := job.program("")
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	if e.Codec != "av1" && (e.Width%2 != 0 || e.Height%2 != 0) || e.Width < 1 || e.Height < 1 {
		bad := job.Fail(-1)
		bad.Kind, bad.Got, bad.Want = dataset.ErrShape, fmt.Sprintf("pictures of %dx%d pixels", e.Width, e.Height), "even numbers, as colours are kept of every second"
		return bad
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args := []string{
		"-nostdin", "-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", fmt.Sprintf("%dx%d", e.Width, e.Height),
		"-framerate", strconv.FormatFloat(e.Rate, 'f', -1, 64), "-i", "pipe:0", "-c:v", encoders[e.Codec], "-g", "2", "-crf", "30", "-pix_fmt", "yuv420p",
	}
	if e.Codec != "av1" {
		args = append(args, "-threads", "1") // the bytes depend on the thread count
	}
	cmd := exec.CommandContext(ctx, program, append(args, "-f", "mp4", "file:"+path)...)
	var errs tail
	cmd.Stderr, cmd.WaitDelay = &errs, 2*time.Second
	cmd.Env = append(cmd.Environ(), "SVT_LOG=1") // print errors only
	in, err := fault.Call("start", program, cmd.StdinPipe)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("ffmpeg: %w", err)
	}
	broken := e.feed(in, pictures)
	in.Close()
	if broken != nil && !errors.Is(broken, errPipe) {
		cancel()
	}
	failed := cmd.Wait()
	if broken == nil || errors.Is(broken, errPipe) {
		// If the disk is full at the end of the file, ffmpeg prints the error but exits with success.
		if err := outside(failed, errs.b, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.ENOMEM); err != nil && ctx.Err() == nil {
			return &fs.PathError{Op: "write", Path: path, Err: fmt.Errorf("ffmpeg: %w", err)}
		}
	}
	switch {
	case ctx.Err() != nil && broken == nil:
		return ctx.Err()
	case broken != nil && !errors.Is(broken, errPipe):
		return broken
	case failed == nil && broken == nil:
		return nil
	}
	bad := job.Fail(-1)
	bad.Kind, bad.Got, bad.Err = dataset.ErrCorrupt, "a failure of ffmpeg", failed
	if line := errs.line(); line != "" {
		bad.Err = errors.New("ffmpeg: " + line)
	}
	if strings.Contains(string(errs.b), "Unknown encoder") {
		bad.Kind, bad.Got, bad.Want = dataset.ErrUnsupported, "an ffmpeg without the encoder "+encoders[e.Codec], "one with it, or another codec of "+strings.Join(Encodings(), ", ")
		return &fs.PathError{Op: "write", Path: path, Err: bad}
	}
	return bad
}

// errPipe means that ffmpeg stopped reading. The program prints the reason itself.
var errPipe = errors.New("ffmpeg ended")

// feed writes the pictures to the program.
func (e Encoding) feed(in io.Writer, pictures iter.Seq2[*tensor.Tensor, error]) error {
	for t, err := range pictures {
		if err != nil {
			return err
		}
		if got := t.Shape(); !slices.Equal(got, []int{e.Height, e.Width, 3}) {
			return fmt.Errorf("video: %w: got a picture %s, want %s", dataset.ErrShape, tensor.FormatShape(got), tensor.FormatShape([]int{e.Height, e.Width, 3}))
		}
		b, err := tensor.Data[uint8](t)
		if err != nil {
			return err
		}
		if _, err := in.Write(b); err != nil {
			return fmt.Errorf("%w: %w", errPipe, err)
		}
	}
	return nil
}

// line returns the first error line, because later lines result from it.
func (t *tail) line() string {
	for line := range bytes.Lines(t.b) {
		if text := strings.TrimSpace(string(line)); text != "" && !strings.HasPrefix(text, "Svt[info]") {
			return strings.ToValidUTF8(text, "?")
		}
	}
	return ""
}
