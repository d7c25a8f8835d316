package image

import (
	"fmt"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Set maps tags to images.
type Set map[name.Tag]v1.Image

// Build makes the images.
func Build(images []Image) (Set, error) {
	base, err := baseLayer()
	if err != nil {
		return nil, err
	}
	set := Set{}
	for _, i := range images {
		tag, err := name.NewTag(i.Name)
		if err != nil {
			return nil, err
		}
		if set[tag], err = i.build(base); err != nil {
			return nil, fmt.Errorf("image %s: %w", i.Name, err)
		}
	}
	return set, nil
}

func (i Image) build(base v1.Layer) (v1.Image, error) {
	top, err := layer(append([]file{{"image-name", i.Marker + "\n", 0o644}}, i.Files...), nil)
	if err != nil {
		return nil, err
	}
	img, err := mutate.Append(empty.Image,
		mutate.Addendum{Layer: base, History: v1.History{CreatedBy: "busybox"}},
		mutate.Addendum{Layer: top, History: v1.History{CreatedBy: i.Marker}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Created = v1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	config.Config = v1.Config{Env: []string{"PATH=/bin:/usr/bin:/usr/sbin"}, Entrypoint: i.Entrypoint, Cmd: i.Cmd}
	return mutate.ConfigFile(img, config)
}

// Save writes all images as one archive, which `ctr images import` reads.
func (s Set) Save(file string) error {
	refs := map[name.Reference]v1.Image{}
	for tag, img := range s {
		refs[tag] = img
	}
	return tarball.MultiRefWriteToFile(file, refs)
}
