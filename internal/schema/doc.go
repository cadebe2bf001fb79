// Package schema names the JSON objects that commands print and files hold. The folder docs/schema has a JSON Schema for each name.
package schema
