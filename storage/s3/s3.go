package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/robocache/robocache/internal/ranged"
	"github.com/robocache/robocache/storage"
)

func init() { storage.Register("s3", &store{wait: 50 * time.Millisecond}) }

// store reads objects. It reads the environment at its first use.
type store struct {
	wait time.Duration // time before the first repetition of an interrupted request

	mu      sync.Mutex
	loaded  bool
	config  aws.Config
	client  *s3.Client
	regions map[string]*s3.Client // of buckets that are in another region than the client's, by bucket
}

// unsigned reports whether the environment selects requests without credentials.
func unsigned() bool {
	yes, err := strconv.ParseBool(os.Getenv("AWS_NO_SIGN_REQUEST"))
	return err == nil && yes
}

// clientOf returns the client for a bucket.
func (s *store) clientOf(ctx context.Context, bucket string) (*s3.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		if err := s.load(ctx); err != nil {
			return nil, err
		}
		s.loaded = true
	}
	if c := s.regions[bucket]; c != nil {
		return c, nil
	}
	return s.client, nil
}

func (s *store) load(ctx context.Context) error {
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = ranged.Stalled })
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(client), config.WithLogger(logging.Nop{})) // errors have the information
	if err != nil {
		return &storage.RequestError{Want: "a configuration of AWS that can be read: the environment and ~/.aws", Err: err}
	}
	if unsigned() {
		cfg.Credentials = aws.AnonymousCredentials{}
	} else if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &storage.RequestError{Kind: fs.ErrPermission, Got: "no credentials", Want: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or for public buckets AWS_NO_SIGN_REQUEST=1", Err: err}
	}
	cfg.Region = cmp.Or(cfg.Region, "us-east-1")
	s.config, s.client, s.regions = cfg, newClient(cfg), map[string]*s3.Client{}
	return nil
}

func newClient(cfg aws.Config) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired // ranges have none
	})
}

// call calls do with a client for the bucket. If the answer is that the bucket is in another region, it calls do again with a client for
// that region.
func (s *store) call(ctx context.Context, op string, at location, do func(*s3.Client) error) error {
	client, err := s.clientOf(ctx, at.bucket)
	if err == nil {
		err = do(client)
		if region := regionOf(err); region != "" && region != client.Options().Region {
			s.mu.Lock()
			cfg := s.config.Copy()
			cfg.Region = region
			client = newClient(cfg)
			s.regions[at.bucket] = client
			s.mu.Unlock()
			err = do(client)
		}
	}
	return at.explain(ctx, op, err)
}

// location is the bucket and key in a URL.
type location struct {
	url, bucket, key string
	folder           bool // whether the URL ends in a slash or names only a bucket
}

// locate splits a URL into bucket and key. If it has no bucket, the error is fs.ErrInvalid.
func locate(op, url string) (location, error) {
	rest := strings.TrimPrefix(url, "s3://")
	bucket, key, _ := strings.Cut(rest, "/")
	at := location{url: url, bucket: bucket, key: key, folder: key == "" || strings.HasSuffix(key, "/")}
	if bucket == "" {
		return at, &fs.PathError{Op: op, Path: url, Err: &storage.RequestError{Kind: fs.ErrInvalid, Got: "no bucket", Want: "s3://BUCKET/KEY"}}
	}
	return at, nil
}

// prefix returns the common prefix of the keys in a folder.
func (l *location) prefix() string {
	if key := strings.TrimRight(l.key, "/"); key != "" {
		return key + "/"
	}
	return ""
}

// modified returns a modification time in whole seconds, because some answers have no fraction of a second.
func modified(t *time.Time) time.Time { return aws.ToTime(t).Truncate(time.Second) }

// Stat describes an object, or else a folder.
func (s *store) Stat(ctx context.Context, url string) (storage.Info, error) {
	at, err := locate("stat", url)
	if err != nil {
		return storage.Info{}, err
	}
	if !at.folder {
		var head *s3.HeadObjectOutput
		err := s.call(ctx, "stat", at, func(c *s3.Client) (err error) {
			head, err = c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &at.bucket, Key: &at.key})
			return err
		})
		if err == nil {
			return storage.Info{Name: path.Base(at.key), Size: aws.ToInt64(head.ContentLength), Modified: modified(head.LastModified)}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return storage.Info{}, err
		}
	}
	found := false
	err = s.list(ctx, "stat", at, 1, func(*s3.ListObjectsV2Output) bool { found = true; return false })
	if err == nil && !found {
		err = at.missing("stat")
	}
	if err != nil {
		return storage.Info{}, err
	}
	return storage.Info{Name: storage.Base(url), Mode: fs.ModeDir}, nil
}

// List returns the content of a folder.
func (s *store) List(ctx context.Context, url string, most int) ([]storage.Info, error) {
	at, err := locate("list", url)
	if err != nil {
		return nil, err
	}
	prefix := at.prefix()
	var list []storage.Info
	found := false
	err = s.list(ctx, "list", at, most, func(page *s3.ListObjectsV2Output) bool {
		found = true
		for _, o := range page.Contents {
			if name := strings.TrimPrefix(aws.ToString(o.Key), prefix); name != "" && !strings.HasSuffix(name, "/") {
				list = append(list, storage.Info{Name: name, Size: aws.ToInt64(o.Size), Modified: modified(o.LastModified)})
			}
		}
		for _, p := range page.CommonPrefixes {
			if name := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(p.Prefix), prefix), "/"); name != "" {
				list = append(list, storage.Info{Name: name, Mode: fs.ModeDir})
			}
		}
		return most < 0 || len(list) < most
	})
	if err == nil && !found {
		err = at.missing("list")
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b storage.Info) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Mode, b.Mode))
	})
	list = slices.CompactFunc(list, func(a, b storage.Info) bool { return a.Name == b.Name }) // the object comes first
	if most >= 0 {
		list = list[:min(len(list), most)]
	}
	return list, nil
}

// mostPages bounds the pages of a listing: 100 million names, in pages of 1000.
const mostPages = 100_000

// list calls use for each page of a folder until it returns false. It does not call use if the folder does not exist; the folder of
// a whole bucket always exists.
func (s *store) list(ctx context.Context, op string, at location, most int, use func(*s3.ListObjectsV2Output) bool) error {
	prefix, delimiter := at.prefix(), "/"
	in := &s3.ListObjectsV2Input{Bucket: &at.bucket, Prefix: &prefix, Delimiter: &delimiter}
	if most >= 0 && most < 1000 {
		in.MaxKeys = aws.Int32(int32(max(most, 1)))
	}
	seen := map[string]bool{} // tokens of the pages before
	for {
		var page *s3.ListObjectsV2Output
		err := s.call(ctx, op, at, func(c *s3.Client) (err error) {
			page, err = c.ListObjectsV2(ctx, in)
			return err
		})
		if err != nil {
			return err
		}
		if prefix != "" && len(page.Contents)+len(page.CommonPrefixes) == 0 && in.ContinuationToken == nil {
			return nil
		}
		if !use(page) || !aws.ToBool(page.IsTruncated) || page.NextContinuationToken == nil {
			return nil
		}
		if next := *page.NextContinuationToken; seen[next] || len(seen) == mostPages {
			return &fs.PathError{Op: op, Path: at.url, Err: &storage.RequestError{Got: fmt.Sprintf("token %q after %d pages", next, len(seen)+1), Want: fmt.Sprintf("a listing of at most %d pages, each with a token of its own", mostPages)}}
		}
		seen[*page.NextContinuationToken] = true
		in.ContinuationToken = page.NextContinuationToken
	}
}
