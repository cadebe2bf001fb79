// Package s3 adds s3:// URLs to package storage, for AWS and for services with the S3 interface, such as Cloudflare R2, Google
// Cloud Storage and MinIO. Importing it is enough:
//
//	import _ "github.com/robocache/robocache/storage/s3"
//
//	d, err := dataset.Open(ctx, "s3://my-bucket/logs/flight.ulg", dataset.Options{})
//
// s3://BUCKET/KEY is an object. The key is used as it is, without escapes, and may contain spaces, # and %. s3://BUCKET/PREFIX is a
// folder if there is no object with that key and there are objects with keys that begin with PREFIX/. With a slash at the end it is
// always a folder. If an object and a folder have the same name, only the object is listed. Empty objects that some programs create
// to mark a folder, and keys with an empty part (a//b), are not listed.
//
// Credentials, region and endpoint are found like in AWS's own programs, when the first URL is read: from the environment
// (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, AWS_REGION), the files in ~/.aws, single sign-on, and the roles of
// containers and machines. AWS_NO_SIGN_REQUEST=1 reads public buckets without credentials. AWS_ENDPOINT_URL_S3, or
// AWS_ENDPOINT_URL, is the address of another service, with buckets in the path: https://ACCOUNT.r2.cloudflarestorage.com,
// https://storage.googleapis.com (with HMAC keys), http://127.0.0.1:9000. If an AWS bucket is in another region, the region is
// looked up.
//
// An object is read by ranges. Open reads the first 64 KiB. A read fetches little more than the requested bytes; if reads follow
// each other, it fetches larger parts ahead, up to 4 MiB each and several at once. A file keeps at most 32 MiB. Large reads bypass
// this cache and run in parallel parts. If the object changes while it is open, reads return a [ChangedError], so parts of two
// versions are never mixed. Interrupted requests are repeated a few times.
package s3
