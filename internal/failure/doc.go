// Package failure turns errors into reports. One table has a rule for each type of error, and each front end renders the fields of the report: the command
// line as a message and an exit code, the server as JSON.
package failure
