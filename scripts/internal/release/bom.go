package release

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// File is a published file, or a binary inside one, for the bill of materials.
type File struct {
	Name   string
	SHA256 string // in hex
	Target Target // the target it was built for, which determines the linked modules
}

type (
	bomLicence struct {
		License struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	bomHash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	bomComponent struct {
		Type     string       `json:"type"`
		Ref      string       `json:"bom-ref"`
		Name     string       `json:"name"`
		Version  string       `json:"version"`
		Hashes   []bomHash    `json:"hashes,omitempty"`
		Licenses []bomLicence `json:"licenses,omitempty"`
		PURL     string       `json:"purl,omitempty"`
	}
	bomDependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// BOM writes a bill of materials in CycloneDX 1.6 JSON: every linked module with its licences and its SHA-256 from go.sum, every file,
// and the modules in each file. It has no time or serial number, so that equal releases have equal bills.
func BOM(version string, modules []Module, files []File) ([]byte, error) {
	var bom struct {
		Format   string `json:"bomFormat"`
		Spec     string `json:"specVersion"`
		Version  int    `json:"version"`
		Metadata struct {
			Component bomComponent `json:"component"`
		} `json:"metadata"`
		Components   []bomComponent  `json:"components"`
		Dependencies []bomDependency `json:"dependencies"`
	}
	bom.Format, bom.Spec, bom.Version = "CycloneDX", "1.6", 1
	bom.Metadata.Component = bomComponent{Type: "application", Ref: "robocache", Name: "robocache", Version: version, Licenses: bomLicences([]string{"Apache-2.0"})}
	own := bomDependency{Ref: "robocache"}
	for _, f := range files {
		ref := "file:" + f.Name
		own.DependsOn = append(own.DependsOn, ref)
		bom.Components = append(bom.Components, bomComponent{Type: "file", Ref: ref, Name: f.Name, Version: version, Hashes: []bomHash{{"SHA-256", f.SHA256}}})
	}
	bom.Dependencies = append(bom.Dependencies, own)
	for _, f := range files {
		d := bomDependency{Ref: "file:" + f.Name, DependsOn: []string{}}
		for _, m := range modules {
			if m.linkedInto(f.Target) {
				d.DependsOn = append(d.DependsOn, m.purl())
			}
		}
		bom.Dependencies = append(bom.Dependencies, d)
	}
	for _, m := range modules {
		c := bomComponent{Type: "library", Ref: m.purl(), Name: m.Path, Version: m.Version, Licenses: bomLicences(m.Licences), PURL: m.purl()}
		// go.sum holds the SHA-256 of the list of file hashes in the module, in base64.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = []bomHash{{"SHA-256", hex.EncodeToString(sum)}}
		}
		bom.Components = append(bom.Components, c)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(bom)
	return b.Bytes(), err
}

func bomLicences(ids []string) []bomLicence {
	list := make([]bomLicence, len(ids))
	for i, id := range ids {
		list[i].License.ID = id
	}
	return list
}

// purl returns the module's package URL, which vulnerability databases use. For the standard library the version has no "go" prefix.
func (m *Module) purl() string {
	return "pkg:golang/" + strings.ReplaceAll(strings.ToLower(m.Path), "~", "%7E") + "@" + strings.TrimPrefix(m.Version, "go")
}

func (m *Module) linkedInto(t Target) bool {
	for _, have := range m.targets {
		if have == t {
			return true
		}
	}
	return false
}
