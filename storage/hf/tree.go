package hf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strconv"

	"github.com/robocache/robocache/storage"
)

const (
	directory = "directory"
	mostPages = 10_000 // bounds the pages of a listing: 10 million names, in pages of 1000
)

// entry is a file or folder in the Hub's listing.
type entry struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	OID  string `json:"oid"` // git's hash of the content, or SHA-256 for a file in LFS; it is the ETag, and names the blob in the cache
	LFS  *struct {
		Size int64  `json:"size"`
		OID  string `json:"oid"`
	} `json:"lfs"`
}

func (e *entry) isDir() bool { return e.Type == directory }

// folder is a folder's content.
type folder struct {
	mu      mutex
	known   bool
	entries map[string]entry // by name; nil if the folder does not exist
}

func newFolder() *folder { return &folder{mu: newMutex(), entries: map[string]entry{}} }

var (
	isHash   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	nextLink = regexp.MustCompile(`<([^>]*)>; *rel="?next"?`)
)

// list returns the content of a folder, nil if the folder does not exist. The first request lists the whole dataset; if that has more than
// one page, each folder is listed when it is read.
func (p *place) list(ctx context.Context, dir string) (map[string]entry, error) {
	if p.offline {
		return p.listCache(ctx, dir)
	}
	f, err := p.folderOf(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := f.mu.lock(ctx); err != nil {
		return nil, err
	}
	defer f.mu.unlock()
	if f.known {
		return f.entries, nil
	}
	found := map[string]*folder{}
	next, err := p.page(ctx, dir, url.Values{"recursive": {"false"}, "expand": {"false"}}, found)
	for pages := 1; err == nil && next != nil; pages++ {
		if pages == mostPages {
			return nil, p.err(&storage.RequestError{Got: strconv.Itoa(pages) + " pages", Want: "a listing with an end"})
		}
		next, err = p.page(ctx, dir, next, found)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f.known = true
	if at := found[dir]; at != nil {
		f.entries = at.entries
	}
	return f.entries, nil
}

// folderOf returns a folder, which may have to be listed.
func (p *place) folderOf(ctx context.Context, dir string) (*folder, error) {
	if err := p.mu.lock(ctx); err != nil {
		return nil, err
	}
	defer p.mu.unlock()
	if p.folders == nil {
		found := map[string]*folder{".": newFolder()}
		next, err := p.page(ctx, ".", url.Values{"recursive": {"true"}, "expand": {"false"}}, found)
		if err != nil {
			return nil, err
		}
		if p.complete = next == nil; !p.complete {
			clear(found)
		}
		for _, f := range found {
			f.known = true
		}
		p.folders = found
	}
	f := p.folders[dir]
	if f == nil {
		f = newFolder()
		f.known, f.entries = p.complete, nil
		p.folders[dir] = f
	}
	return f, nil
}

// page reads a page of a listing, and adds its entries and their parents to their folders. next is the query of the next page, or nil.
func (p *place) page(ctx context.Context, dir string, query url.Values, found map[string]*folder) (next url.Values, err error) {
	var list []entry
	link, err := p.json(ctx, p.address("api/datasets/"+p.id+"/tree", dir)+"?"+query.Encode(), &list)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.LFS != nil {
			e.OID, e.Size = e.LFS.OID, e.LFS.Size
		}
		if !fs.ValidPath(e.Path) || e.Path == "." || !e.isDir() && !isHash.MatchString(e.OID) || e.Size < 0 {
			return nil, p.err(&storage.RequestError{Got: fmt.Sprintf("entry %q of %d bytes with hash %q", e.Path, e.Size, e.OID), Want: "a path, a size and a hash"})
		}
		for at := e.Path; at != "."; at = path.Dir(at) {
			above := path.Dir(at)
			if found[above] == nil {
				found[above] = newFolder()
			}
			if _, there := found[above].entries[path.Base(at)]; there && e.isDir() {
				break
			}
			found[above].entries[path.Base(at)] = e
			e = entry{Type: directory}
		}
	}
	if m := nextLink.FindStringSubmatch(link); m != nil { // of any host: only the query matters
		if u, err := url.Parse(m[1]); err == nil {
			return u.Query(), nil
		}
	}
	return nil, nil
}
