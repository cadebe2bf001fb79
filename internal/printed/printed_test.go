package printed

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestControlCharactersAreWrittenOut(t *testing.T) {
	assert.Equal(t, `a\x1b[2J\n\tä`, Text("a\x1b[2J\n\tä"))
	assert.Equal(t, "pose/ä b", Text("pose/ä b"))
}

func TestEverythingThatATerminalObeysIsWrittenOut(t *testing.T) {
	assert.Equal(t, `\x9b31mred\x9b0m`, Text("\x9b31mred\x9b0m"), "bytes that are no UTF-8")
	assert.Equal(t, `\u009b2J \u007f \u202eabc\u202c \u2066x\u2069 \u200f \u2028 \x00\a\r`, Text("\u009b2J \x7f \u202eabc\u202c \u2066x\u2069 \u200f \u2028 \x00\a\r"))
	assert.Equal(t, `\xff\xfe\xe2\x82ä`, Text("\xff\xfe\xe2\x82ä"))
	assert.Equal(t, "\ufffd", Text("\ufffd"), "the character itself")
	assert.Equal(t, "a\n\tb\\r", Lines("a\n\tb\r"))
	assert.Equal(t, "", Text(""))
}
