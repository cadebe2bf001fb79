// Package browsertest controls pages in a headless Chromium for tests: it opens pages, clicks, types, evaluates JavaScript and takes
// screenshots. It uses the browser's DevTools protocol over two pipes, so it needs no module and no port.
//
// The program is the one that the variable ROBOCACHE_CHROMIUM names, or chromium, chromium-browser or google-chrome from PATH. If
// there is none, the tests are skipped.
package browsertest
