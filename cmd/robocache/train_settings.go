package main

import (
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/policy"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runFlags are flags that config.json does not keep, because they belong to one run. keepBackend keeps the devices.
var runFlags = []string{"out", "resume", "log-dir", "backend", "rank", "world"}

// restore sets the flags that are not given to the checkpoint's, if training resumes from one, and records all for the next one.
func (t *training) restore(cmd *cobra.Command) error {
	t.Settings = map[string][]string{}
	f := cmd.Flags()
	if t.resume {
		c, err := policy.ReadConfig(t.out)
		if dataset.IsSystem(err) {
			return unwritten(err)
		}
		if err == nil { // check reports an error
			if err := t.apply(f, c); err != nil {
				return err
			}
		}
	}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed || slices.Contains(runFlags, flag.Name) {
			return
		}
		t.Settings[flag.Name] = []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			t.Settings[flag.Name] = list.GetSlice()
		}
	})
	if t.From != "" && !f.Changed("policy") {
		t.Policy = ""
	}
	return nil
}

// apply sets the flags that are not given to a checkpoint's settings.
func (t *training) apply(f *pflag.FlagSet, c *policy.Config) error {
	for name, values := range c.Settings {
		t.Settings[name] = values
		flag := f.Lookup(name)
		switch {
		case flag == nil || flag.Changed:
		case name == "plan": // the file may be another one now
			t.Plan, t.PlanName = c.Plan, values[0]
		case name == "from": // this checkpoint has the same network and statistics
			t.From = t.out
		default:
			for _, v := range values {
				if err := f.Set(name, v); err != nil {
					return usagef("--%s: got %q from %s, want %v", name, v, t.out, err)
				}
			}
		}
	}
	return nil
}

// given returns the value of a flag, or nil without one.
func given(f *pflag.FlagSet, name string) *float64 {
	if !f.Changed(name) {
		return nil
	}
	v, _ := f.GetFloat64(name) // the flag has this type
	return &v
}

// keepBackend records the devices on which all programs train together.
func (w *trainer) keepBackend() {
	var names []string
	for _, d := range w.out.Devices {
		names = append(names, d.Name)
	}
	w.Settings["backend"] = []string{strings.Join(names, ",")}
}
