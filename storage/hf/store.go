package hf

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/ranged"
	"github.com/robocache/robocache/storage"
)

func init() { storage.Register("hf", &store{wait: 100 * time.Millisecond}) }

// mostWhole is the maximum size for fetching a file as a whole, bytes.
const mostWhole = 16 << 20

// store reads datasets on the Hub.
type store struct {
	wait time.Duration // time before a request is first repeated

	mu      sync.Mutex
	commits map[origin]*commit
}

// origin identifies a dataset's revision, and where it is read.
type origin struct {
	endpoint, id, revision string
	folder, locks          string // the dataset's folders in the Hub's cache
	offline                bool
}

// commit is a dataset at one commit, which never changes.
type commit struct {
	origin
	wait time.Duration

	reached atomic.Bool // the Hub has answered
	refs    sync.Once   // writes the revision's commit to the cache

	mu       mutex
	sha      string             // empty until it is found
	modified time.Time          // the revision's last change; zero if unknown
	folders  map[string]*folder // by path; nil until the first listing
	complete bool               // folders has all folders

	files sync.Map // a mutex for each path: it is held while the file is fetched
}

// mutex is a lock. Waiting for it ends with a context, because its owner may wait for the Hub.
type mutex chan struct{}

func newMutex() mutex { return make(mutex, 1) }

func (m mutex) lock(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m mutex) unlock() { <-m }

// place is a file or folder in a commit.
type place struct {
	*commit
	op, url string // for errors
	path    string // "." is the whole dataset
}

var isCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// locate splits a URL, and finds its commit.
func (s *store) locate(ctx context.Context, op, name string) (*place, error) {
	id, revision, below, ok := storage.ParseHubURL(name)
	at := &place{op: op, url: name, path: cmp.Or(below, ".")}
	if !ok || !fs.ValidPath(at.path) || !fs.ValidPath(revision) {
		return nil, at.err(&storage.RequestError{Kind: fs.ErrInvalid, Got: "no dataset", Want: "hf://datasets/ORG/NAME@REVISION/PATH"})
	}
	cache, folder := storage.HubCache(), storage.HubFolder(id)
	from := origin{
		endpoint: strings.TrimRight(cmp.Or(os.Getenv("HF_ENDPOINT"), "https://huggingface.co"), "/"), id: id, revision: revision,
		folder: filepath.Join(cache, folder), locks: filepath.Join(cache, ".locks", folder),
		offline: slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(os.Getenv("HF_HUB_OFFLINE"))),
	}
	s.mu.Lock()
	if at.commit = s.commits[from]; at.commit == nil {
		if s.commits == nil {
			s.commits = map[origin]*commit{}
		}
		at.commit = &commit{origin: from, wait: s.wait, mu: newMutex()}
		s.commits[from] = at.commit
	}
	s.mu.Unlock()
	return at, at.resolve(ctx)
}

// resolve finds the revision's commit.
func (p *place) resolve(ctx context.Context) error {
	if err := p.mu.lock(ctx); err != nil {
		return err
	}
	defer p.mu.unlock()
	switch {
	case p.sha != "":
	case isCommit.MatchString(p.revision):
		p.sha = p.revision
	case p.offline:
		ref, err := fault.ReadFile(filepath.Join(p.folder, "refs", filepath.FromSlash(p.revision)))
		sha := strings.TrimSpace(string(ref))
		if err != nil || !isCommit.MatchString(sha) {
			return p.err(&storage.RequestError{Kind: fs.ErrNotExist, Got: fmt.Sprintf("HF_HUB_OFFLINE and no revision %s in %s", p.revision, p.folder), Want: "a copy there, or the network", Err: err})
		}
		p.sha = sha
	default:
		var answer struct {
			SHA      string    `json:"sha"`
			Modified time.Time `json:"lastModified"`
		}
		if _, err := p.json(ctx, p.endpoint+"/api/datasets/"+p.id+"/revision/"+url.PathEscape(p.revision)+"?expand=sha&expand=lastModified", &answer); err != nil {
			return err
		}
		if !isCommit.MatchString(answer.SHA) {
			return p.err(&storage.RequestError{Got: fmt.Sprintf("commit %q", answer.SHA), Want: "40 hexadecimal digits"})
		}
		p.sha, p.modified = answer.SHA, answer.Modified.Truncate(time.Second)
	}
	return nil
}

func (p *place) err(err error) error { return &fs.PathError{Op: p.op, Path: p.url, Err: err} }

// missing returns the error for a name that does not exist. It is fs.ErrNotExist.
func (p *place) missing() error {
	want := "a file or folder in commit " + p.sha
	if p.offline {
		want += " in " + p.folder + ", or HF_HUB_OFFLINE unset"
	}
	return p.err(&storage.RequestError{Kind: fs.ErrNotExist, Got: fmt.Sprintf("no %q", p.path), Want: want})
}

// Open opens a file: in the Hub's cache, or by fetching it, or by ranges.
func (s *store) Open(ctx context.Context, name string) (storage.File, error) {
	p, err := s.locate(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	f, unread := p.cached(ctx, p.pointer())
	if f != nil {
		p.keepRef()
		return f, nil
	}
	e, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	if e.isDir() {
		return nil, p.err(&storage.RequestError{Kind: fs.ErrInvalid, Got: "a folder", Want: "a file"})
	}
	if p.offline {
		return nil, cmp.Or(unread, p.missing())
	}
	if f, _ := p.cached(ctx, p.blob(e)); f != nil {
		if f.Size() == e.Size {
			p.link(e)
			return f, nil
		}
		f.Close()
	}
	o := &object{place: p, entry: e, address: p.address("datasets/"+p.id+"/resolve", p.path)}
	from := ranged.Source{URL: name, Wait: s.wait, Get: o.get}
	if e.Size > mostWhole {
		return ranged.New(from, e.Size, nil), nil
	}
	return p.fetch(ctx, from, e)
}

// Stat describes a file or folder.
func (s *store) Stat(ctx context.Context, name string) (storage.Info, error) {
	p, err := s.locate(ctx, "stat", name)
	if err != nil {
		return storage.Info{}, err
	}
	e, err := p.find(ctx)
	if err != nil {
		return storage.Info{}, err
	}
	return p.info(storage.Base(name), e), nil
}

func (c *commit) info(name string, e entry) storage.Info {
	if e.isDir() {
		return storage.Info{Name: name, Mode: fs.ModeDir}
	}
	return storage.Info{Name: name, Size: e.Size, Modified: c.modified}
}

// List lists a folder.
func (s *store) List(ctx context.Context, name string, most int) ([]storage.Info, error) {
	p, err := s.locate(ctx, "list", name)
	if err != nil {
		return nil, err
	}
	entries, err := p.list(ctx, p.path)
	if err != nil {
		return nil, err
	}
	if entries == nil {
		return nil, p.missing()
	}
	var list []storage.Info
	for base, e := range entries {
		list = append(list, p.info(base, e))
	}
	slices.SortFunc(list, func(a, b storage.Info) int { return strings.Compare(a.Name, b.Name) })
	if most >= 0 {
		list = list[:min(len(list), most)]
	}
	return list, nil
}

// find returns the place's entry.
func (p *place) find(ctx context.Context) (entry, error) {
	dir := path.Dir(p.path)
	entries, err := p.list(ctx, dir)
	if err != nil {
		return entry{}, err
	}
	e, ok := entries[path.Base(p.path)]
	if p.path == "." {
		e, ok = entry{Type: directory}, entries != nil
	}
	if !ok {
		return entry{}, p.missing()
	}
	return e, nil
}
