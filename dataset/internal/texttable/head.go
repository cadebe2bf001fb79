package texttable

import (
	"bytes"
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/storage"
)

// Head is the beginning of a text, in whole lines.
type Head struct {
	End      byte
	Comments []string // the comment lines before the first other line, without their first byte; in some formats the last one is the header
	Lines    [][]byte // lines that are neither comments nor blank
	First    int      // the number of the first of these, from 1
	Cut      bool     // the last of these has no end
}

// HeadOf splits the beginning of a text, and all of it if it is whole. It is nil where that is no text: UTF-8, or any bytes from 128 up, without
// control characters.
func HeadOf(head []byte, whole bool, comments string) *Head {
	head = bytes.TrimPrefix(head, []byte(mark))
	if len(head) == 0 || bytes.IndexFunc(head, isControl) >= 0 {
		return nil
	}
	h := &Head{End: records.LineEnd(head)}
	for number := 1; len(head) > 0; number++ {
		i := bytes.IndexByte(head, h.End)
		if i < 0 && !whole {
			break // of the line a part is missing
		}
		line := head
		if i < 0 {
			head = nil
		} else {
			line, head = head[:i], head[i+1:]
		}
		line = bytes.TrimRight(line, "\r")
		switch {
		case blank(line):
		case !isComment(line, comments):
			if h.Lines == nil {
				h.First = number
			}
			h.Lines, h.Cut = append(h.Lines, line), i < 0
		case h.Lines == nil:
			h.Comments = append(h.Comments, strings.TrimSpace(strings.ToValidUTF8(string(line[1:]), "?")))
		}
	}
	return h
}

// isComment reports whether a line that is not empty begins as a comment does. "#N/A" in front of a separator is a field in which nothing is.
func isComment(line []byte, begin string) bool {
	if strings.IndexByte(begin, line[0]) < 0 {
		return false
	}
	rest, ok := bytes.CutPrefix(line, []byte("#N/A"))
	return !ok || len(rest) == 0 || strings.IndexByte(",;\t", rest[0]) < 0
}

func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
}

// Label returns the comments at the beginning, as lines.
func (h *Head) Label() string {
	const most = 4096
	text := strings.TrimSpace(strings.Join(h.Comments, "\n"))
	for len(text) > most || !utf8.ValidString(text) {
		text = text[:min(len(text)-1, most)]
	}
	return text
}

// ReadHead reads at most most bytes from a file's beginning, and its last byte. ended is false if the file does not end with a line
// end.
func ReadHead(path string, most int) (head []byte, whole, ended bool, err error) {
	f, err := storage.Open(context.Background(), path)
	if err != nil {
		return nil, false, false, err
	}
	defer f.Close()
	head = make([]byte, most+1)
	n, err := io.ReadFull(storage.Reader(f), head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, false, false, err
	}
	whole = n <= most
	head = head[:min(n, most)]
	last := []byte{'\n'}
	if f.Size() > 0 {
		if _, err := f.ReadAt(last, f.Size()-1); err != nil && err != io.EOF {
			return nil, false, false, err
		}
	}
	return head, whole, last[0] == '\n' || last[0] == '\r', nil
}

// Unended returns the note about a file that does not end with a line end.
func Unended(path string) dataset.Note {
	return dataset.Note{Code: dataset.CodeNoLineEnd, Subject: storage.Base(path)}
}
