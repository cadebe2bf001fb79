package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// LinkKind is the type of a link from a group to an object.
type LinkKind uint8

// The link kinds.
const (
	Hard     LinkKind = iota // by its address
	Soft                     // by a path in the same file
	External                 // by a path in another file; such links are not followed
	Other                    // user-defined
)

// Link is a named entry in a group.
type Link struct {
	Name   string
	Kind   LinkKind
	Target string // for a soft link the path; for an external link the file, a colon and the path

	addr  uint64
	names *message // location of a group's names, if the link table repeats it; else nil
}

// Object is a *Group, a *Dataset or a *NamedType.
type Object interface {
	// Path returns the path that opened the object.
	Path() string
	// Attrs returns the attributes in name order.
	Attrs() ([]*Attr, error)
	// Attr returns an attribute, or an error that is dataset.ErrNotFound.
	Attr(name string) (*Attr, error)
}

// object contains the fields that all objects share.
type object struct {
	f      *File
	path   string
	header *header
}

func (o *object) Path() string { return o.path }

// Group is a group with named objects.
type Group struct {
	object
	links []Link // in name order
	lost  error
}

// Lost returns the reason why names or attributes may be missing from the group, for example a cut file. It is nil if the group is
// intact.
func (g *Group) Lost() error { return g.lost }

// NamedType is a type that the file stores under a name.
type NamedType struct {
	object
	Type *Type
}

// Links returns the group's links in name order.
func (g *Group) Links() []Link { return slices.Clone(g.links) }

// Names returns the names in the group in byte order: "demo_10" comes before "demo_2".
func (g *Group) Names() []string {
	names := make([]string, len(g.links))
	for i, l := range g.links {
		names[i] = l.Name
	}
	return names
}

// Has reports whether the group contains a name.
func (g *Group) Has(name string) bool { return g.find(name) != nil }

func (g *Group) find(name string) *Link {
	i, ok := slices.BinarySearchFunc(g.links, name, func(l Link, name string) int { return strings.Compare(l.Name, name) })
	if !ok {
		return nil
	}
	return &g.links[i]
}

// Group returns the group at a relative path, "a/b/c", or at an absolute one, "/a/b/c".
func (g *Group) Group(path string) (*Group, error) { return objectAt[*Group](g, path, "a group") }

// Dataset returns the dataset at a relative or absolute path.
func (g *Group) Dataset(path string) (*Dataset, error) {
	return objectAt[*Dataset](g, path, "a dataset")
}

// objectAt returns the object at a path, relative to a group or absolute. It must have type T.
func objectAt[T Object](g *Group, path, want string) (found T, err error) {
	o, err := g.Open(path)
	if err != nil {
		return found, err
	}
	found, ok := o.(T)
	if !ok {
		err = g.f.fail(-1, dataset.ErrNotFound, join(g.path, path), describe(o), want)
	}
	return found, err
}

func describe(o Object) string {
	switch o.(type) {
	case *Group:
		return "a group"
	case *Dataset:
		return "a dataset"
	}
	return "a type"
}

// maxLinks limits the soft links on the way to an object.
const maxLinks = 16

// Open returns the object at a relative or absolute path. If a name is missing, the error is dataset.ErrNotFound; for an external
// link it is dataset.ErrUnsupported.
func (g *Group) Open(path string) (Object, error) {
	left := maxLinks
	return g.open(path, &left)
}

func (g *Group) open(path string, left *int) (Object, error) {
	var o Object = g
	if strings.HasPrefix(path, "/") {
		o = g.f.root
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." {
			continue
		}
		in, ok := o.(*Group)
		if !ok {
			return nil, g.f.fail(-1, dataset.ErrNotFound, join(o.Path(), name), describe(o), "a group")
		}
		var err error
		if o, err = in.child(name, left); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// child follows one name.
func (g *Group) child(name string, left *int) (Object, error) {
	path := join(g.path, name)
	l := g.find(name)
	if l == nil {
		return nil, g.f.fail(-1, dataset.ErrNotFound, fmt.Sprintf("%.200s", path), "", "")
	}
	switch l.Kind {
	case Hard:
		return g.f.object(path, l.addr, l.names)
	case Soft:
		if *left--; *left < 0 {
			return nil, g.f.fail(-1, dataset.ErrCorrupt, path, "soft links one after the other", fmt.Sprintf("at most %d", maxLinks))
		}
		return g.open(l.Target, left)
	case External:
		return nil, g.f.fail(-1, dataset.ErrUnsupported, path, fmt.Sprintf("an external link to %.200q", l.Target), "an object of this file")
	}
	return nil, g.f.fail(-1, dataset.ErrUnsupported, path, "a link that a program defines", "a hard or a soft one")
}

// Walk calls fn for each object below the group, in name order. A group comes before its content, and each object comes once even
// if it has several links. Hard links come before soft links, so an object appears under its original name. If an object cannot be
// opened, fn gets the error. If fn returns an error, Walk stops and returns it; [fs.SkipDir] only skips the content of a group.
func (g *Group) Walk(fn func(path string, o Object, err error) error) error {
	return g.walk(map[uint64]bool{g.header.addr: true}, fn)
}

// maxGroups limits the nesting depth for Walk.
const maxGroups = 500

func (g *Group) walk(seen map[uint64]bool, fn func(path string, o Object, err error) error) error {
	links := g.Links()
	slices.SortStableFunc(links, func(a, b Link) int { return cmp.Compare(min(a.Kind, Soft), min(b.Kind, Soft)) })
	for _, l := range links {
		left := maxLinks
		o, err := g.child(l.Name, &left)
		if err == nil && strings.Count(g.path, "/") > maxGroups {
			o, err = nil, g.f.fail(g.f.offset(g.header.addr), dataset.ErrTooLarge, fmt.Sprintf("%.200s...", g.path), "groups in groups", fmt.Sprintf("at most %d", maxGroups))
		}
		if err == nil {
			addr := addressOf(o)
			if seen[addr] {
				continue
			}
			seen[addr] = true
		}
		err = fn(join(g.path, l.Name), o, err)
		if err == fs.SkipDir {
			continue
		}
		if err != nil {
			return err
		}
		if in, ok := o.(*Group); ok {
			if err := in.walk(seen, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

func addressOf(o Object) uint64 {
	switch o := o.(type) {
	case *Group:
		return o.header.addr
	case *Dataset:
		return o.header.addr
	case *NamedType:
		return o.header.addr
	}
	return none
}

func join(path, name string) string {
	if path == "/" || strings.HasPrefix(name, "/") {
		path = ""
	}
	return path + "/" + strings.TrimPrefix(name, "/")
}

// object opens the object at an address. names locates a group's names if they are known without its header.
func (f *File) object(path string, addr uint64, names *message) (Object, error) {
	h, err := f.header(addr)
	if err != nil {
		return nil, err
	}
	if h.lost != nil && names != nil && h.find(msgSymbolTable) == nil {
		h.messages = append(h.messages, *names)
	}
	o := object{f, path, h}
	switch {
	case h.find(msgSymbolTable) != nil || h.find(msgLinkInfo) != nil || h.find(msgLink) != nil:
		links, err := f.groupLinks(path, h)
		if err != nil && (len(links) == 0 || !errors.Is(err, dataset.ErrTruncated)) {
			return nil, err
		}
		return &Group{o, links, cmp.Or(err, h.lost)}, nil
	case h.find(msgLayout) != nil || h.find(msgDataspace) != nil:
		return f.dataset(o)
	case h.find(msgType) != nil:
		c := f.source.open(path+": type", h.find(msgType))
		t := c.dtype(0)
		if c.err != nil {
			return nil, c.err
		}
		return &NamedType{o, t}, nil
	}
	if h.lost != nil {
		return nil, h.lost
	}
	return nil, f.fail(f.offset(addr), dataset.ErrCorrupt, path, "neither group nor dataset nor type", "one")
}
