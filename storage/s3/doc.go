// Package s3 reads s3:// URLs in package storage: of AWS, and of what has S3's interface, such as Cloudflare R2, Google Cloud Storage and MinIO.
// To import it is to have them:
//
//	import _ "github.com/robocache/robocache/storage/s3"
//
// s3://BUCKET/KEY is an object; what comes after the bucket is the key as it is, without escapes, spaces, # and % included. s3://BUCKET/PREFIX is a
// folder where there is no object of that name and there are objects whose keys begin with PREFIX/; with a slash at its end it is the folder in any
// case. In a folder that has an object and a folder of one name, the object is listed. Objects of no bytes that some programs put in place of a folder,
// and keys with an empty part (a//b), are not listed.
//
// Credentials, region and endpoint are those of AWS's own programs, looked up when the first URL is read: the environment (AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, AWS_PROFILE, AWS_REGION), the files in ~/.aws, single sign-on, and the roles of containers and machines. AWS_NO_SIGN_REQUEST=1
// reads public buckets without any. AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL, is the address of another service, whose buckets are parts of the path then:
// https://ACCOUNT.r2.cloudflarestorage.com, https://storage.googleapis.com (with HMAC keys), http://127.0.0.1:9000. The region of a bucket of AWS is
// found out if it is another.
//
// An object is read by ranges. Open reads the first 64 KiB; a read gets what it asks for and little more, and where reads follow each other, larger
// and larger parts ahead of them, 4 MiB each, several at once. A file keeps at most 32 MiB. Large reads go past that, in parallel parts. All are of one
// version of the object: if it changes while it is open, reading it is a [ChangedError]. What breaks off is asked for again, a few times.
package s3
