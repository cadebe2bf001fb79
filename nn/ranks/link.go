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

// A frame is its kind, the length of its data in four bytes, and the data.
const (
	hello byte = 'h' // from a rank to rank 0: its number and the count
	speak byte = 's' // for Exchange: to rank 0 the occasion and the bytes; from rank 0 all bytes
	left  byte = 'l' // a rank has ended: its number and the reason
	done  byte = 'd' // the sender has left the group without an error

	maxFrame   = 16 << 20
	writeLimit = time.Minute // a rank that does not read for this time counts as lost
)

// link is a connection between two ranks.
type link struct {
	conn net.Conn
	rank int // the rank at the other end
	mu   sync.Mutex
	said chan []byte   // frames for Exchange: the current one, and one from a rank that is ahead
	done chan struct{} // closed when the other rank has left
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

// listen reads frames from a rank until the rank or the group ends.
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

// parts returns the n parts of a frame's data, each of which begins with its length in four bytes. It returns an error if the frame
// is too short.
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
