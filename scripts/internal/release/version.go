package release

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// Versions use Python's form everywhere (PEP 440), such as 0.5.0, 0.5.0rc1, or 0.5.1.dev12+g984c16712345. The linker sets the binary's
// version. The wheel has it in its name and in robocache/_version.py, and the two are compared.
var (
	tagged    = regexp.MustCompile(`^v?(\d+)\.(\d+)\.(\d+)(?:-?(alpha|beta|a|b|rc)\.?(\d+))?$`)
	described = regexp.MustCompile(`^(v.*)-(\d+)-g([0-9a-f]+)(-dirty)?$`)
)

// Version returns the version for asked, a tag (v0.5.0, v0.5.0-rc.1) or a Python version. If asked is empty, git determines it in the
// folder root: a tagged commit has the tag's version. A later commit or a changed tree is a development version of the next release.
// Without git it is 0.0.0.dev0.
func Version(root, asked string) (string, error) {
	if asked != "" {
		return released(asked)
	}
	describe := exec.Command("git", "describe", "--tags", "--long", "--dirty", "--abbrev=12", "--match", "v[0-9]*")
	describe.Dir = root
	if out, err := describe.Output(); err == nil {
		return ofTag(strings.TrimSpace(string(out)))
	}
	count, hash := "", ""
	for _, ask := range []struct {
		to   *string
		args []string
	}{{&count, []string{"rev-list", "--count", "HEAD"}}, {&hash, []string{"describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"}}} {
		cmd := exec.Command("git", ask.args...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return "0.0.0.dev0", nil
		}
		*ask.to = strings.TrimSpace(string(out))
	}
	return "0.0.0.dev" + count + "+g" + strings.Replace(hash, "-dirty", ".dirty", 1), nil
}

func released(version string) (string, error) {
	m := tagged.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("version %q, want one as v0.5.0, v0.5.0-rc.1, 0.5.0 or 0.5.0rc1", version)
	}
	return number(m), nil
}

// number converts a tag's parts to Python's form.
func number(m []string) string {
	s := whole(m[1]) + "." + whole(m[2]) + "." + whole(m[3])
	if m[4] != "" {
		s += map[string]string{"alpha": "a", "a": "a", "beta": "b", "b": "b", "rc": "rc"}[m[4]] + whole(m[5])
	}
	return s
}

// whole removes leading zeros.
func whole(digits string) string {
	if s := strings.TrimLeft(digits, "0"); s != "" {
		return s
	}
	return "0"
}

// ofTag returns the version for the output of git describe --long: TAG-COMMITS-gHASH, followed by -dirty if files were changed.
func ofTag(text string) (string, error) {
	d := described.FindStringSubmatch(text)
	if d == nil {
		return "", fmt.Errorf("git describes the tree as %q, want TAG-COMMITS-gHASH", text)
	}
	m := tagged.FindStringSubmatch(d[1])
	if m == nil {
		return "", fmt.Errorf("the last tag is %q, want one as v0.5.0 or v0.5.0-rc.1", d[1])
	}
	commits, dirty := d[2], d[4] != ""
	if commits == "0" && !dirty {
		return number(m), nil
	}
	last := 3 // index of the part that the next release increments: the candidate number, else the last number
	if m[4] != "" {
		last = 5
	}
	n, err := strconv.Atoi(m[last])
	if err != nil {
		return "", fmt.Errorf("the last tag is %q: %w", d[1], err)
	}
	m[last] = strconv.Itoa(n + 1)
	s := number(m) + ".dev" + commits + "+g" + d[3]
	if dirty {
		s += ".dirty"
	}
	return s, nil
}
