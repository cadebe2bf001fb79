package write

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/parquet"
)

// rowTable writes data/: the episodes' rows, with one row group for each episode.
type rowTable struct {
	series
	features []*featureTotals // the dataset's
	listType string           // the datasets library's name for lists: "Sequence" is read by all its versions, "List" from 4 on
}

// write adds an episode's rows.
func (t *rowTable) write(p *episodePlan) error {
	var features []*feature
	var list []parquet.Field
	var data []parquet.Values
	for i, f := range t.features {
		if f.dtype != dtypeVideo { // videos have their own files
			features, list, data = append(features, f.feature), append(list, f.column()), append(data, p.features[i].data)
		}
	}
	for _, name := range layout.Language {
		if l := p.lists[name]; l != nil {
			list, data = append(list, parquet.Field{Name: name, Lists: l}), append(data, parquet.Values{Lists: l})
		}
	}
	if err := t.room(p.rows, list, map[string]string{"huggingface": huggingface(features, t.listType)}); err != nil {
		return err
	}
	return t.series.write(p.rows, data)
}

// readBack reads all rows' numbers again for a further pass of the statistics, several columns in parallel.
func (t *rowTable) readBack(ctx context.Context) error {
	for _, path := range t.finished {
		file, err := parquet.Open("lerobot", filepath.Join(t.in.Path(), path))
		if err != nil {
			return &Error{Episode: -1, Kind: ErrReadBack, Got: path, Err: err}
		}
		free := make(chan struct{}, runtime.GOMAXPROCS(0))
		errs := make([]error, len(t.features))
		var wait sync.WaitGroup
		for i, f := range t.features {
			if f.numbers == nil {
				continue
			}
			free <- struct{}{}
			wait.Go(func() {
				errs[i] = f.readBack(ctx, file)
				<-free
			})
		}
		wait.Wait()
		file.Close()
		if err := errors.Join(errs...); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &Error{Episode: -1, Kind: ErrReadBack, Got: path, Err: err}
		}
	}
	return nil
}

// readBack adds a file's numbers to a pass of the statistics.
func (f *featureTotals) readBack(ctx context.Context, file *parquet.File) error {
	column := file.Column(f.name)
	var v parquet.Values
	for i, group := range file.Groups() {
		v = parquet.Values{Float32: v.Float32[:0], Float64: v.Float64[:0], Int64: v.Int64[:0]}
		if err := column.Read(ctx, i, 0, group.Rows, &v); err != nil {
			return err
		}
		f.count(&v)
	}
	return nil
}

// huggingface returns the features in the form that the datasets library writes to a file's metadata, so that it reads images as
// images.
func huggingface(features []*feature, listType string) string {
	type value struct {
		DType string `json:"dtype,omitempty"`
		Type  string `json:"_type"`
	}
	type list struct {
		Feature value  `json:"feature"`
		Length  int    `json:"length"`
		Type    string `json:"_type"`
	}
	columns := orderjson.Object{}
	for _, f := range features {
		var as any = value{f.dtype, "Value"}
		switch {
		case f.dtype == dtypeImage:
			as = value{"", "Image"}
		case f.shape[0] != 1:
			as = list{value{f.dtype, "Value"}, f.shape[0], listType}
		}
		columns.Add(f.name, as)
	}
	return jsonText(orderjson.Of("info", orderjson.Of("features", columns)))
}

// jsonText returns an object as JSON for a file's metadata.
func jsonText(o orderjson.Object) string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // strings and numbers never fail
	}
	return string(text)
}
