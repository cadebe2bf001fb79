package defs

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

func opened(t *testing.T, paths ...string) *Set {
	s, err := Open(context.Background(), paths)
	require.NoError(t, err)
	return s
}

func write(t *testing.T, path, text string) {
	filetest.Write(t, path, text)
}

func TestDefinitionsAreThoseOfTheDistribution(t *testing.T) {
	s := opened(t)
	for distro, want := range map[string]bool{"foxy": false, "humble": false, "iron": true, "rolling": true, "": true, "zeppelin": true} {
		assert.Equal(t, want, strings.Contains(s.Lookup(distro)("sensor_msgs/Range"), "variance"), distro)
	}
	assert.Equal(t, "Vector3 linear\nVector3 angular\n", s.Lookup("")("geometry_msgs/Twist"))
	assert.Equal(t, s.Lookup("")("geometry_msgs/Twist"), s.Lookup("")("geometry_msgs/msg/Twist"))
	assert.Equal(t, "\n", s.Lookup("")("std_msgs/Empty"), "no fields, and not unknown")
	assert.Empty(t, s.Lookup("")("no_msgs/Twist"))
	assert.Equal(t, []string{"dashing", "eloquent", "foxy", "galactic", "humble", "iron", "jazzy", "rolling"}, Distros())
}

func TestEveryBuiltInTypeHasAllThatIsInIt(t *testing.T) {
	plain := "bool byte char int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64 string wstring"
	for _, distro := range Distros() {
		lookup := opened(t).Lookup(distro)
		for name := range builtin().types {
			for line := range strings.Lines(lookup(name)) {
				words := strings.Fields(line)
				if len(words) == 0 {
					continue
				}
				require.Len(t, words, 2, name)
				kind, _, _ := strings.Cut(words[0], "[")
				kind, _, _ = strings.Cut(kind, "<=")
				if strings.Contains(" "+plain+" ", " "+kind+" ") {
					continue
				}
				if !strings.Contains(kind, "/") {
					kind = strings.Split(name, "/")[0] + "/" + kind
				}
				assert.NotEmpty(t, lookup(kind), "%s of %s", kind, name)
			}
		}
	}
}

func TestChoicesAreTheLayoutsThatDiffer(t *testing.T) {
	s := opened(t)
	assert.Equal(t, []string{"rolling"}, s.Choices("geometry_msgs/msg/Twist"))
	assert.Equal(t, []string{"rolling", "humble"}, s.Choices("sensor_msgs/Range"))
	assert.Equal(t, []string{"rolling", "galactic"}, s.Choices("visualization_msgs/MarkerArray"), "by what is in it")
	assert.Nil(t, s.Choices("no_msgs/Twist"))
}

func TestFilesOfTheCallerGoBeforeTheBuiltIn(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "share", "my_msgs", "msg", "Own.msg"), "float64 x\n")
	write(t, filepath.Join(dir, "share", "my_msgs", "msg", "Own.idl"), "module my_msgs {};")
	write(t, filepath.Join(dir, "share", "my_msgs", "msg", "Idl.idl"), "module my_msgs {};")
	write(t, filepath.Join(dir, "share", "geometry_msgs", "msg", "Twist.msg"), "float32 other\n")
	write(t, filepath.Join(dir, "flat_msgs", "Flat.msg"), "int8 a\n")
	write(t, filepath.Join(dir, "share", "my_msgs", "package.xml"), "<package/>")
	write(t, filepath.Join(dir, "share", ".git", "msg", "Hidden.msg"), "int8 a\n")
	find := opened(t, filepath.Join(dir, "share"), filepath.Join(dir, "flat_msgs", "Flat.msg")).Lookup("humble")
	assert.Equal(t, "float64 x\n", find("my_msgs/msg/Own"), ".msg before .idl")
	assert.Equal(t, "module my_msgs {};", find("my_msgs/Idl"))
	assert.Equal(t, "float32 other\n", find("geometry_msgs/Twist"))
	assert.Equal(t, "int8 a\n", find("flat_msgs/Flat"))
	assert.NotEmpty(t, find("geometry_msgs/Pose"))
	assert.Empty(t, find(".git/Hidden"))

	t.Chdir(filepath.Join(dir, "flat_msgs"))
	assert.Equal(t, "int8 a\n", opened(t, ".").Lookup("")("flat_msgs/Flat"), "a package is named by the folder, however it is reached")
	write(t, filepath.Join(dir, "first", "flat_msgs", "Flat.msg"), "int8 first\n")
	assert.Equal(t, "int8 first\n", opened(t, filepath.Join(dir, "first"), ".").Lookup("")("flat_msgs/Flat"), "the first path that has it")
}

func TestAPathWithoutDefinitionsIsAnOptionError(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		_, err := Open(context.Background(), []string{path})
		var bad *dataset.OptionError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, "Definitions", bad.Arg)
		assert.Contains(t, bad.Got, path)
	}
	write(t, filepath.Join(dir, "x_msgs", "Big.msg"), strings.Repeat("#", mostText+1))
	_, err := Open(context.Background(), []string{dir})
	assert.ErrorIs(t, err, dataset.ErrTooLarge)
}
