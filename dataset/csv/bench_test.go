package csv_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/csv"
	"github.com/robocache/robocache/internal/test/settest"
)

// A table of twelve columns with ten decimals: bytes of text.
func BenchmarkRead(b *testing.B) {
	const rows = 100_000
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("#timestamp [ns],a,b,c,d,e,f,g,h,i,j,k,l\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d", 1520530308189679351+int64(i)*8333000)
		for range 12 {
			fmt.Fprintf(&text, ",%.10f", r.NormFloat64())
		}
		text.WriteByte('\n')
	}
	s, err := csv.Open(write(b, "run.csv", text.String()), dataset.Options{Strict: true})
	require.NoError(b, err)
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		e := settest.Episode(b, s, 0)
		require.Equal(b, rows, e.Streams[0].Len())
	}
}
