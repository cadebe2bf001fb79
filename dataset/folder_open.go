package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/storage"
)

// reported matches the files that package convert writes next to its output: the list of finished parts, and its reports.
var reported = regexp.MustCompile(`^convert(-\d{5}-of-\d{5})?\.json$`)

// passedOver reports whether a name in a folder is never a recording.
func passedOver(name string) bool {
	return strings.HasPrefix(name, ".") || name == "lost+found" || reported.MatchString(name)
}

// openFolder opens a folder: a dataset in a folder format, or else all recordings in it if they have one format. Other files are
// ignored, also text files next to recordings in a binary format.
func openFolder(ctx context.Context, path string, opt Options) (Dataset, error) {
	if f, ok := folderFormat(ctx, path, Format{}); ok {
		return opened(f.Open(ctx, path, opt))
	}
	entries, err := storage.ReadDir(ctx, path)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e storage.Info) bool { return passedOver(e.Name) })
	s := sorting{ctx: ctx, path: path}
	if err := s.sortFolders(entries); err != nil {
		return nil, err
	}
	for _, named := range []bool{false, true} {
		if err := s.sort(entries, named); err != nil {
			return nil, err
		}
		if len(s.found)+len(s.broken)+len(s.sets) > 0 {
			break // files that only their names identify are other files
		}
	}
	f, paths, err := s.chosen()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(paths, CompareNames)
	sizes := make(map[string]int64, len(entries))
	for i := range entries {
		if entries[i].IsRegular() {
			sizes[entries[i].Name] = entries[i].Size
		}
	}
	d := &folder{path: path, format: f, opt: opt, parts: make([]part, len(paths))}
	for i, at := range paths {
		d.parts[i] = part{path: at, name: BaseName(at), bytes: sizes[storage.Base(at)]}
		if slices.Contains(s.sets[f.Name], at) {
			d.parts[i].name = storage.Base(at)
		}
	}
	if err := d.index(ctx); err != nil {
		return nil, err
	}
	d.info.Notes = append(d.info.Notes, s.unread...)
	if others := s.ignored(paths); len(others) > 0 {
		if d.info.Attributes == nil {
			d.info.Attributes = map[string]string{}
		}
		d.info.Attributes["other files"] = text.Names(others)
	}
	return d, nil
}

// folderFormat returns the folder format that recognises a folder, if any. It tries the format before first.
func folderFormat(ctx context.Context, path string, before Format) (Format, bool) {
	if before.Folder != nil && before.Folder(ctx, path) {
		return before, true
	}
	for _, f := range Formats() {
		if f.Folder != nil && f.Name != before.Name && f.Folder(ctx, path) {
			return f, true
		}
	}
	return Format{}, false
}

// sorting classifies the files and folders in a folder.
type sorting struct {
	ctx     context.Context
	path    string
	formats map[string]Format
	sets    map[string][]string // folders that are datasets, by the format's name
	found   map[string][]string // files, likewise
	broken  []string            // containers with unreadable content
	rest    Format              // the format that accepts them
	others  []string            // files without a format
	lost    []string            // files that cannot be read, such as broken links
	why     error               // the error of the first lost file
	folder  string              // the first folder that is no dataset
	unread  Notes               // notes about folders that are no dataset and contain recordings
	names   []string            // names of all files and folders
}

// ignored returns the names of the files and folders that are not in paths.
func (s *sorting) ignored(paths []string) (names []string) {
	taken := make(map[string]bool, len(paths))
	for _, path := range paths {
		taken[storage.Base(path)] = true
	}
	for _, name := range s.names {
		if !taken[strings.TrimSuffix(name, "/")] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sortFolders classifies each folder, without searching the folders in it. It tries the first folder's format first, because
// folders are mostly alike.
func (s *sorting) sortFolders(entries []storage.Info) error {
	var paths []string
	for i := range entries {
		if entries[i].IsDir() {
			paths = append(paths, storage.Join(s.path, entries[i].Name))
		}
	}
	if len(paths) == 0 {
		return nil
	}
	first, _ := folderFormat(s.ctx, paths[0], Format{})
	type matched struct {
		format Format
		ok     bool
		unread *Note
	}
	s.formats, s.sets = map[string]Format{}, map[string][]string{}
	n := storage.AtOnce(s.path)
	for i, m := range inorder.Each(s.ctx, len(paths), n, n, func(matched) int { return n }, func(ctx context.Context, i int) (m matched) {
		if ctx.Err() == nil {
			m.format, m.ok = folderFormat(ctx, paths[i], first)
		}
		if !m.ok && ctx.Err() == nil {
			m.unread = unread(ctx, paths[i])
		}
		return m
	}) {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		base := storage.Base(paths[i])
		switch s.names = append(s.names, base+"/"); {
		case m.ok:
			s.formats[m.format.Name] = m.format
			s.sets[m.format.Name] = append(s.sets[m.format.Name], paths[i])
			continue
		case m.unread != nil:
			m.unread.Subject = base
			s.unread = append(s.unread, *m.unread)
		}
		s.folder = cmp.Or(s.folder, base)
	}
	return nil
}

// mostUnread is the largest number of names that are examined in a folder that is no dataset.
const mostUnread = 1000

// unread returns a note about the recordings in a folder that is no dataset, or about an error; nil if it has no recordings.
func unread(ctx context.Context, path string) *Note {
	list, err := storage.ReadNames(ctx, path, mostUnread)
	if err != nil {
		return &Note{Code: CodeUnreadable, Count: 1, Detail: Detail{Cause: err}}
	}
	var names []string
	for i := range list {
		if name := list[i].Name; !passedOver(name) && !list[i].IsDir() && recorded(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.SortFunc(names, CompareNames)
	return &Note{Code: CodeFolderUnread, Count: len(names), Detail: Detail{Names: []string{text.Names(names)}}}
}

// recorded reports whether a file has the extension of a format that is not plain text.
func recorded(name string) bool {
	return slices.ContainsFunc(Formats(), func(f Format) bool { return !f.Text && f.named(name) })
}

// sort classifies each file by its content, and with named also by its name.
func (s *sorting) sort(entries []storage.Info, named bool) error {
	var files []string
	for i := range entries {
		if e := &entries[i]; e.IsRegular() || e.Mode&fs.ModeSymlink != 0 { // a link leads to nothing, which is the error
			files = append(files, storage.Join(s.path, e.Name))
		}
	}
	s.found, s.broken, s.rest, s.others, s.lost, s.why = map[string][]string{}, nil, Format{}, nil, nil, nil
	type matched struct {
		format Format
		ok     bool
		err    error
	}
	n := storage.AtOnce(s.path)
	for i, m := range inorder.Each(s.ctx, len(files), n, n, func(matched) int { return n }, func(ctx context.Context, i int) (m matched) {
		head, err := headOf(ctx, files[i])
		if err != nil {
			return matched{err: err}
		}
		m.format, m.ok, m.err = match(ctx, files[i], head, named)
		return m
	}) {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if !named {
			s.names = append(s.names, storage.Base(files[i]))
		}
		var bad *FormatError
		switch {
		case errors.As(m.err, &bad):
			if s.broken = append(s.broken, files[i]); m.format.Open != nil {
				s.rest = m.format
			}
		case m.err != nil:
			s.lost, s.why = append(s.lost, files[i]), cmp.Or(s.why, m.err)
		case m.ok:
			if s.formats == nil {
				s.formats = map[string]Format{}
			}
			s.formats[m.format.Name] = m.format
			s.found[m.format.Name] = append(s.found[m.format.Name], files[i])
		default:
			s.others = append(s.others, files[i])
		}
	}
	return nil
}

// chosen returns the folder's one format and its files and folders. Files that have the format's extension and are broken are
// included; each becomes an episode that is an error.
func (s *sorting) chosen() (Format, []string, error) {
	recordings := maps.Clone(s.found)
	if maps.DeleteFunc(recordings, func(name string, _ []string) bool { return s.formats[name].Text }); len(recordings)+len(s.broken)+len(s.sets) > 0 {
		s.found = recordings
	}
	all := map[string][]string{}
	for _, of := range []map[string][]string{s.found, s.sets} {
		for name, paths := range of {
			all[name] = append(all[name], paths...)
		}
	}
	switch {
	case len(all)+len(s.broken) == 0 && s.why != nil:
		return Format{}, nil, s.why
	case len(all) > 1 || len(all) == 0 && s.rest.Open == nil:
		return Format{}, nil, s.refused(all)
	}
	f, paths := s.rest, []string{}
	for name := range all {
		f, paths = s.formats[name], all[name]
	}
	if f.Text && len(s.found) == 0 {
		return f, paths, nil // text files next to folders are no recordings
	}
	for _, file := range s.broken {
		if len(s.sets) == 0 || f.named(file) {
			paths = append(paths, file)
		}
	}
	for _, file := range s.lost {
		if f.named(file) {
			paths = append(paths, file)
		}
	}
	for _, file := range s.others {
		if !f.named(file) {
			continue
		}
		if head, err := headOf(s.ctx, file); !f.Text || err != nil || len(head) == 0 || f.Named != nil && f.Named(head) {
			paths = append(paths, file)
		}
	}
	return f, paths, nil
}

// refused returns the error for a folder with recordings in several formats, or with none.
func (s *sorting) refused(all map[string][]string) error {
	got, want := "a folder without a recording in any known format", "files or folders of one: "+known("")
	switch {
	case len(all) > 1:
		var list []string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			list = append(list, fmt.Sprintf("%d of %s", len(all[name]), name))
		}
		got, want = "a folder with recordings of several: "+strings.Join(list, ", "), "those of one in a folder"
	case len(s.unread) > 0:
		got += fmt.Sprintf("; in it %q, ", s.unread[0].Subject)
		if n := &s.unread[0]; n.Cause != nil {
			got += n.Cause.Error()
		} else {
			got += "a folder in no known format, with recordings in it that are not read: " + n.Names[0]
		}
	case s.folder != "":
		got += fmt.Sprintf("; folders in it that are none, such as %q, are not looked into", s.folder)
	}
	return &FormatError{Format: "dataset", Path: s.path, Offset: -1, Kind: ErrUnsupported, Msg: "format", Got: got, Want: want}
}
