package storage

import "context"

// Listing reports which files exist. It lists each folder once, because a separate request for each name is slow in an object
// store. The zero value is ready. It is for one goroutine.
type Listing struct {
	folders map[string]map[string]bool
}

// Has reports whether a name is a file; links are followed. If the folder cannot be read, it returns false.
func (l *Listing) Has(ctx context.Context, name string) bool {
	dir := Dir(name)
	files, known := l.folders[dir]
	if !known {
		files = map[string]bool{}
		list, _ := ReadDir(ctx, dir) // after an error the folder has no files
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
