// Package s3test has an S3 of its own on 127.0.0.1 for tests, which counts what is asked of it.
package s3test
