package video

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Planes decodes the frames with the given ascending ranks, and calls show for each one, in the decoder's order, with its rank as the
// number. If a driver refuses the stream, the next one decodes the rest. ffmpeg is the last one. The pictures may be on the device.
//
// If a frame cannot be decoded, show gets the reason, and the later frames follow. If a decoder fails, decoding continues at the next
// packet where it can begin, and the frames in between have an error. Planes returns an error if all frames would have it, if show returns
// one, or if ctx ends. If ffmpeg is necessary and missing, it is dataset.ErrUnsupported.
func (j *Job) Planes(ctx context.Context, ranks []int, device string, show Show) error {
	c, library, list := cursor{job: j, ranks: ranks, left: slices.Clone(ranks), device: device, show: show}, "", registered()
	for len(c.left) > 0 && c.ended == nil {
		var failed int
		var err error
		if len(list) > 0 {
			failed, err = c.drive(ctx, list[0])
		} else {
			failed, err = c.run(ctx, library)
		}
		var refused *Refusal
		switch {
		case err == nil || c.ended != nil:
		case errors.As(err, &refused):
			if refused.Reason == NoLibrary || refused.Reason == OldLibrary {
				library = list[0].Library
			}
			list = list[1:]
		case !isDamage(err):
			return err
		case c.single:
			c.broken = min(c.broken, failed)
			c.answer(c.left[0], nil, err)
		case len(list) == 0: // ffmpeg may have ended before it wrote earlier pictures
			c.single, c.broken = true, len(j.Packets)
			for begin := j.nextBegin(c.from + 1); begin <= failed; begin = j.nextBegin(begin + 1) {
				c.from = begin
			}
		default:
			c.skip(failed, err)
		}
	}
	return c.ended
}

// cursor is the position in a decoding job.
type cursor struct {
	job    *Job
	ranks  []int // the wanted frames
	left   []int // the wanted frames without a picture or an error so far
	device string
	show   Show
	ended  error // show's error, or one that all frames would have
	from   int   // the packet where decoding begins
	// single means that a process of ffmpeg decodes one frame, and gets no later packets. Then all pictures before a damaged one come. It
	// ends at the next key frame.
	single bool
	broken int // if single, the first packet without a picture
}

// answer shows the picture with a rank, or its error. It ignores frames that are not wanted or were already shown.
func (c *cursor) answer(rank int, p *Planes, err error) error {
	i, wanted := slices.BinarySearch(c.left, rank)
	if !wanted {
		return nil
	}
	c.left = slices.Delete(c.left, i, i+1)
	if c.ended = err; err == nil || isDamage(err) {
		c.ended = c.show(int64(rank), p, err)
	}
	return c.ended
}

// isDamage reports whether an error concerns some frames, so that later ones may be decoded.
func isDamage(err error) bool {
	_, broken := dataset.AsBroken(err)
	return broken && !dataset.IsFatal(err)
}

// skip moves to the first packet after a failed one where decoding can begin. The frames before it are errors. err is the first frame's.
func (c *cursor) skip(failed int, err error) {
	c.from = c.job.nextBegin(failed + 1)
	for i, rank := range slices.Clone(c.left) {
		if i > 0 {
			err = c.undecoded(rank, "", ErrUndecodable)
		}
		if c.from == len(c.job.Packets) || c.job.packetOf(rank) < c.from {
			if c.answer(rank, nil, err) != nil {
				return
			}
		}
	}
}

// nextBegin returns the first packet where decoding can begin, at the given one or after it. If there is none, it returns the number of
// packets.
func (j *Job) nextBegin(packet int) int {
	for packet < len(j.Packets) && !(j.Packets[packet].Key && (j.Begins == nil || j.Begins(packet))) {
		packet++
	}
	return min(packet, len(j.Packets))
}

// packetOf returns the index of the packet with a rank, or the number of packets.
func (j *Job) packetOf(rank int) int {
	for i, p := range j.Packets {
		if int(p.Rank) == rank {
			return i
		}
	}
	return len(j.Packets)
}

// beginOf returns the packet where decoding begins for a packet's picture: the last one up to it where decoding can begin, and that is not
// shown after it.
func (j *Job) beginOf(packet int) int {
	at := packet
	for at > 0 && !(j.Packets[at].Rank <= j.Packets[packet].Rank && j.nextBegin(at) == at) {
		at--
	}
	return at
}

// needed reports for each packet from c.from on whether the remaining frames need it. A decoder skips the others, and goes on where
// decoding can begin. It also skips pictures that are shown before the one where it begins, because they may refer to skipped ones.
func (c *cursor) needed() []bool {
	j := c.job
	list := make([]bool, len(j.Packets)-c.from)
	places := make(map[int]int, len(c.left)) // packets by rank
	for i, p := range j.Packets {
		places[int(p.Rank)] = i
	}
	for _, rank := range c.left {
		packet, there := places[rank]
		if !there || packet < c.from {
			continue
		}
		begin := max(j.beginOf(packet), c.from)
		for i := begin; i <= packet; i++ {
			if i == begin || j.Packets[i].Rank > j.Packets[begin].Rank || begin == c.from {
				list[i-c.from] = true
			}
		}
	}
	return list
}

var errEnough = errors.New("all frames are there")

// drive decodes the remaining frames with a driver. The error is a *Refusal if the driver does not decode the stream. For other errors,
// failed is the packet.
func (c *cursor) drive(ctx context.Context, driver Driver) (failed int, err error) {
	j := c.job
	explained := func(err error) error {
		if len(c.left) == 0 || c.ended != nil || ctx.Err() != nil {
			return cmp.Or(c.ended, ctx.Err())
		}
		return c.explain(driver, c.left[0], err)
	}
	s := j.stream()
	s.Device = c.device
	s.Wanted = func(number int64) bool {
		_, wanted := slices.BinarySearch(c.left, int(j.Packets[number].Rank))
		return wanted
	}
	d, err := driver.Open(s)
	if err != nil {
		return c.from, explained(err)
	}
	defer d.Close()
	shown := func(number int64, p *Planes, err error) error {
		if !s.Wanted(number) || ctx.Err() != nil {
			return ctx.Err()
		}
		rank := int(j.Packets[number].Rank)
		if err == nil {
			j.colour(p)
		} else {
			err = c.explain(driver, rank, err)
		}
		if err = c.answer(rank, p, err); len(c.left) == 0 {
			err = cmp.Or(err, errEnough)
		}
		return err
	}
	var packet []byte
	needed := c.needed()
	for i := c.from; i < len(j.Packets); i++ {
		if ctx.Err() != nil {
			return i, ctx.Err()
		}
		if !needed[i-c.from] {
			continue
		}
		if packet, err = j.read(ctx, i, packet); err != nil {
			return i, err
		}
		if err := d.Decode(packet, int64(i), shown); err != nil {
			return i, explained(err)
		}
	}
	if err := d.Flush(shown); err != nil {
		return len(j.Packets) - 1, explained(err)
	}
	for _, rank := range slices.Clone(c.left) {
		if err := c.answer(rank, nil, c.explain(driver, rank, ErrNoPicture)); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// stream returns the job's stream.
func (j *Job) stream() Stream { return Stream{Codec: j.Codec, Config: j.box("avcC", "hvcC", "av1C")} }

// explain returns the error for the frame with a rank. If the driver refuses the stream or memory is short, it returns err.
func (c *cursor) explain(driver Driver, rank int, err error) error {
	var refused *Refusal
	var short *tensor.Error
	if errors.As(err, &refused) || errors.As(err, &short) {
		return err
	}
	e := c.undecoded(rank, " from "+driver.Name, err)
	var program *ProgramError
	if errors.Is(err, syscall.ENOMEM) {
		e.Err = &ProgramError{Err: err}
	}
	if errors.As(e.Err, &program) {
		e.Kind = dataset.ErrUnsupported
	}
	return e
}

// fail returns Fail's error for the frame with a rank.
func (c *cursor) fail(rank int) *dataset.FormatError {
	place, _ := slices.BinarySearch(c.ranks, rank)
	return c.job.Fail(place)
}

// undecoded returns the error for the frame with a rank. from is the decoder.
func (c *cursor) undecoded(rank int, from string, err error) *dataset.FormatError {
	e := c.fail(rank)
	e.Kind, e.Got, e.Err = dataset.ErrCorrupt, "no picture of it"+from, err
	return e
}

// read returns a packet's bytes, in b if they fit.
func (j *Job) read(ctx context.Context, packet int, b []byte) ([]byte, error) {
	in, err := j.Open(ctx, packet)
	if err != nil {
		return nil, err
	}
	n := int(j.Packets[packet].Size)
	b = slices.Grow(b[:0], n)[:n]
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, fmt.Errorf("packet %d: %w", packet, err)
	}
	return b, nil
}

// colour sets the file's colour matrix and range if the stream states none. ffmpeg does the same, except for AV1.
func (j *Job) colour(p *Planes) {
	const matrix, flags, size = 9, 10, 11 // of a colr box with numbers
	b := j.box("colr")
	if p.Matrix == unspecified && j.Codec != "av1" && len(b) >= size && string(b[:4]) == "nclx" {
		p.Matrix, p.FullRange = b[matrix], p.FullRange || b[flags]>>7 == 1
	}
}

// box returns the body of the first box of some kinds in the sample entry, or nil.
func (j *Job) box(kinds ...string) []byte {
	const fields = 86 // of a video sample entry, before its boxes
	for b := j.Entry[min(fields, len(j.Entry)):]; len(b) >= 8; {
		n := int(binary.BigEndian.Uint32(b))
		if n < 8 || n > len(b) {
			return nil
		}
		if slices.Contains(kinds, string(b[4:8])) {
			return b[8:n]
		}
		b = b[n:]
	}
	return nil
}
