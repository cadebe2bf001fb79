package mutate

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
)

// Archive is a zip archive whose members are seeds, so that mutants of them come with checksums that are right.
type Archive struct {
	name    string
	members []Seed
}

// Unzip reads an archive. Three of four faults of its members are in the first head bytes.
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

// Seeds are the members, named after the archive: "a.npz/times.npy".
func (a *Archive) Seeds() []Seed { return a.members }

// With returns the archive with a mutant in the place of the member that it is of, and false if it is of none.
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
			panic(err) // a bytes.Buffer takes all
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes(), true
}
