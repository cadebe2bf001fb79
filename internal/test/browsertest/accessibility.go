package browsertest

import (
	_ "embed"
)

// axe is axe-core, which the browser runs in a page. The library is in the test data because a test must not need a network.
//
//go:embed testdata/axe/axe.min.js
var axe string

// runAxe runs all rules, also the size of touch targets, and returns a line for each element that violates one.
const runAxe = `axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then(r => r.violations.flatMap(v =>
	v.nodes.map(n => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " "))))`

// Violations returns the accessibility rules that the page violates, each with the element: "color-contrast: #time: Fix any ...".
func (p *Page) Violations() (found []string) {
	p.b.t.Helper()
	loaded := false
	if p.Eval(`!!window.axe`, &loaded); !loaded {
		p.Eval(axe+";0", nil)
	}
	p.Eval(runAxe, &found)
	return found
}

// Dark shows the page in the dark theme of the system, or in the light one.
func (p *Page) Dark(dark bool) {
	value := "light"
	if dark {
		value = "dark"
	}
	p.call("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": value}}}, nil)
}
