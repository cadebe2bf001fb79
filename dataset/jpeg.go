package dataset

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"io"
	"sync"
)

// ImageSize returns the pixels that the header of a JPEG or PNG states, without decoding it; 0 if b is neither or its header is cut.
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

// scanJPEG goes through the segments of a JPEG (ITU T.81, B.1.1.4) to the first scan.
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

// standardTables returns the segment of the Huffman tables of ITU T.81, K.3, which Go's encoder writes into every file.
var standardTables = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, image.NewYCbCr(image.Rect(0, 0, 1, 1), image.YCbCrSubsampleRatio444), nil) // a buffer takes all
	segment := b.Bytes()[bytes.Index(b.Bytes(), []byte{0xff, 0xc4}):]
	return segment[:2+int(binary.BigEndian.Uint16(segment[2:]))]
})

// decodeJPEG decodes a JPEG. Frames of Motion-JPEG may lack the Huffman tables, which are then the standard ones, and the marker of the end.
func decodeJPEG(b []byte) (image.Image, error) {
	tables, head := []byte(nil), scanJPEG(b)
	if head.scan > 0 && !head.tables {
		tables = standardTables()
	}
	return jpeg.Decode(io.MultiReader(bytes.NewReader(b[:head.scan]), bytes.NewReader(tables), bytes.NewReader(b[head.scan:]), bytes.NewReader([]byte{0xff, 0xd9})))
}
