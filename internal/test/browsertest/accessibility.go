package browsertest

import (
	_ "embed"
)

// axe is axe-core, which the browser runs in a page. The library is in the test data because a test must not need a network.
//
//go:embed testdata/axe/axe.min.js
var axe string

// runAxe runs every rule of axe-core, also the one about the size of touch targets (off by default). It returns a line for each
// element that violates a rule.
const runAxe = `axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then(r => r.violations.flatMap(v =>
	v.nodes.map(n => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " "))))`

// Violations returns a line for each element of the page that violates an accessibility rule, for example "color-contrast: #time: Fix
// any ...". It is empty if none does.
func (p *Page) Violations() (found []string) {
	p.b.t.Helper()
	loaded := false
	if p.Eval(`!!window.axe`, &loaded); !loaded {
		p.Eval(axe+";0", nil)
	}
	p.Eval(runAxe, &found)
	return found
}

// Dark sets the browser's preferred colour scheme: dark if the argument is true, otherwise light.
func (p *Page) Dark(dark bool) {
	value := "light"
	if dark {
		value = "dark"
	}
	p.call("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": value}}}, nil)
}
