package write

import (
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
)

// episodeRow is a row of meta/episodes.
type episodeRow struct {
	index, from, file int
	places            []videoPlace // one for each video feature
	plan              *episodePlan
}

// episodeTable writes meta/episodes/: a row for each episode, with its statistics.
type episodeTable struct {
	series
	fps      float64
	features []*featureTotals // the dataset's
	columns  []parquet.Field
	data     []parquet.Values // for the rows that are not written yet
	waiting  int
}

// groupEpisodes is how many episodes share a row group in meta/episodes.
const groupEpisodes = 100

// add adds an episode's row. Rows are written in groups of groupEpisodes.
func (t *episodeTable) add(r episodeRow) error {
	p := r.plan
	b := rowBuilder{t: t, first: t.columns == nil}
	b.whole("episode_index", r.index)
	b.texts("tasks", p.tasks)
	b.whole("length", p.rows)
	b.place("data", r.file)
	b.whole("dataset_from_index", r.from)
	b.whole("dataset_to_index", r.from+p.rows)
	for i, f := range t.features {
		if f.dtype == dtypeVideo {
			b.place("videos/"+f.name, r.places[i].file)
			b.number("videos/"+f.name+"/from_timestamp", float64(r.places[i].first)/t.fps)
			b.number("videos/"+f.name+"/to_timestamp", float64(r.places[i].first+p.rows)/t.fps)
		}
	}
	for i, f := range t.features {
		shape := []int{len(p.features[i].stats.columns)}
		if f.visual() {
			shape = append(shape, 1, 1)
		}
		for _, name := range f.statNames() {
			column := "stats/" + f.name + "/" + name
			if name == "count" {
				b.wholes(column, []int64{int64(p.features[i].stats.frames)})
				continue
			}
			b.numbers(column, shape, statValues(p.features[i].stats.columns, name))
		}
	}
	b.place("meta/episodes", 0) // set after the file is known
	if t.waiting++; t.waiting == groupEpisodes {
		return t.flush()
	}
	return nil
}

// flush writes the pending rows.
func (t *episodeTable) flush() error {
	if t.waiting == 0 {
		return nil
	}
	if err := t.room(t.waiting, t.columns, nil); err != nil {
		return err
	}
	for i, place := range []int{t.file / layout.ChunkFiles, t.file % layout.ChunkFiles} {
		list := t.data[len(t.data)-2+i].Int64
		for k := range list {
			list[k] = int64(place)
		}
	}
	err := t.series.write(t.waiting, t.data)
	t.data, t.waiting = make([]parquet.Values, len(t.columns)), 0
	return err
}

// rowBuilder appends one row to the table, column by column.
type rowBuilder struct {
	t     *episodeTable
	first bool
	at    int
}

// next returns the next column's data. For the first row it creates the column.
func (b *rowBuilder) next(c parquet.Field) *parquet.Values {
	if b.first {
		b.t.columns, b.t.data = append(b.t.columns, c), append(b.t.data, parquet.Values{})
	}
	b.at++
	return &b.t.data[b.at-1]
}

func (b *rowBuilder) whole(name string, v int) {
	d := b.next(parquet.Field{Name: name, Type: dtypeInt64})
	d.Int64 = append(d.Int64, int64(v))
}

// place adds the position of a file.
func (b *rowBuilder) place(prefix string, file int) {
	b.whole(prefix+"/chunk_index", file/layout.ChunkFiles)
	b.whole(prefix+"/file_index", file%layout.ChunkFiles)
}

func (b *rowBuilder) number(name string, v float64) {
	d := b.next(parquet.Field{Name: name, Type: dtypeFloat64})
	d.Float64 = append(d.Float64, v)
}

func (b *rowBuilder) wholes(name string, list []int64) {
	d := b.next(parquet.Field{Name: name, Type: dtypeInt64, Shape: []int{len(list)}})
	d.Int64 = append(d.Int64, list...)
}

func (b *rowBuilder) texts(name string, list []string) {
	d := b.next(parquet.Field{Name: name, Type: dtypeString, Ragged: true})
	d.Texts, d.Lens = append(d.Texts, list...), append(d.Lens, len(list))
}

func (b *rowBuilder) numbers(name string, shape []int, list []float64) {
	d := b.next(parquet.Field{Name: name, Type: dtypeFloat64, Shape: shape})
	d.Float64 = append(d.Float64, list...)
}
