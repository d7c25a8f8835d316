package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// save writes an archive that `docker load`, `ctr images import` and `kruise-sandbox load` read. A file that is there is
// replaced at once or not at all.
func save(file, image, arg string) error {
	t, err := readTarget(arg)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(image)
	if err != nil {
		return err
	}
	img, err := t.image()
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(file), ".image-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	if err := tarball.Write(tag, img, out); err != nil {
		out.Close()
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := out.Close(); err != nil {
		return err
	}
	if err := os.Chmod(out.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(out.Name(), file)
}

// push stores one index with an image for each platform, and says its digest.
func push(image string, args []string, options ...remote.Option) (string, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return "", err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arg := range args {
		t, err := readTarget(arg)
		if err != nil {
			return "", err
		}
		img, err := t.image()
		if err != nil {
			return "", err
		}
		img = mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &t.platform}})
	}
	if err := remote.WriteIndex(ref, index, options...); err != nil {
		return "", fmt.Errorf("push %s: %w", image, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	return ref.Context().Digest(digest.String()).String(), nil
}
