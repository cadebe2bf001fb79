package webdataset

import (
	"archive/tar"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
)

// Member is one field of a sample: the end of its name, such as "action.npy", and its bytes.
type Member struct {
	Ext  string
	Data []byte
}

// Writer writes samples to a tar file. Its methods are for one goroutine at a time.
type Writer struct {
	tar     *tar.Writer
	keys    map[string]bool
	samples int
	err     error // of the first write that failed
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{tar: tar.NewWriter(w), keys: map[string]bool{}} }

// maxName is how long a member's name may be, bytes: as long as file systems take.
const maxName = 255

// Add writes a sample. If loaders could not read the sample under these names, it writes nothing and returns a *dataset.FormatError
// that is ErrOption. Invalid keys are empty, contain a dot, begin with a slash or were used before. Invalid members have an empty
// name, a slash in it, or a name that differs from another's only in upper and lower case.
func (w *Writer) Add(key string, members ...Member) error {
	if w.err != nil {
		return w.err
	}
	if err := w.check(key, members); err != nil {
		return err
	}
	w.keys[key] = true
	for _, m := range members {
		head := tar.Header{Typeflag: tar.TypeReg, Name: key + "." + m.Ext, Size: int64(len(m.Data)), Mode: 0o444, ModTime: time.Unix(0, 0)}
		if w.err = w.tar.WriteHeader(&head); w.err == nil {
			_, w.err = w.tar.Write(m.Data)
		}
		if w.err != nil {
			return w.err
		}
	}
	w.samples++
	return nil
}

func (w *Writer) check(key string, members []Member) error {
	bad := func(what, got, want string) error {
		return &dataset.FormatError{Format: "webdataset", Offset: -1, Kind: dataset.ErrOption, Msg: what, Got: got, Want: want}
	}
	_, base := cutLast(key)
	switch {
	case base == "" || key[0] == '/' || strings.Contains(key, ".") || !printable(key):
		return bad("key", fmt.Sprintf("%.80q", key), "a name without dots")
	case strings.HasPrefix(key, "__"):
		return bad("key", fmt.Sprintf("%.80q", key), "one that does not begin with __, which readers pass over")
	case w.keys[key]:
		return bad("key", fmt.Sprintf("%.80q twice", key), "each key once")
	case len(members) == 0:
		return bad("sample "+key, "no members", "one or more")
	}
	names := map[string]bool{}
	for _, m := range members {
		small := strings.ToLower(m.Ext)
		switch {
		case m.Ext == "" || strings.Contains(m.Ext, "/") || !printable(m.Ext) || len(key)+1+len(m.Ext) > maxName:
			return bad("member of sample "+key, fmt.Sprintf("%.80q", m.Ext), fmt.Sprintf("a name without slashes, and with its key at most %d bytes", maxName))
		case names[small]:
			return bad("member of sample "+key, fmt.Sprintf("%.80q twice", m.Ext), "each name once, in small letters")
		}
		names[small] = true
	}
	return nil
}

func cutLast(key string) (dir, base string) {
	i := strings.LastIndexByte(key, '/')
	return key[:i+1], key[i+1:]
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r == '\\' || !unicode.IsPrint(r) })
}

// Len returns the number of written samples.
func (w *Writer) Len() int { return w.samples }

// Close ends the tar file. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	w.err = w.tar.Close()
	return w.err
}

// Ext converts a name, such as a stream's, to a valid member name: slashes, spaces and other characters that file systems refuse
// become _, and leading slashes and dots are removed. Example: "/joint_states.position" becomes "joint_states.position".
func Ext(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(`/\:*?"<>|`, r) || unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, strings.TrimLeft(name, "/."))
	if name == "" {
		return "_"
	}
	return name
}
