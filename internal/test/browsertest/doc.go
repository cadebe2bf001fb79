// Package browsertest has tests look at pages in a headless Chromium: open, click, type, ask the page, take pictures. It speaks the browser's
// DevTools protocol over two pipes, so that it needs no module and no port.
//
// The program is looked for in PATH as chromium, chromium-browser and google-chrome, or where the variable ROBOCACHE_CHROMIUM says. Where there is
// none tests are skipped.
package browsertest
