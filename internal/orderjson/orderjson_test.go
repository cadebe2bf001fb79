package orderjson

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMembersKeepTheirOrder(t *testing.T) {
	o := Of("b", 1, "a", Of("d", []Float{1, 0.5, 1e21, 0}, "c", nil))
	o.Add("<", true)
	assert.Equal(t, []any{3, true, false}, []any{o.Len(), o.Has("a"), o.Has("d")})
	text, err := o.MarshalJSON()
	require.NoError(t, err)
	assert.JSONEq(t, `{"b":1,"a":{"d":[1.0,0.5,1e+21,0.0],"c":null},"<":true}`, string(text))
	list, err := Members(text)
	require.NoError(t, err)
	assert.Equal(t, []Member{{"b", json.RawMessage("1")}, {"a", json.RawMessage(`{"d":[1.0,0.5,1e+21,0.0],"c":null}`)}, {"<", json.RawMessage("true")}}, list)
}

func TestWhatIsNoObjectOrNumber(t *testing.T) {
	_, err := Members([]byte(" [1]"))
	assert.EqualError(t, err, "no object: got [1]")
	var syntax *json.SyntaxError
	for text, at := range map[string]int64{"": 0, `{"a":1,}`: 8, `{"a":1} x`: 9} {
		if _, err = Members([]byte(text)); assert.ErrorAs(t, err, &syntax, text) {
			assert.Equal(t, at, syntax.Offset, text)
		}
	}
	_, err = json.Marshal(Of("a", Float(math.NaN())))
	assert.Error(t, err)
}
