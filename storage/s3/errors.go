package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/robocache/robocache/storage"
)

// answer is a service's error in short.
type answer struct {
	text string
	err  error
}

func (a *answer) Error() string { return a.text }
func (a *answer) Unwrap() error { return a.err }

// ChangedError reports an object that changed after it was opened.
type ChangedError struct{ Was, Is string } // ETags; Is is empty if the service does not return it

// Unwrap returns storage.ErrSystem, because another try reads the new object.
func (e *ChangedError) Unwrap() error { return storage.ErrSystem }

func (e *ChangedError) Error() string {
	is := "another one"
	if e.Is != "" {
		is = "ETag " + e.Is
	}
	return fmt.Sprintf("the object has changed while it was read: got %s, want ETag %s, as it was when it was opened", is, e.Was)
}

// missing returns the error for a name that does not exist. It is fs.ErrNotExist.
func (l *location) missing(op string) error {
	return &fs.PathError{Op: op, Path: l.url, Err: &storage.RequestError{Kind: fs.ErrNotExist, Got: fmt.Sprintf("no object %q and none below it", l.key),
		Want: fmt.Sprintf("a key or prefix of bucket %s", l.bucket)}}
}

// status returns the HTTP status and the headers of an error answer; 0 and nil if err is no such answer.
func status(err error) (int, http.Header) {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && answer.Response != nil {
		return answer.HTTPStatusCode(), answer.Response.Header
	}
	return 0, nil
}

// code returns S3's code for an error, for example "NoSuchKey"; empty if the error does not come from the service.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// regionOf returns a bucket's region from the answer to a request in another region; empty for any other error.
func regionOf(err error) string {
	at, header := status(err)
	switch {
	case at == http.StatusMovedPermanently, at == http.StatusTemporaryRedirect, at == http.StatusBadRequest:
		return header.Get("X-Amz-Bucket-Region")
	}
	return ""
}

// explain describes an error and its cure.
func (l *location) explain(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	at, _ := status(err)
	e := &storage.RequestError{Err: err}
	var ours *storage.RequestError
	var api smithy.APIError
	if errors.As(err, &api) {
		e.Err = &answer{fmt.Sprintf("%s (HTTP %d)", strings.TrimSuffix(api.ErrorCode()+": "+api.ErrorMessage(), ": "), at), err}
	}
	switch c := code(err); {
	case errors.As(err, &ours):
		e = ours
	case c == "NoSuchBucket":
		e.Kind, e.Got, e.Want = fs.ErrNotExist, "no bucket "+l.bucket, "one of the service: AWS_ENDPOINT_URL_S3 is its address, if it is not AWS"
	case c == "InvalidAccessKeyId", c == "SignatureDoesNotMatch", c == "ExpiredToken", c == "InvalidToken", c == "TokenRefreshRequired", at == http.StatusUnauthorized:
		e.Kind, e.Got, e.Want = fs.ErrPermission, "credentials that the service refuses", "valid ones of this service: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	case at == http.StatusForbidden:
		e.Kind, e.Got = fs.ErrPermission, fmt.Sprintf("no access to %q in bucket %s", l.key, l.bucket)
		if e.Want = "credentials that may s3:GetObject and s3:ListBucket; without the latter, what is not there looks the same"; unsigned() {
			e.Want = "a public bucket, or credentials and no AWS_NO_SIGN_REQUEST"
		}
	case c == "NoSuchKey", at == http.StatusNotFound:
		return l.missing(op)
	case api == nil && at == 0:
		e.Got, e.Want = "no answer", "a service: AWS_ENDPOINT_URL_S3 is its address, if it is not AWS"
		var failed *url.Error
		if errors.As(err, &failed) {
			e.Err = &answer{failed.Error(), err}
		}
	case at == http.StatusMovedPermanently, at == http.StatusTemporaryRedirect:
		e.Got, e.Want = "a bucket of another region", "AWS_REGION to be that of bucket "+l.bucket
	}
	return &fs.PathError{Op: op, Path: l.url, Err: e}
}
