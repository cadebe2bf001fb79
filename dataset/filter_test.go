package dataset

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAFilterRefusesByItsFirstField(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		filter Filter
		want   FilterField
	}{
		{Filter{}, NoField},
		{Filter{Split: "train", Task: "lift", Success: &yes}, NoField},
		{Filter{Split: "valid", Task: "drop"}, SplitField},
		{Filter{Task: "drop", Success: &no}, TaskField},
		{Filter{Success: &no}, SuccessField},
	} {
		assert.Equal(t, c.want, c.filter.Refuses([]string{"train", "all"}, "lift", &yes), "%+v", c.filter)
	}
	assert.Equal(t, SuccessField, (&Filter{Success: &no}).Refuses(nil, "", nil), "an episode whose success is unknown")
}

func TestSplitsOfEpisodes(t *testing.T) {
	info := Info{Splits: []Split{{"train", []int{0, 1}}, {"small", []int{1, 9}}}}
	assert.Equal(t, [][]string{{"train"}, {"train", "small"}, nil}, info.SplitsOf(3))
}
