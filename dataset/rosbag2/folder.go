package rosbag2

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/listed"
	"github.com/robocache/robocache/storage"
)

// kindOf returns a file's extension, without that of its compression, in lower case.
func kindOf(path string) (kind string, compressed bool) {
	base := strings.ToLower(storage.Base(path))
	base, compressed = strings.CutSuffix(base, compressedName)
	return filepath.Ext(base), compressed
}

// nameOf is what an episode of a file or folder is called.
func nameOf(path string) string {
	base := storage.Base(path)
	if kind, compressed := kindOf(path); kind == ".db3" || kind == ".mcap" {
		if compressed {
			base = base[:len(base)-len(compressedName)]
		}
		base = base[:len(base)-len(kind)]
	}
	return base
}

// isFolder tells a bag: a folder with rosbag2's metadata.yaml, or of .db3 files that are the pieces of one, if nothing else in it may be a recording.
func isFolder(ctx context.Context, folder string) bool {
	m, err := readMetadata(ctx, folder)
	var bad *dataset.FormatError
	if m != nil || errors.As(err, &bad) {
		return true
	}
	files, err := pieces(ctx, folder)
	return err == nil && len(files) > 0 && alone(ctx, folder)
}

// alone reports whether a folder has no folders, and no files that are called as recordings of other formats are.
func alone(ctx context.Context, folder string) bool {
	list, err := storage.ReadDir(ctx, folder)
	return err == nil && !slices.ContainsFunc(list, func(f storage.Info) bool {
		return !strings.HasPrefix(f.Name, ".") && (f.IsDir() || slices.ContainsFunc(dataset.Formats(), func(o dataset.Format) bool {
			return o.Name != "rosbag2" && !o.Text && slices.Contains(o.Extensions, strings.ToLower(path.Ext(f.Name)))
		}))
	})
}

// pieces returns the .db3 files of a folder without metadata, if they are one bag: a single file, or those that are numbered under one name.
func pieces(ctx context.Context, folder string) ([]string, error) {
	names, err := bagFiles(ctx, folder)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { kind, _ := kindOf(name); return kind != ".db3" })
	if len(names) > 1 {
		for _, name := range names {
			if stem(name) == "" || stem(name) != stem(names[0]) {
				return nil, nil
			}
		}
	}
	return names, nil
}

// stem is the name of a bag that a piece is of: "run" of run_0.db3; empty if the name has no number.
func stem(name string) string {
	base := nameOf(name)
	rest := strings.TrimRight(base, "0123456789")
	if rest == base || !strings.HasSuffix(rest, "_") {
		return ""
	}
	return rest
}

// bagFiles returns the names of the files in a folder that may be of a bag, in their order.
func bagFiles(ctx context.Context, folder string) (names []string, err error) {
	list, err := storage.ReadDir(ctx, folder)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if kind, _ := kindOf(f.Name); f.IsRegular() && !strings.HasPrefix(f.Name, ".") && (kind == ".db3" || kind == ".mcap") {
			names = append(names, f.Name)
		}
	}
	slices.SortFunc(names, dataset.CompareNames)
	return names, nil
}

// readFolder finds the files.
func (s *Set) readFolder(ctx context.Context) error {
	m, err := readMetadata(ctx, s.path)
	var bad *dataset.FormatError
	if errors.As(err, &bad) && !s.opt.Strict {
		s.problem(metadataName, bad.Error()+"; the folder's files are taken instead")
		err = nil
	}
	if err != nil {
		return err
	}
	names, err := bagFiles(ctx, s.path)
	if err != nil {
		return err
	}
	if s.metadata = m; m == nil {
		if bad == nil {
			if names, err = pieces(ctx, s.path); err != nil {
				return err
			}
		}
	} else if names, err = s.listed(names); err != nil {
		return err
	}
	if len(names) == 0 {
		return &dataset.FormatError{Format: "rosbag2", Path: s.path, Offset: -1, Kind: dataset.ErrNotFound, Msg: "files of the bag", Got: "none", Want: ".db3 or .mcap files"}
	}
	for _, name := range names {
		s.files = append(s.files, storage.Join(s.path, name))
	}
	return nil
}

func (s *Set) problem(where, what string) {
	s.info.Problems = append(s.info.Problems, dataset.Problem{Where: where, What: what})
}

// listed returns the files that metadata.yaml lists, in its order, of those that there are. Old versions list them with the bag's folder before them;
// a file may be there compressed or not, whatever the list says.
func (s *Set) listed(have []string) (names []string, err error) {
	var missing []string
	for _, file := range s.metadata.Paths {
		base := path.Base(strings.ReplaceAll(file, `\`, "/"))
		at := -1
		for _, name := range []string{base, base + compressedName, strings.TrimSuffix(base, compressedName)} {
			if at = slices.Index(have, name); at >= 0 {
				break
			}
		}
		switch {
		case at < 0:
			missing = append(missing, file)
		case !slices.Contains(names, have[at]):
			names = append(names, have[at])
		}
	}
	if len(missing) > 0 {
		bad := &dataset.FormatError{Format: "rosbag2", Path: storage.Join(s.path, metadataName), Offset: -1, Kind: dataset.ErrNotFound, Msg: "files of the bag",
			Got: fmt.Sprintf("%d of %d that are not there: %s", len(missing), len(s.metadata.Paths), listed.Names(missing))}
		if s.opt.Strict || len(names) == 0 {
			return nil, bad
		}
		for _, file := range missing {
			s.problem(metadataName, "the file "+file+" is not there")
		}
	}
	for _, name := range have {
		if !slices.Contains(names, name) {
			s.problem(name, "is not listed in metadata.yaml, and not read")
		}
	}
	return names, nil
}

// disagreements says where the counts and times of metadata.yaml are not those of the files.
func (m *metadata) disagreements(b *bag) (remarks []string) {
	say := func(what string, says, has any) {
		if says != has {
			remarks = append(remarks, fmt.Sprintf("metadata.yaml says %v %s, and there are %v", says, what, has))
		}
	}
	all, topics := b.total()
	total := 0
	for _, n := range topics {
		total += n
	}
	say("messages", m.Count, int64(total))
	for _, t := range m.Topics {
		say("messages of "+t.Topic.Name, t.Count, int64(topics[t.Topic.Name]))
	}
	if total > 0 && !m.empty() && (m.Start.Nanoseconds != all.first || m.Duration.Nanoseconds != all.last-all.first) {
		remarks = append(remarks, fmt.Sprintf("metadata.yaml says that the messages are of %d ns to %d ns, and they are of %d ns to %d ns", m.Start.Nanoseconds,
			m.Start.Nanoseconds+m.Duration.Nanoseconds, all.first, all.last))
	}
	return remarks
}
