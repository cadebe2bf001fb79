// Package s3test runs an S3 server on 127.0.0.1 for tests. It counts the requests and the bytes of the answers.
package s3test
