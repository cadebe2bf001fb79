package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/schema"
)

// The files in a checkpoint.
const (
	configFile   = "config.json"
	modelFile    = "model.safetensors"
	trainingFile = "training.safetensors"
)

// BestFolder is the folder inside a checkpoint with the weights at the step with the lowest held-out loss. It is a checkpoint too.
const BestFolder = "best"

// IsFile reports whether name is a file name in a checkpoint: config.json, model.safetensors or training.safetensors.
func IsFile(name string) bool { return name == configFile || name == modelFile || name == trainingFile }

func in(dir, name string) string { return filepath.Join(dir, name) }

// Exists reports whether a folder has a checkpoint. It returns false if the folder does not exist, is empty, or has only the
// files that a program left when it was killed in its first Save. A folder with other files is a *CheckpointError.
func Exists(dir string) (bool, error) {
	list, err := fault.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if _, err = readConfig(dir); err == nil {
		return true, nil
	}
	names := []string{}
	for _, f := range list {
		if _, left := atomicfile.Left(f.Name()); !left && f.Name() != BestFolder {
			names = append(names, f.Name())
		}
	}
	if begun := [][]string{{}, {trainingFile}, {modelFile, trainingFile}}; slices.ContainsFunc(begun, func(l []string) bool { return slices.Equal(l, names) }) {
		return false, nil
	}
	if !slices.Contains(names, configFile) {
		err = &CheckpointError{Dir: dir, Got: fmt.Sprintf("a folder with %s and no %s", names[0], configFile), Want: "a new folder, an empty one, or one that robocache train has written"}
	}
	return false, err
}

// write writes config.json.
func (c *Config) write(dir string) error {
	text, err := schema.JSON(schema.Checkpoint, c, "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(in(dir, configFile), text)
}

// ReadConfig reads config.json in a checkpoint's folder. A folder without a valid one is a *CheckpointError.
func ReadConfig(dir string) (*Config, error) { return readConfig(dir) }

// readConfig reads config.json.
func readConfig(dir string) (*Config, error) {
	text, err := fault.ReadFile(in(dir, configFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, &CheckpointError{Dir: dir, Got: "no " + configFile, Want: "a folder that robocache train has written"}
	}
	if err != nil {
		return nil, err
	}
	c := &struct {
		Config
		Old dataset.Notes `json:"left_out"` // the old name of notes, in existing checkpoints
	}{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, &CheckpointError{dir, configFile, err.Error(), "the output of robocache train"}
	}
	if c.LeftOut == nil {
		c.LeftOut = c.Old
	}
	if c.Version != 1 || !slices.Contains(Kinds, c.Policy) {
		got, want := fmt.Sprintf("policy %q, version %d", c.Policy, c.Version), fmt.Sprintf("one of %q, version 1", Kinds)
		return nil, &CheckpointError{dir, configFile, got, want}
	}
	return &c.Config, c.sound(dir)
}

// sound checks that a config is consistent, because config.json may come from anywhere.
func (c *Config) sound(dir string) error {
	bad := func(what, got, want string) error { return &CheckpointError{dir, configFile + ": " + what, got, want} }
	if err := cmp.Or(c.Recipe.check(), c.Recipe.fits(c.Policy)); err != nil {
		return bad("recipe", err.Error(), "a recipe")
	}
	r, n, a := &c.Recipe, 0, len(c.Action.Columns)
	for _, s := range c.States {
		n += len(s.Columns)
	}
	if r.Differences {
		n += 2 * a
	}
	switch {
	case r.Sampler != "" && (r.PerToken || r.Differences):
		return bad("recipe", "per_token or differences with a sampler", "neither")
	case r.PerToken && (r.Chunk != 1 || r.Differences):
		return bad("recipe", "per_token with differences, or a chunk above 1", "one of them")
	case r.Width < 1 || r.Layers < 0 || r.Layers > 1000 || r.Width > 1<<15 || r.FFN < 1 || r.FFN > 1<<15 || r.Heads < 1:
		return bad("recipe", fmt.Sprintf("width %d, %d layers, ffn %d, %d heads", r.Width, r.Layers, r.FFN, r.Heads), "a network")
	case len(c.States) == 0 || a == 0 || len(c.Inputs) != n || len(c.Targets) != a:
		return bad("inputs", fmt.Sprintf("%d inputs and %d targets", len(c.Inputs), len(c.Targets)), fmt.Sprintf("%d and %d, as the streams have columns", n, a))
	}
	for _, x := range slices.Concat(c.Inputs, c.Targets) {
		if !finite(float64(float32(x.Mean)), float64(float32(x.Std)), float64(float32(1/x.Std))) || x.Std <= 0 || x.Relative < -1 || x.Relative >= a {
			return bad("column "+x.Name, fmt.Sprintf("mean %g, std %g, relative %d", x.Mean, x.Std, x.Relative), "numbers that are finite in f32, a std above 0, and an action column or -1")
		}
	}
	if c.Rate != 0 && !dataset.IsRate(c.Rate) {
		return bad("rate", fmt.Sprint(c.Rate), "steps a second from 1e-6 to 1e9, or 0")
	}
	p, err := c.parse()
	if err != nil {
		return bad("plan", err.Error(), "a plan")
	}
	if p.Rate != c.Hz {
		return bad("hz", fmt.Sprint(c.Hz), fmt.Sprintf("%g, as the plan has", p.Rate))
	}
	return nil
}
