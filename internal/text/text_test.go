package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestANounAgreesWithItsNumber(t *testing.T) {
	assert.Equal(t, []string{"0 gaps", "1 gap", "2 gaps"}, []string{Count(0, "gap"), Count(1, "gap"), Count(2, "gap")})
	assert.Equal(t, []string{"1 value jumps", "3 values jump"}, []string{Count(1, "value jumps", "values jump"), Count(3, "value jumps", "values jump")})
}

func TestALongListHasItsFirstNames(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a, b": {"a", "b"}, "a, b, c": {"a", "b", "c"}, "a, b and 2 more": {"a", "b", "c", "d"}} {
		assert.Equal(t, want, List(names, 2))
	}
}

func TestTwentyNamesAreListed(t *testing.T) {
	assert.Equal(t, "", Names(nil))
	assert.Equal(t, "a, b", Names([]string{"a", "b"}))
	many := strings.Split(strings.Repeat("x", 20), "")
	assert.Equal(t, strings.Join(many, ", "), Names(many))
	assert.Equal(t, strings.Join(many, ", ")+" and 2 more", Names(append(many, "y", "z")))
}

func TestClosestListsThreeNames(t *testing.T) {
	assert.Equal(t, "b, a", Closest("x", []string{"b", "a"}), "a short list has all names, in order")
	names := []string{"imu", "odom", "gps", "arm/joints", "arm/joint_state", "Odometry"}
	assert.Equal(t, "odom, imu, gps and 3 more", Closest("odm", names))
	assert.Equal(t, "observation/state, tasks, reward and 1 more", Closest("state", []string{"reward", "tasks", "is_first", "observation/state"}), "which has it")
	assert.Equal(t, "arm/joints, arm/joint_state, imu and 3 more", Closest("arm/joint", names))
	assert.Equal(t, []string{"imu", "odom"}, names[:2], "the list stays as it was")
}

func TestALineIsWrappedAtWords(t *testing.T) {
	line := "error  a long line with_a_long_word, and more"
	assert.Equal(t, line, Wrap(line, 0, 2), "a pipe has no width")
	assert.Equal(t, "error  a\n  long line\n  with_a_long_word,\n  and more", Wrap(line, 12, 2))
	assert.Equal(t, "whole", Wrap("whole", 3, 2))
}

func TestTheNearestNameMayHaveSwappedLetters(t *testing.T) {
	for got, want := range map[string]string{"htlm": "html", "hlep": "help", "frmo": "from", "help": "help", "xyz": "", "rsample": "resample", "a": ""} {
		assert.Equal(t, want, Nearest(got, []string{"help", "html", "from", "resample"}), got)
	}
}
