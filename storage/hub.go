package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/robocache/robocache/internal/fault"
)

// hubID matches the id of a dataset on the Hugging Face Hub: org/name.
var hubID = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$`)

// hubPrefix begins the name of a dataset's folder in the Hub's cache: datasets--org--name.
const hubPrefix = "datasets--"

// HubError reports the id of a dataset without a local copy. errors.Is(err, fs.ErrNotExist) is true.
type HubError struct {
	ID      string
	Folders []string // that were searched
}

func (e *HubError) Error() string {
	return fmt.Sprintf("no such file or folder, and no copy of this dataset's main revision in %s; hf download %s --repo-type dataset downloads it from the Hub",
		strings.Join(e.Folders, " or "), e.ID)
}

// Unwrap returns fs.ErrNotExist.
func (e *HubError) Unwrap() error { return fs.ErrNotExist }

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
	user, _ := os.UserHomeDir() // empty if the system has none
	home := cmp.Or(os.Getenv("HF_HOME"), filepath.Join(cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(user, ".cache")), "huggingface"))
	hub := filepath.Join(cmp.Or(os.Getenv("HF_HUB_CACHE"), filepath.Join(home, "hub")), hubPrefix+strings.ReplaceAll(name, "/", "--"))
	own := filepath.Join(cmp.Or(os.Getenv("HF_LEROBOT_HOME"), filepath.Join(home, "lerobot")), filepath.FromSlash(name))
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

// hubName returns the last part of a dataset's id if a path is a revision in the Hub's cache; else "".
func hubName(path string) string {
	snapshots := filepath.Dir(path)
	id, cached := strings.CutPrefix(filepath.Base(filepath.Dir(snapshots)), hubPrefix)
	if !cached || filepath.Base(snapshots) != "snapshots" {
		return ""
	}
	_, name, _ := strings.Cut(id, "--")
	return cmp.Or(name, id)
}
