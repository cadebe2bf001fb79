// Package page writes a report of package doctor as an HTML page with pictures.
package page
