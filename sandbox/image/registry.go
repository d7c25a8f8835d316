package image

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Serve answers as a registry that keeps everything in memory, until it fails or the process ends.
func Serve(addr string) error {
	server := &http.Server{Addr: addr, Handler: registry.New(registry.Logger(log.Default())), ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// Push stores the images in the registry at the address, whatever registry their names have: there every node looks
// first for any image.
func (s Set) Push(ctx context.Context, addr string) error {
	out := map[name.Reference]remote.Taggable{}
	for tag, img := range s {
		ref, err := name.NewTag(fmt.Sprintf("%s/%s:%s", addr, tag.RepositoryStr(), tag.TagStr()), name.Insecure)
		if err != nil {
			return err
		}
		out[ref] = img
	}
	if err := remote.MultiWrite(out, remote.WithContext(ctx), remote.WithJobs(4)); err != nil {
		return fmt.Errorf("push to the sandbox's registry: %w", err)
	}
	return nil
}

// Answers says whether a registry is at the address.
func Answers(ctx context.Context, addr string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v2/", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
