package defs

import (
	_ "embed" // definitions.txt
	"slices"
	"strings"
	"sync"
)

//go:embed definitions.txt
var text string

// variant is a type's definition in some distributions.
type variant struct {
	distros []string // nil means all
	text    string
}

var builtin = sync.OnceValue(func() (b struct {
	distros []string // oldest first
	types   map[string][]variant
}) {
	first, rest, _ := strings.Cut(text, "\n")
	b.distros, b.types = strings.Fields(first)[1:], map[string][]variant{}
	for _, one := range strings.Split(rest, "= ")[1:] {
		head, fields, _ := strings.Cut(one, "\n")
		words := strings.Fields(head)
		if fields == "" {
			fields = "\n" // an empty type, as opposed to a missing one
		}
		b.types[words[0]] = append(b.types[words[0]], variant{words[1:], fields})
	}
	return b
})

// Distros returns the ROS 2 distributions with built-in definitions, oldest first.
func Distros() []string { return builtin().distros }

// Known returns distro if it has built-in definitions, or else the newest distribution.
func Known(distro string) string {
	if distros := Distros(); !slices.Contains(distros, distro) {
		return distros[len(distros)-1]
	}
	return distro
}

// ofDistro returns the built-in definition of the type name in a ROS 2 distribution. If the distribution lacks the type, the definition
// comes from the newest distribution with the type. If no distribution has the type, ofDistro returns "".
func ofDistro(name, distro string) string {
	variants := builtin().types[name]
	for _, v := range variants {
		if len(v.distros) == 0 || slices.Contains(v.distros, distro) {
			return v.text
		}
	}
	if len(variants) == 0 {
		return ""
	}
	return variants[len(variants)-1].text
}
