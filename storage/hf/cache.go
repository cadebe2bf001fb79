package hf

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/storage"
)

// pointer returns the file's name in the commit's snapshot in the cache, a link to its blob.
func (p *place) pointer() string {
	return filepath.Join(p.folder, "snapshots", p.sha, filepath.FromSlash(p.path))
}

// blob returns a content's name in the cache.
func (c *commit) blob(e entry) string { return filepath.Join(c.folder, "blobs", e.OID) }

// cached opens a file in the cache. It returns nil if there is no such file, and an error too if it cannot be read.
func (p *place) cached(ctx context.Context, name string) (storage.File, error) {
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !st.Mode().IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return storage.Open(ctx, name)
}

// listCache returns the content of a folder in the cache, nil if the folder does not exist.
func (p *place) listCache(ctx context.Context, dir string) (map[string]entry, error) {
	list, err := storage.ReadDir(ctx, filepath.Join(p.folder, "snapshots", p.sha, filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	entries := map[string]entry{}
	for _, i := range list {
		e := entry{Size: i.Size}
		if i.IsDir() {
			e = entry{Type: directory}
		}
		entries[i.Name] = e
	}
	return entries, err
}

// incomplete ends a blob's name while Python's program writes it.
const incomplete = ".incomplete"

// left reads the beginning that an interrupted program has left of a content, and returns its length; 0 if there is none.
func (c *commit) left(e entry, b []byte) int {
	f, err := os.Open(c.blob(e) + incomplete)
	if err != nil {
		return 0
	}
	defer f.Close()
	n, _ := io.ReadFull(f, b)
	return n
}

// keep writes a content to the cache, under a lock that the Hub's programs use. It returns false if that fails or another program holds the
// lock, because the cache is not necessary.
func (p *place) keep(e entry, b []byte) bool {
	for _, dir := range []string{p.locks, filepath.Dir(p.blob(e))} {
		if os.MkdirAll(dir, 0o777) != nil {
			return false
		}
	}
	unlock, err := atomicfile.Lock(filepath.Join(p.locks, e.OID+".lock"))
	if err != nil {
		return false
	}
	defer unlock()
	if atomicfile.WriteBytes(p.blob(e), b) != nil {
		return false
	}
	_ = os.Remove(p.blob(e) + incomplete) // which is there only after an interruption
	p.link(e)
	return true
}

// link adds a file to the commit's snapshot, and the commit to the revision, if the cache can be written.
func (p *place) link(e entry) {
	name := p.pointer()
	to, err := filepath.Rel(filepath.Dir(name), p.blob(e))
	if err == nil && os.MkdirAll(filepath.Dir(name), 0o777) == nil {
		_ = os.Symlink(to, name)
		p.keepRef()
	}
}

// keepRef writes the commit that the Hub gave for the revision to the cache, once, if the cache can be written.
func (p *place) keepRef() {
	if p.offline || p.revision == p.sha {
		return
	}
	p.refs.Do(func() {
		ref := filepath.Join(p.folder, "refs", filepath.FromSlash(p.revision))
		if was, err := os.ReadFile(ref); (err != nil || string(was) != p.sha) && os.MkdirAll(filepath.Dir(ref), 0o777) == nil {
			_ = atomicfile.WriteBytes(ref, []byte(p.sha))
		}
	})
}
