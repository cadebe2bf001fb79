package ranks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A frame is its kind, the length of what follows in four bytes, and that.
const (
	hello byte = 'h' // of a rank to rank 0: its number and how many there are
	speak byte = 's' // in an Exchange: to rank 0 the occasion and what is said, from it what all said
	left  byte = 'l' // somebody has ended: the rank, and why
	done  byte = 'd' // who says it is no part of the group any more, and all is well

	maxFrame   = 16 << 20
	writeLimit = time.Minute // after which who does not read counts as gone
)

// link is a connection between two ranks.
type link struct {
	conn net.Conn
	rank int // of who is at the other end
	mu   sync.Mutex
	said chan []byte   // the frames of Exchange, of which there is one at a time, and one more of who is ahead
	done chan struct{} // closed when the other has left
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, said: make(chan []byte, 2), done: make(chan struct{})}
}

func (l *link) write(kind byte, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	frame := make([]byte, 5, 5+len(data))
	frame[0] = kind
	binary.LittleEndian.PutUint32(frame[1:], uint32(len(data)))
	if err := l.conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	_, err := l.conn.Write(append(frame, data...))
	return err
}

func (l *link) read() (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(l.conn, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("ranks: a frame of %d bytes", n)
	}
	data = make([]byte, n)
	_, err = io.ReadFull(l.conn, data)
	return head[0], data, err
}

// listen reads what a rank says until it, or the group, ends.
func (g *Group) listen(l *link) {
	for {
		kind, data, err := l.read()
		switch {
		case err != nil:
			g.fail(&LostError{Rank: l.rank})
			return
		case kind == done:
			close(l.done)
			return
		case kind == left:
			lost, err := parseLeft(data)
			if err != nil {
				lost = &LostError{Rank: l.rank, Why: err.Error()}
			}
			g.fail(lost)
			return
		case kind != speak:
			g.fail(&LostError{Rank: l.rank, Why: fmt.Sprintf("it said %q", kind)})
			return
		}
		select {
		case l.said <- data:
		case <-g.broken:
			return
		}
	}
}

func appendPart(b, part []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(part))), part...)
}

// parts takes a frame apart.
func parts(frame []byte, n int) ([][]byte, error) {
	list := make([][]byte, n)
	for i := range list {
		if len(frame) < 4 || uint64(len(frame)-4) < uint64(binary.LittleEndian.Uint32(frame)) {
			return nil, errors.New("ranks: a frame with fewer parts than ranks")
		}
		end := 4 + int(binary.LittleEndian.Uint32(frame))
		list[i], frame = frame[4:end], frame[end:]
	}
	return list, nil
}

func appendLeft(b []byte, e *LostError) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(e.Rank)), e.Why...)
}

func parseLeft(data []byte) (*LostError, error) {
	if len(data) < 4 {
		return nil, errors.New("a frame that is cut short")
	}
	return &LostError{Rank: int(binary.LittleEndian.Uint32(data)), Why: string(data[4:])}, nil
}
