package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/robocache/robocache/internal/fault"
)

const (
	hubPrefix = "datasets--"     // begins the name of a dataset's folder in the Hub's cache: datasets--org--name
	hubScheme = "hf://datasets/" // begins the URL of a dataset on the Hub
	anyID     = `[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*`
)

var (
	hubID  = regexp.MustCompile(`^` + anyID + `$`) // the id of a dataset on the Hugging Face Hub: org/name
	hubURL = regexp.MustCompile(`^` + hubScheme + `(` + anyID + `)(?:@(refs/\w+/[^/]+|[^/]+))?(?:/(.*))?$`)
)

// HubError reports the id of a dataset without a local copy. errors.Is(err, fs.ErrNotExist) is true.
type HubError struct {
	ID      string
	Folders []string // that were searched
}

func (e *HubError) Error() string {
	return fmt.Sprintf("no such file or folder, and no copy of this dataset's main revision in %s; %s%s reads it from the Hub, and hf download %s --repo-type dataset downloads it",
		strings.Join(e.Folders, " or "), hubScheme, e.ID, e.ID)
}

// Unwrap returns fs.ErrNotExist.
func (e *HubError) Unwrap() error { return fs.ErrNotExist }

// HubHome returns the folder of the Hub's programs: HF_HOME, else huggingface in the user's cache folder.
func HubHome() string {
	user, _ := os.UserHomeDir() // empty if the system has none
	return cmp.Or(expanded("HF_HOME"), filepath.Join(cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(user, ".cache")), "huggingface"))
}

// expanded returns an environment variable. ~/ becomes the user's folder, and $NAME another variable, as in Python's huggingface_hub.
func expanded(name string) string {
	path := os.ExpandEnv(os.Getenv(name))
	if below, is := strings.CutPrefix(path, "~/"); is {
		if user, err := os.UserHomeDir(); err == nil {
			return filepath.Join(user, below)
		}
	}
	return path
}

// HubCache returns the folder of the Hub's cache: HF_HUB_CACHE, else hub in HubHome.
func HubCache() string { return cmp.Or(expanded("HF_HUB_CACHE"), filepath.Join(HubHome(), "hub")) }

// HubFolder returns the name of a dataset's folder in the Hub's cache. Example: datasets--lerobot--pusht for lerobot/pusht.
func HubFolder(id string) string { return hubPrefix + strings.ReplaceAll(id, "/", "--") }

// Find returns the path of the local copy of a dataset on the Hugging Face Hub, by its id, such as lerobot/pusht. It takes the revision of
// refs/main in the Hub's cache, or the only revision there, or else LeRobot's own copy. The environment variables of the Hub's and
// LeRobot's programs set the folders: HF_HUB_CACHE, HF_LEROBOT_HOME, HF_HOME and XDG_CACHE_HOME. Without a copy, the error is a *HubError.
// A path that exists, and a name with another form, are returned unchanged.
func Find(name string) (string, error) {
	if !hubID.MatchString(name) {
		return name, nil
	}
	switch _, err := fault.Lstat(name); {
	case IsSystem(err):
		return name, err
	case !errors.Is(err, fs.ErrNotExist):
		return name, nil
	}
	hub := filepath.Join(HubCache(), HubFolder(name))
	own := filepath.Join(cmp.Or(os.Getenv("HF_LEROBOT_HOME"), filepath.Join(HubHome(), "lerobot")), filepath.FromSlash(name))
	snapshots := filepath.Join(hub, "snapshots")
	revision, err := fault.ReadFile(filepath.Join(hub, "refs", "main"))
	if errors.Is(err, fs.ErrNotExist) {
		var list []fs.DirEntry
		if list, err = fault.ReadDir(snapshots); err == nil && len(list) == 1 {
			revision = []byte(list[0].Name())
		}
	}
	if IsSystem(err) {
		return name, err
	}
	for _, folder := range []string{filepath.Join(snapshots, strings.TrimSpace(string(revision))), own} {
		st, err := fault.Stat(folder)
		if IsSystem(err) {
			return name, err
		}
		if (folder == own || filepath.Dir(folder) == snapshots) && err == nil && st.IsDir() {
			return folder, nil
		}
	}
	return name, &HubError{ID: name, Folders: []string{hub, own}}
}

// ParseHubURL splits the URL of a file or folder on the Hub: hf://datasets/ORG/NAME@REVISION/PATH. The revision is a branch, a tag, a
// commit or refs/pr/NUMBER, main if there is none; a slash in it may be %2F. path has no slash at its ends; it is empty for the whole
// dataset. ok is false for any other name.
func ParseHubURL(name string) (id, revision, path string, ok bool) {
	m := hubURL.FindStringSubmatch(name)
	if m == nil {
		return "", "", "", false
	}
	revision, err := url.PathUnescape(cmp.Or(m[2], "main"))
	return m[1], revision, strings.Trim(m[3], "/"), err == nil
}

// hubName returns the last part of a dataset's id if a name is a revision in the Hub's cache, or the URL of a dataset; else "".
func hubName(name string) string {
	if id, _, below, ok := ParseHubURL(name); ok {
		if below != "" {
			return ""
		}
		return path.Base(id)
	}
	snapshots := filepath.Dir(name)
	id, cached := strings.CutPrefix(filepath.Base(filepath.Dir(snapshots)), hubPrefix)
	if !cached || filepath.Base(snapshots) != "snapshots" {
		return ""
	}
	_, last, _ := strings.Cut(id, "--")
	return cmp.Or(last, id)
}
