package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Open reads the images of an archive that `docker save` or a builder of OCI archives wrote. The returned function
// removes what was unpacked; the images must not be used after it.
func Open(file string) (Set, func(), error) {
	docker, err := hasEntry(file, "manifest.json")
	if err != nil {
		return nil, nil, err
	}
	if docker {
		set, err := openDocker(file)
		return set, func() {}, err
	}
	dir, err := os.MkdirTemp("", "kruise-sandbox-image-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { os.RemoveAll(dir) }
	set, err := openOCI(file, dir)
	if err != nil {
		remove()
		return nil, nil, err
	}
	return set, remove, nil
}

func openDocker(file string) (Set, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(file) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	set := Set{}
	for _, d := range manifest {
		for _, t := range d.RepoTags {
			tag, err := name.NewTag(t)
			if err != nil {
				return nil, err
			}
			if set[tag], err = tarball.ImageFromPath(file, &tag); err != nil {
				return nil, fmt.Errorf("%s: image %s: %w", file, t, err)
			}
		}
	}
	return set, named(set, file)
}

// nameAnnotations hold an image's full name in an OCI index, the surest first.
var nameAnnotations = []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"}

func openOCI(file, dir string) (Set, error) {
	if err := extract(file, dir); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("%s is no image archive: %w", file, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	set := Set{}
	for _, d := range manifest.Manifests {
		img, err := imageOf(index, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, key := range nameAnnotations {
			if tag, err := name.NewTag(d.Annotations[key]); err == nil && img != nil {
				set[tag] = img
				break
			}
		}
	}
	return set, named(set, file)
}

func imageOf(index v1.ImageIndex, d v1.Descriptor) (v1.Image, error) {
	if !d.MediaType.IsImage() {
		return nil, nil
	}
	return index.Image(d.Digest)
}

func named(set Set, file string) error {
	if len(set) == 0 {
		return fmt.Errorf("%s: no image with a name and tag in it", file)
	}
	return nil
}

func hasEntry(file, entry string) (bool, error) {
	found := false
	err := each(file, func(h *tar.Header, _ io.Reader) error {
		found = found || h.Name == entry
		return nil
	})
	return found, err
}

func extract(file, dir string) error {
	return each(file, func(h *tar.Header, r io.Reader) error {
		if h.Typeflag != tar.TypeReg {
			return nil
		}
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("entry %q leads out of the archive", h.Name)
		}
		target := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if _, err := io.Copy(out, r); err != nil {
			out.Close()
			return err
		}
		return out.Close()
	})
}

func each(file string, f func(*tar.Header, io.Reader) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s is no archive: %w", file, err)
		}
		if err := f(h, r); err != nil {
			return err
		}
	}
}
