package rlds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

const (
	infoFile     = "dataset_info.json"
	featuresFile = "features.json"
)

// defaultTemplate is the filepathTemplate for a split without one.
const defaultTemplate = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"

// maxShards limits a dataset's shards. The largest datasets have some ten thousand.
const maxShards = 1 << 17

// plan lists the files that a dataset declares.
type plan struct {
	dir, name string
	info      dataset.Info
	splits    []splitPlan
	shards    int             // declared in dataset_info.json
	has       map[string]bool // names in the folder
}

type splitPlan struct {
	name  string
	files []filePlan
}

type filePlan struct {
	name    string
	records int64 // -1 if unknown
}

// planOf makes the plan from dataset_info.json, or from the names of the record files if dataset_info.json is missing or broken.
func planOf(ctx context.Context, path string, opt Options) (*plan, error) {
	st, err := storage.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	p, only := &plan{}, ""
	var others []string
	if st.IsDir() {
		p.dir, others, err = newest(ctx, path)
	} else {
		p.dir, only = storage.Dir(path), storage.Base(path)
	}
	if err != nil {
		return nil, err
	}
	list, err := storage.ReadNames(ctx, p.dir, -1)
	if err != nil {
		return nil, err
	}
	var names []string // record file names
	p.has = map[string]bool{}
	for _, f := range list {
		p.has[f.Name] = true
		if strings.Contains(f.Name, ".tfrecord") && !f.IsDir() {
			names = append(names, f.Name)
		}
	}
	if !p.has[featuresFile] {
		return nil, formatError(dataset.ErrUnsupported, storage.Join(p.dir, only), -1, "dataset", "no features.json", "one next to the record files, which describes them")
	}
	var info datasetJSON
	path = storage.Join(p.dir, infoFile)
	if p.has[infoFile] {
		err = readJSON(path, &info)
	}
	_, broken := dataset.AsBroken(err)
	switch {
	case err != nil && (!broken || opt.Strict || len(names) == 0):
		return nil, err
	case !p.has[infoFile] || broken:
		p.ofNames(names)
	default:
		if err := p.ofInfo(path, &info, names); err != nil {
			return nil, err
		}
	}
	if broken {
		p.info.Notes.Add(dataset.Note{Code: dataset.CodeUnreadable, Subject: infoFile, Count: 1, Detail: dataset.Detail{Cause: err}})
	}
	if p.name == "" {
		p.name = storage.Base(p.dir)
	}
	if len(others) > 0 {
		p.say("other versions", strings.Join(others, ", "))
	}
	if only != "" {
		p.narrow(only)
	}
	return p, nil
}

// ofInfo reads the declarations in dataset_info.json.
func (p *plan) ofInfo(path string, info *datasetJSON, names []string) error {
	if format := strings.ToLower(info.FileFormat); format != "" && format != "tfrecord" {
		return formatError(dataset.ErrUnsupported, path, -1, "fileFormat", quote(info.FileFormat), "tfrecord")
	}
	p.name = info.Name
	for key, text := range map[string]string{"version": info.Version, "config": info.ConfigName, "description": info.Description, "citation": info.Citation} {
		if text != "" {
			p.say(key, text)
		}
	}
	listed, named := map[string]bool{}, map[string]bool{}
	for _, s := range info.Splits {
		split, err := p.split(path, info.Name, s)
		if err != nil {
			return err
		}
		if named[s.Name] {
			return formatError(dataset.ErrCorrupt, path, -1, "split "+quote(s.Name), "a second one", "each once")
		}
		named[s.Name] = true
		for _, f := range split.files {
			if listed[f.name] {
				return formatError(dataset.ErrCorrupt, path, -1, "split "+quote(s.Name), "file "+quote(f.name)+" twice", "each once")
			}
			listed[f.name] = true
		}
		p.splits = append(p.splits, split)
	}
	for _, name := range names {
		if !listed[name] {
			p.problem(dataset.CodeFileUnlisted, name, dataset.Detail{Want: infoFile})
		}
	}
	return nil
}

// say adds an attribute.
func (p *plan) say(key, text string) {
	if p.info.Attributes == nil {
		p.info.Attributes = map[string]string{}
	}
	p.info.Attributes[key] = text
}

func (p *plan) problem(code dataset.Code, file string, detail dataset.Detail) {
	p.info.Notes.Add(dataset.Note{Code: code, Subject: file, Count: 1, Detail: detail})
}

// split lists a split's files.
func (p *plan) split(path, name string, s splitJSON) (splitPlan, error) {
	split := splitPlan{name: s.Name}
	lengths := s.ShardLengths
	if lengths == nil && s.NumShards != nil && *s.NumShards > 0 && *s.NumShards <= maxShards {
		lengths = slices.Repeat([]number{-1}, int(*s.NumShards))
	}
	if p.shards += len(lengths); p.shards > maxShards {
		return split, formatError(dataset.ErrTooLarge, path, -1, "split "+quote(s.Name), fmt.Sprintf("%d shards", len(lengths)), fmt.Sprintf("at most %d of the dataset", maxShards))
	}
	template := cmp.Or(s.FilepathTemplate, defaultTemplate)
	for i, n := range lengths {
		count := fmt.Sprintf("%05d", len(lengths))
		index := fmt.Sprintf("%0*d", len(count), i)
		file := strings.NewReplacer("{DATASET}", name, "{SPLIT}", s.Name, "{FILEFORMAT}", "tfrecord", "{SHARD_INDEX}", index, "{NUM_SHARDS}", count,
			"{SHARD_X_OF_Y}", index+"-of-"+count).Replace(template)
		if !filepath.IsLocal(file) || strings.ContainsAny(file, "{}\x00") {
			return split, formatError(dataset.ErrUnsupported, path, -1, "filepathTemplate of split "+quote(s.Name), quote(template), "a file in the folder, of names as {DATASET} and {SHARD_X_OF_Y}")
		}
		split.files = append(split.files, filePlan{filepath.Clean(file), int64(n)})
	}
	return split, nil
}

// shardName matches record file names: dataset, split, and the shard's index and count.
var shardName = regexp.MustCompile(`^(.+)-([^-]+)\.tfrecord(?:-(\d{5,})-of-(\d{5,}))?$`)

// ofNames makes the splits from the names of the record files in the folder, because dataset_info.json is missing or broken. A shard's
// name implies the other shards. Example: bridge-train.tfrecord-00001-of-00010 adds ten files to the split "train", and later
// openSplit reports the missing ones.
func (p *plan) ofNames(names []string) {
	if !p.has[infoFile] {
		p.problem(dataset.CodeFileMissing, infoFile, dataset.Detail{}) // splits come from the file names
	}
	at, listed := map[string]int{}, map[string]bool{}
	for _, name := range names {
		m := shardName.FindStringSubmatch(name)
		switch {
		case listed[name]:
			continue
		case m == nil:
			p.problem(dataset.CodeFileUnlisted, name, dataset.Detail{})
			continue
		}
		files := []filePlan{{name, -1}}
		if count, err := strconv.Atoi(m[4]); err == nil && count <= maxShards {
			files = nil
			for i := range count {
				files = append(files, filePlan{fmt.Sprintf("%s-%s.tfrecord-%0*d-of-%s", m[1], m[2], len(m[4]), i, m[4]), -1})
			}
		}
		i, seen := at[m[2]]
		if !seen {
			i = len(p.splits)
			at[m[2]], p.name = i, m[1]
			p.splits = append(p.splits, splitPlan{name: m[2]})
		}
		for _, f := range files {
			if !listed[f.name] {
				listed[f.name] = true
				p.splits[i].files = append(p.splits[i].files, f)
			}
		}
	}
}

// narrow reduces the plan to one record file, because the caller opened the file's path. It drops the notes about other files.
func (p *plan) narrow(only string) {
	found := splitPlan{files: []filePlan{{only, -1}}}
	if m := shardName.FindStringSubmatch(only); m != nil {
		found.name = m[2]
	}
	for _, s := range p.splits {
		for _, f := range s.files {
			if f.name == only {
				found = splitPlan{s.name, []filePlan{f}}
			}
		}
	}
	p.splits, p.info.Notes = []splitPlan{found}, nil
}

// openSplit opens a split's existing files, and adds notes about missing ones.
func (s *Set) openSplit(ctx context.Context, p *plan, split splitPlan) error {
	out := dataset.Split{Name: split.name}
	var missing []string
	before := s.absent
	var lost error // the error if reading is strict
	for _, f := range split.files {
		path := storage.Join(p.dir, f.name)
		s.absent.Of += int(min(max(f.records, 0), math.MaxInt32))
		opened, damage, err := openShard(ctx, path)
		if err == nil {
			opened.files = &s.files
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, f.name)
			s.lack(f.records, "%s: is not there", f.name)
			lost = cmp.Or[error](lost, formatError(dataset.ErrNotFound, path, -1, "split "+quote(split.name), "no such file", "each of its shards"))
			continue
		case errors.Is(err, fs.ErrPermission):
			lost = cmp.Or[error](lost, formatError(dataset.ErrNotFound, path, -1, "split "+quote(split.name), err.Error(), "each of its shards"))
			s.info.Notes.Add(dataset.Note{Code: dataset.CodeUnreadable, Subject: f.name, Count: 1, Detail: dataset.Detail{Cause: err}})
			s.lack(f.records, "%s: cannot be read", f.name)
			continue
		case err != nil:
			return withPath(err, path)
		}
		for _, d := range damage {
			lost = cmp.Or[error](lost, d.Cause)
			s.damage = append(s.damage, d)
			d.Subject = f.name
			s.info.Notes.Add(d)
		}
		if n := int64(len(opened.records)); f.records >= 0 && n != f.records {
			lost = cmp.Or[error](lost, formatError(dataset.ErrCorrupt, path, -1, "shard", fmt.Sprintf("%d records", n), fmt.Sprintf("%d, by %s", f.records, infoFile)))
			s.info.Notes.Add(dataset.Note{Code: dataset.CodeRecordCount, Subject: f.name, Count: int(n), Detail: dataset.Detail{Of: int(min(f.records, math.MaxInt32))}})
			s.lack(f.records-n, "%s: got %d records, want %d", f.name, n, f.records)
		}
		opened.split, opened.first, opened.episode = split.name, len(out.Episodes), s.len
		for range opened.records {
			out.Episodes = append(out.Episodes, s.len)
			s.len++
		}
		s.shards = append(s.shards, opened)
	}
	s.info.Splits = append(s.info.Splits, out)
	switch n := len(missing); {
	case n == 0:
	case n == len(split.files):
		s.info.Notes.Add(dataset.Note{Code: dataset.CodeSplitMissing, Subject: "split " + split.name, Count: n})
		s.absent = before
		return nil // a split that was not downloaded is not an error in the others
	default:
		for _, name := range missing {
			s.info.Notes.Add(dataset.Note{Code: dataset.CodeFileMissing, Subject: name, Count: 1})
		}
	}
	if s.opt.Strict {
		return lost
	}
	return nil
}

// lack adds n to the number of declared episodes that are missing. The first call with n > 0 sets the reason.
func (s *Set) lack(n int64, format string, args ...any) {
	if n > 0 {
		s.absent.Count += int(min(n, math.MaxInt32))
		s.absent.Cause = cmp.Or(s.absent.Cause, fmt.Errorf(format, args...))
	}
}

func init() {
	dataset.Register(dataset.Format{
		Name: "rlds", Extensions: []string{".tfrecord"},
		// A record file has no magic number, but its first length has a checksum.
		Match: func(begin []byte) bool {
			if len(begin) < headSize {
				return false
			}
			_, sound := head(begin)
			return sound
		},
		Folder: Folder,
		Open: func(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			s, err := Open(ctx, path, opt)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	})
}
