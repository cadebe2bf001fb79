package storage

import "context"

// Listing tells which files there are, by reading each folder once: to ask of each name whether there is such a file takes long of an object store. The
// zero value is ready. It is for one goroutine.
type Listing struct {
	folders map[string]map[string]bool
}

// Has reports whether a name is a file's, through links too. A folder that cannot be read has none.
func (l *Listing) Has(ctx context.Context, name string) bool {
	dir := Dir(name)
	files, known := l.folders[dir]
	if !known {
		files = map[string]bool{}
		list, _ := ReadDir(ctx, dir) // an error is that there are none
		for _, f := range list {
			if f.IsRegular() {
				files[f.Name] = true
			}
		}
		if l.folders == nil {
			l.folders = map[string]map[string]bool{}
		}
		l.folders[dir] = files
	}
	return files[Base(name)]
}
