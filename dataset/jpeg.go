package dataset

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"io"
	"sync"
)

// ImageSize returns the width and height in the header of a JPEG or PNG image, without decoding it; 0 if b is neither, or if its
// header is cut.
func ImageSize(b []byte) (width, height int) {
	if bytes.HasPrefix(b, []byte("\x89PNG")) && len(b) >= 24 {
		return int(binary.BigEndian.Uint32(b[16:])), int(binary.BigEndian.Uint32(b[20:]))
	}
	head := scanJPEG(b)
	return head.width, head.height
}

// jpegHead is the content of a JPEG before its first scan.
type jpegHead struct {
	width, height int
	scan          int  // where the first scan begins; 0 if there is none
	tables        bool // whether Huffman tables come before it
}

// scanJPEG reads the segments of a JPEG (ITU T.81, B.1.1.4) up to the first scan.
func scanJPEG(b []byte) (h jpegHead) {
	if !bytes.HasPrefix(b, []byte{0xff, 0xd8}) {
		return h
	}
	for at := 2; at+9 <= len(b) && b[at] == 0xff; {
		switch marker := b[at+1]; {
		case marker == 0xff: // fill
			at++
			continue
		case marker == 0xda:
			h.scan = at
			return h
		case marker == 0xc4:
			h.tables = true
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc8 && marker != 0xcc:
			h.height, h.width = int(binary.BigEndian.Uint16(b[at+5:])), int(binary.BigEndian.Uint16(b[at+7:]))
		}
		at += 2 + int(binary.BigEndian.Uint16(b[at+2:]))
	}
	return h
}

// IsWhole reports whether a JPEG or PNG frame is complete, without decoding it: PNG chunks have their checksums, and JPEG segments
// lead to the end marker. If it returns false, the frame may still decode, because Motion-JPEG may lack that marker.
func (m *Media) IsWhole(frame []byte) bool {
	w, h := ImageSize(frame)
	pixels := int64(w) * int64(h)
	switch m.Encoding {
	case "png":
		return pixels > 0 && pixels <= maxPixelsPerByte*int64(len(frame)) && isWholePNG(frame)
	case "jpeg": // a block of 64 pixels has at least 2 bits
		scan := scanJPEG(frame).scan
		return scan > 0 && pixels > 0 && int64(jpegEnd(frame, scan)-scan) > pixels/256
	}
	return false
}

func isWholePNG(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("\x89PNG\r\n\x1a\n"))
	for data := false; ok && len(rest) >= 12; {
		n := int64(binary.BigEndian.Uint32(rest))
		if n > int64(len(rest)-12) || crc32.ChecksumIEEE(rest[4:8+n]) != binary.BigEndian.Uint32(rest[8+n:]) {
			return false
		}
		if bytes.HasPrefix(rest[4:], []byte("IEND")) {
			return data
		}
		data = data || bytes.HasPrefix(rest[4:], []byte("IDAT"))
		rest = rest[12+n:]
	}
	return false
}

// jpegEnd returns the place of a JPEG's end marker, or 0. at is the place of its first scan.
func jpegEnd(b []byte, at int) int {
	for at+4 <= len(b) {
		at += 2 + int(binary.BigEndian.Uint16(b[at+2:]))
		for at+1 < len(b) {
			next := bytes.IndexByte(b[at:len(b)-1], 0xff)
			if next < 0 {
				return 0
			}
			at += next
			marker := b[at+1]
			if marker == 0xd9 {
				return at
			}
			if marker == 0xff { // fill
				at++
			} else if marker == 0 || marker >= 0xd0 && marker <= 0xd7 { // data, or a restart
				at += 2
			} else {
				break
			}
		}
	}
	return 0
}

// standardTables returns a segment with the Huffman tables in ITU T.81, K.3, which Go's encoder writes into every file.
var standardTables = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, image.NewYCbCr(image.Rect(0, 0, 1, 1), image.YCbCrSubsampleRatio444), nil) // a buffer takes all
	segment := b.Bytes()[bytes.Index(b.Bytes(), []byte{0xff, 0xc4}):]
	return segment[:2+int(binary.BigEndian.Uint16(segment[2:]))]
})

// decodeJPEG decodes a JPEG. Motion-JPEG frames may lack the Huffman tables, which are then the standard ones, and the end marker.
func decodeJPEG(b []byte) (image.Image, error) {
	tables, head := []byte(nil), scanJPEG(b)
	if head.scan > 0 && !head.tables {
		tables = standardTables()
	}
	return jpeg.Decode(io.MultiReader(bytes.NewReader(b[:head.scan]), bytes.NewReader(tables), bytes.NewReader(b[head.scan:]), bytes.NewReader([]byte{0xff, 0xd9})))
}
