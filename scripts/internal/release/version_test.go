package release

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

func TestAVersionIsWrittenAsPythonDoes(t *testing.T) {
	for asked, want := range map[string]string{
		"v0.5.0": "0.5.0", "0.5.0": "0.5.0", "v1.12.3-rc.1": "1.12.3rc1", "v1.2.3-rc2": "1.2.3rc2", "1.2.3rc2": "1.2.3rc2",
		"v1.2.3-alpha.4": "1.2.3a4", "v1.2.3-beta.10": "1.2.3b10", "v1.02.3": "1.2.3",
	} {
		got, err := Version(".", asked)
		require.NoError(t, err, asked)
		assert.Equal(t, want, got)
	}
	for _, asked := range []string{"1", "v1.2", "1.2.3.4", "v1.2.3-next", "1.2.3+local", "v1.2.3 ", "../x", "1.2.3-rc"} {
		_, err := Version(".", asked)
		assert.ErrorContains(t, err, "want one as v0.5.0", asked)
	}
}

func TestATreeAfterATagIsADevelopmentVersionOfTheNext(t *testing.T) {
	for text, want := range map[string]string{
		"v0.5.0-0-g0123456789ab":             "0.5.0",
		"v0.5.0-12-g0123456789ab":            "0.5.1.dev12+g0123456789ab",
		"v0.5.0-0-g0123456789ab-dirty":       "0.5.1.dev0+g0123456789ab.dirty",
		"v0.5.0-rc.1-0-g0123456789ab":        "0.5.0rc1",
		"v0.5.0-rc.1-3-g0123456789ab-dirty":  "0.5.0rc2.dev3+g0123456789ab.dirty",
		"v0.5.9-beta.9-100-g0123456789ab":    "0.5.9b10.dev100+g0123456789ab",
		"v0.5.009-0-g0123456789ab":           "0.5.9",
		"v10.20.99-100-g0123456789ab123f":    "10.20.100.dev100+g0123456789ab123f",
		"v0.5.0-alpha1-0-g0123456789ab":      "0.5.0a1",
		"v0.5.0-alpha.1-1-g0123456789abcdef": "0.5.0a2.dev1+g0123456789abcdef",
	} {
		got, err := ofTag(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "v0.5.0", "v0.5-0-g0123", "v5-test-1-g0123"} {
		_, err := ofTag(text)
		assert.Error(t, err, text)
	}
}

func TestTheVersionIsThatOfGit(t *testing.T) {
	filetest.NeedPrograms(t, "git")
	dir := t.TempDir()
	version := func() string {
		v, err := Version(dir, "")
		require.NoError(t, err)
		return v
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	assert.Equal(t, "0.0.0.dev0", version(), "no repository")
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("init", "-q")
	put := func(text string) { filetest.Write(t, filepath.Join(dir, "f"), text) }
	put("1")
	git("add", "f")
	git("commit", "-qm", "one")
	assert.Regexp(t, `^0\.0\.0\.dev1\+g[0-9a-f]{12}$`, version(), "no tag")
	put("2")
	assert.Regexp(t, `^0\.0\.0\.dev1\+g[0-9a-f]{12}\.dirty$`, version())
	git("commit", "-qam", "two")
	git("tag", "other") // is no version
	git("tag", "v1.2.3")
	assert.Equal(t, "1.2.3", version())
	put("3")
	git("commit", "-qam", "three")
	assert.Regexp(t, `^1\.2\.4\.dev1\+g[0-9a-f]{12}$`, version())
}
