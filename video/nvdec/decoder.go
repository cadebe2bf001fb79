package nvdec

import (
	"errors"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudadrv/nvdec"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/picture"
)

// delay is the number of pictures that are queued after a picture before it is read, so that the engine always has work.
const delay = 4

const maxSurfaces = 32

type parser interface {
	Parse(packet []byte) (*picture.Picture, error)
	Reset()
}

// decoder decodes a stream. It has a session of the pool from the first picture on.
type decoder struct {
	pool    *pool
	codec   nvdec.Codec
	parser  parser
	format  *picture.Format
	session *session
	queue   []queued // at most delay
	// wrong is 0 for a surface without damage. Otherwise it is 1 + the Recoveries of the last damaged picture on which its content depends.
	wrong [maxSurfaces]int
	// onDevice leaves the pictures in the device's memory.
	onDevice bool
	wanted   func(number int64) bool // nil if all pictures are
	closed   bool
}

// queued is a parsed packet. If it has a picture, the engine has it.
type queued struct {
	number  int64
	picture *picture.Picture
	err     error // why the packet gives no picture
}

// Decode queues a packet's picture, and shows the picture from delay packets before.
func (d *decoder) Decode(packet []byte, number int64, show video.Show) error {
	if d.closed {
		return &cudadrv.ClosedError{Op: "Decode", What: "decoder"}
	}
	q := queued{number: number}
	p, err := d.parser.Parse(packet)
	if err != nil {
		q.err = err
		if r, refused := refusal(err).(*video.Refusal); refused && r.Reason == video.Feature {
			return r
		}
	} else if err := d.decode(p, &q, show); err != nil {
		return err
	}
	if d.queue = append(d.queue, q); len(d.queue) > delay {
		return d.next(show)
	}
	return nil
}

// decode queues a picture on the engine.
func (d *decoder) decode(p *picture.Picture, q *queued, show video.Show) error {
	if p == nil {
		q.err = video.ErrNoPicture
		return nil
	}
	if p.Format != d.format {
		if err := d.begin(p.Format, show); err != nil {
			return err
		}
	}
	if p.Undecodable {
		q.err = video.ErrUndecodable
		if d.codec == nvdec.HEVC {
			return nil // the parser requires that the engine never gets it
		}
	}
	q.picture = p
	return d.session.check(d.session.decoder.Decode(p))
}

// begin gets a session for a new format.
func (d *decoder) begin(f *picture.Format, show video.Show) error {
	if err := d.drain(show); err != nil {
		return err
	}
	if err := d.release(); err != nil {
		return refusal(err)
	}
	s, err := d.pool.get(d.codec, f, f.Surfaces+delay)
	if err != nil {
		return refusal(err)
	}
	d.format, d.session, d.wrong = f, s, [maxSurfaces]int{}
	return nil
}

// next shows the oldest packet's picture.
func (d *decoder) next(show video.Show) error {
	q := d.queue[0]
	d.queue = d.queue[1:]
	if q.picture == nil {
		return show(q.number, nil, q.err)
	}
	surface, wrong := q.picture.Params.Int(picture.Surface), d.inherited(&q.picture.Params)
	based := wrong > q.picture.After
	unwanted := d.wanted != nil && !d.wanted(q.number)
	planes, status, err := d.session.read(surface, d.format, d.onDevice || unwanted) // no copy of an unwanted picture
	if err := d.session.check(err); err != nil {
		return err
	}
	damaged := status == nvdec.Damaged || status == nvdec.Concealed
	if damaged {
		wrong = 1 + q.picture.Recoveries
	}
	d.wrong[surface] = wrong
	err = q.err
	switch {
	case err != nil:
	case damaged:
		err = video.ErrDamaged
	case based:
		err = video.ErrUndecodable
	case q.picture.Hidden:
		err = video.ErrHidden
	}
	if err != nil {
		planes = nil
	}
	err = show(q.number, planes, err)
	if failed := d.session.check(d.session.unmap()); err == nil {
		err = failed
	}
	return err
}

// inherited returns the greatest value in wrong for the references of a picture. Its parameters list all pictures that are kept as
// references.
func (d *decoder) inherited(p *picture.Params) (wrong int) {
	if p.Int(picture.IsIntra) != 0 {
		return 0
	}
	const slots = 16
	at, step := picture.Codec+104, 28 // PicIdx in CUVIDH264DPBENTRY
	if d.codec == nvdec.HEVC {
		at, step = picture.Codec+252, 4 // RefPicIdx
	}
	for i := range slots {
		if s := p.Int(at + i*step); s >= 0 {
			wrong = max(wrong, d.wrong[s])
		}
	}
	return wrong
}

func (d *decoder) drain(show video.Show) error {
	for len(d.queue) > 0 {
		if err := d.next(show); err != nil {
			return err
		}
	}
	return nil
}

// Flush shows the pictures in the queue.
func (d *decoder) Flush(show video.Show) error {
	err := d.drain(show)
	d.parser.Reset()
	return err
}

// release returns the session to the pool.
func (d *decoder) release() error {
	s := d.session
	if s == nil {
		return nil
	}
	d.session, d.format = nil, nil
	return d.pool.put(s)
}

// Close waits for the queued pictures, and returns the session to the pool. A second Close does nothing.
func (d *decoder) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	defer d.pool.leave()
	var err error
	if d.session != nil && !d.session.failed {
		err = d.drain(func(int64, *video.Planes, error) error { return nil })
	}
	d.queue = nil
	return errors.Join(err, d.release())
}
