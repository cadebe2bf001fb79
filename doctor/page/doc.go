// Package page writes a report from package doctor as an HTML page with pictures.
//
//	report, err := doctor.Examine(ctx, d, doctor.Options{})
//	err = page.Write(w, report)
package page
