package zarr

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

const format = "zarr"

// endsPath is the array that every dataset has.
const endsPath = "meta/episode_ends"

// metadataNames are the files that describe an array, in versions 2 and 3.
var metadataNames = [2]string{".zarray", "zarr.json"}

// files are the files of a dataset: a folder, or a zip file.
type files struct {
	path    string
	members map[string]*zip.File // by their paths below the dataset; nil for a folder
	zip     storage.File         // nil for a folder
}

// open opens the files at a path. For a zip file without a dataset the error is a *dataset.FormatError that is ErrUnsupported.
func open(ctx context.Context, path string) (*files, error) {
	st, err := storage.Stat(ctx, path)
	if err != nil || st.IsDir() {
		return &files{path: path}, err
	}
	file, err := storage.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	f := &files{path: path, members: map[string]*zip.File{}, zip: file}
	z, err := zip.NewReader(file, file.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		bad := fail(dataset.ErrCorrupt, path, "archive", "", "a zip file")
		bad.Err = err
		return nil, errors.Join(dataset.StandIn(ctx, bad, path), file.Close())
	}
	root, found := "", false
	for _, m := range z.File {
		for _, name := range metadataNames {
			if top, is := strings.CutSuffix(m.Name, endsPath+"/"+name); is && (!found || len(top) < len(root)) {
				root, found = top, true
			}
		}
	}
	if !found {
		return nil, errors.Join(fail(dataset.ErrUnsupported, path, "archive", "no "+endsPath, "a ReplayBuffer"), file.Close())
	}
	for _, m := range z.File {
		if name, in := strings.CutPrefix(m.Name, root); in {
			f.members[name] = m // the last of a name, because zarr appends new versions of a file
		}
	}
	return f, nil
}

func (f *files) close() error {
	if f.zip == nil {
		return nil
	}
	return storage.CloseOnce(f.zip)
}

// where is the path of a file in errors.
func (f *files) where(name string) string {
	if f.zip != nil {
		return f.path + ":" + name
	}
	return storage.Join(f.path, name)
}

// read returns a file's content. If there is no file, the error is fs.ErrNotExist.
func (f *files) read(ctx context.Context, name string) ([]byte, error) {
	if f.zip == nil {
		return storage.ReadFile(ctx, f.where(name))
	}
	m := f.members[name]
	if m == nil {
		return nil, fs.ErrNotExist
	}
	bad := func(kind error, got, want string) error { return fail(kind, f.where(name), "member", got, want) }
	if m.Method != zip.Store && m.Method != zip.Deflate || m.Flags&1 != 0 {
		return nil, bad(dataset.ErrUnsupported, fmt.Sprintf("method %d, flags %#x", m.Method, m.Flags), "stored or deflated")
	}
	packed, size := int64(m.CompressedSize64), int64(m.UncompressedSize64)
	if packed < 0 || packed > f.zip.Size() || size < 0 || m.Method == zip.Store && size != packed {
		return nil, bad(dataset.ErrCorrupt, fmt.Sprintf("%d bytes in %d", size, packed), "a size that the file may have")
	}
	if err := memory.Check("member", size, packed); err != nil {
		return nil, err
	}
	at, err := m.DataOffset()
	if err == nil && (at < 0 || at > f.zip.Size()-packed) {
		err = io.ErrUnexpectedEOF
	}
	data := make([]byte, packed)
	if err == nil {
		_, err = storage.Bound(ctx, f.zip).ReadAt(data, at)
	}
	if err == nil || err == io.EOF {
		err = nil
		if m.Method == zip.Deflate {
			out, r := make([]byte, size), flate.NewReader(bytes.NewReader(data))
			_, err = io.ReadFull(r, out)
			data = out
		}
	}
	switch {
	case errors.Is(err, zip.ErrFormat), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.As(err, new(flate.CorruptInputError)):
		return nil, bad(dataset.ErrCorrupt, err.Error(), "its bytes")
	case err != nil:
		return nil, err
	case crc32.ChecksumIEEE(data) != m.CRC32:
		return nil, bad(dataset.ErrCorrupt, fmt.Sprintf("CRC %08x", crc32.ChecksumIEEE(data)), fmt.Sprintf("%08x", m.CRC32))
	}
	return data, nil
}

// arrays returns the names of the folders in data, sorted by dataset.CompareNames.
func (f *files) arrays(ctx context.Context) (names []string, err error) {
	if f.zip == nil {
		list, err := storage.ReadDir(ctx, f.where("data"))
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].IsDir() {
				names = append(names, list[i].Name)
			}
		}
	}
	for member := range f.members {
		parts := strings.Split(member, "/")
		if len(parts) > 2 && parts[0] == "data" && parts[1] != "" {
			names = append(names, parts[1])
		}
	}
	slices.SortFunc(names, dataset.CompareNames)
	return slices.Compact(names), nil
}

// readJSON reads a JSON file into v. It returns fs.ErrNotExist if there is none, and a *dataset.FormatError if it is broken.
func (f *files) readJSON(ctx context.Context, name string, v any) error {
	data, err := f.read(ctx, name)
	if err != nil {
		return err
	}
	if err = json.Unmarshal(data, v); err != nil {
		bad := fail(dataset.ErrCorrupt, f.where(name), "JSON", "", "")
		bad.Err = err
		return dataset.StandIn(ctx, bad, f.where(name))
	}
	return nil
}

// fail is a *dataset.FormatError without a position.
func fail(kind error, path, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: format, Path: path, Offset: -1, Kind: kind, Msg: msg, Got: got, Want: want}
}

// isArchive recognises a zip file by its first bytes, if it does not begin with an array of numpy.
func isArchive(head []byte) bool {
	if len(head) < 30 || string(head[:4]) != "PK\x03\x04" {
		return false
	}
	name := head[30:min(len(head), 30+int(binary.LittleEndian.Uint16(head[26:])))]
	return !bytes.HasSuffix(name, []byte(".npy"))
}
