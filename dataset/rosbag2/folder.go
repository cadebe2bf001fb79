package rosbag2

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/storage"
)

// kindOf returns a file's extension in lower case, without the extension of its compression, and whether it has the latter.
func kindOf(path string) (kind string, compressed bool) {
	base := strings.ToLower(storage.Base(path))
	base, compressed = strings.CutSuffix(base, compressedName)
	return filepath.Ext(base), compressed
}

// nameOf returns the episode name for a file or folder.
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

// isFolder recognises a bag: a folder with rosbag2's metadata.yaml, or with the pieces of a bag.
func isFolder(ctx context.Context, folder string) bool {
	m, err := readMetadata(ctx, folder)
	var bad *dataset.FormatError
	if m != nil || errors.As(err, &bad) {
		return true
	}
	files, err := pieces(ctx, folder)
	return err == nil && len(files) > 0
}

// mostOverlap is the time, ns, by which a piece may begin before the previous piece ends, because messages are not written exactly in time
// order.
const mostOverlap = 1e9

// pieces returns the files in a folder without metadata if they are one bag, for example after a recorder was killed: a single .db3
// file, or .db3 or .mcap files that are numbered under one name and follow each other in time. The folder may not contain other
// recordings or folders.
func pieces(ctx context.Context, folder string) ([]string, error) {
	names, err := bagFiles(ctx, folder)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	list, err := storage.ReadDir(ctx, folder)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if !strings.HasPrefix(f.Name, ".") && !slices.Contains(names, f.Name) && (f.IsDir() || isRecording(f.Name)) {
			return nil, nil
		}
	}
	kind, _ := kindOf(names[0])
	if kind == ".db3" && len(names) == 1 {
		return names, nil
	}
	bases := make([]string, len(names))
	for i := range names {
		bases[i] = nameOf(names[i])
	}
	if !topics.ArePieces(bases) {
		return nil, nil
	}
	var start, end int64 // of the piece before
	whole := 0
	for _, name := range names {
		if other, _ := kindOf(name); other != kind {
			return nil, nil
		}
		if len(names) == 1 {
			return names, nil
		}
		from, to, err := ends(ctx, storage.Join(folder, name))
		if _, bad := dataset.AsBroken(err); bad || err == nil && from > to {
			continue // a piece that is broken, or has no messages
		}
		if err != nil || whole > 0 && (from <= start || from < end-mostOverlap) {
			return nil, err
		}
		start, end = from, to
		whole++
	}
	if whole == 0 {
		return nil, nil
	}
	return names, nil
}

// isRecording reports whether a file's name has the extension of a known recording format.
func isRecording(name string) bool {
	return slices.ContainsFunc(dataset.Formats(), func(f dataset.Format) bool {
		return !f.Text && slices.Contains(f.Extensions, strings.ToLower(path.Ext(name)))
	})
}

// ends returns the approximate first and last log time of a file, ns, from its first and its last part.
func ends(ctx context.Context, path string) (first, last int64, err error) {
	f, err := openFile(ctx, path, new(dataset.Notes))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return topics.Ends(ctx, f)
}

// bagFiles returns the names of the files in a folder that may belong to a bag, in recording order.
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

// readFolder sets the files of a bag's folder: the ones that metadata.yaml lists, or else all pieces.
func (s *Set) readFolder(ctx context.Context) error {
	m, err := readMetadata(ctx, s.path)
	var bad *dataset.FormatError
	if errors.As(err, &bad) && !s.opt.Strict {
		s.problem(dataset.CodeUnreadable, metadataName, dataset.Detail{Cause: bad}) // the folder's files are taken instead
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
			if len(names) > 1 {
				s.notes.Add(dataset.Note{Code: dataset.CodePiecesAssumed, Count: len(names), Detail: dataset.Detail{Names: names, Want: metadataName}})
			}
		}
	} else if names, err = s.listed(names); err != nil {
		return err
	}
	if len(names) == 0 {
		return &dataset.FormatError{Format: "rosbag2", Path: s.path, Offset: -1, Kind: dataset.ErrNotFound, Msg: "bag files", Got: "none", Want: ".db3 or .mcap files"}
	}
	for _, name := range names {
		s.files = append(s.files, storage.Join(s.path, name))
	}
	return nil
}

func (s *Set) problem(code dataset.Code, file string, detail dataset.Detail) {
	s.info.Notes.Add(dataset.Note{Code: code, Subject: file, Count: 1, Detail: detail})
}

// listed returns the existing files that metadata.yaml lists, in its order. Old versions put the bag's folder before the name. A
// file may be compressed or not, regardless of the list.
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
		bad := &dataset.FormatError{Format: "rosbag2", Path: storage.Join(s.path, metadataName), Offset: -1, Kind: dataset.ErrNotFound, Msg: "bag files",
			Got: fmt.Sprintf("%d of %d that are not there: %s", len(missing), len(s.metadata.Paths), text.Names(missing))}
		if s.opt.Strict || len(names) == 0 {
			return nil, bad
		}
		for _, file := range missing {
			s.problem(dataset.CodeFileMissing, file, dataset.Detail{})
		}
	}
	for _, name := range have {
		if !slices.Contains(names, name) {
			s.problem(dataset.CodeFileUnlisted, name, dataset.Detail{Want: metadataName})
		}
	}
	return names, nil
}

// disagreements returns notes about counts and times in metadata.yaml that differ from the files.
func (m *metadata) disagreements(b *bag) (notes dataset.Notes) {
	note := func(topic string, says int64, has int) {
		if says != int64(has) {
			notes.Add(dataset.Note{Code: dataset.CodeMessageCount, Subject: topic,
				Detail: dataset.Detail{Got: strconv.Itoa(has), Want: strconv.FormatInt(says, 10), Names: []string{metadataName}}})
		}
	}
	all, topics := b.total()
	total := 0
	for _, n := range topics {
		total += n
	}
	note("", m.Count, total)
	for _, t := range m.Topics {
		note(t.Topic.Name, t.Count, topics[t.Topic.Name])
	}
	if total > 0 && !m.empty() && (m.Start.Nanoseconds != all.first || m.Duration.Nanoseconds != all.last-all.first) {
		notes.Add(dataset.Note{Code: dataset.CodeTimeRange, Detail: dataset.Detail{Unit: "ns", Got: fmt.Sprintf("%d to %d", all.first, all.last),
			Want: fmt.Sprintf("%d to %d", m.Start.Nanoseconds, m.Start.Nanoseconds+m.Duration.Nanoseconds)}})
	}
	return notes
}
