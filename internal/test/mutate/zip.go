package mutate

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
)

// Archive is a zip archive with members as seeds, so that a mutant of a member is stored with correct checksums.
type Archive struct {
	name    string
	members []Seed
}

// Unzip reads an archive. Three of four faults in its members hit the first head bytes.
func Unzip(s Seed, head int) (*Archive, error) {
	z, err := zip.NewReader(bytes.NewReader(s.Data), int64(len(s.Data)))
	if err != nil {
		return nil, err
	}
	a := &Archive{name: s.Name}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		a.members = append(a.members, Seed{Name: s.Name + "/" + f.Name, Data: data, To: head})
	}
	return a, nil
}

// Seeds returns the archive's members. Their names begin with the archive's: "a.npz/times.npy".
func (a *Archive) Seeds() []Seed { return a.members }

// With returns the archive's bytes with a mutant in place of its original member. It returns false if the mutant's seed is no member
// of the archive.
func (a *Archive) With(m Mutant) ([]byte, bool) {
	if !strings.HasPrefix(m.Seed.Name, a.name+"/") {
		return nil, false
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, s := range a.members {
		data := s.Data
		if s.Name == m.Seed.Name {
			data = m.Data
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: strings.TrimPrefix(s.Name, a.name+"/"), Method: zip.Store})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			panic(err) // a bytes.Buffer accepts all writes
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes(), true
}
