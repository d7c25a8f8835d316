package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const (
	// entry is where the binary is in the image.
	entry = "kruise-agent"
	// user is what the image runs as, "nonroot" of many small images.
	user = "65532:65532"
)

// epoch is the time of everything in the image, so that the same binary makes the same image.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// machines are the ELF machines of the architectures that images are made for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// target is a binary for a platform.
type target struct {
	platform v1.Platform
	binary   []byte
}

// readTarget reads PLATFORM=BINARY and refuses a binary that would not run in an empty image.
func readTarget(arg string) (target, error) {
	platform, file, found := strings.Cut(arg, "=")
	system, arch, both := strings.Cut(platform, "/")
	if machine := machines[arch]; !found || !both || system != "linux" || machine == elf.EM_NONE {
		return target{}, fmt.Errorf("%q: want linux/amd64=BINARY or linux/arm64=BINARY", arg)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		return target{}, err
	}
	program, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return target{}, fmt.Errorf("%s is no Linux program: %w", file, err)
	}
	if program.Machine != machines[arch] {
		return target{}, fmt.Errorf("%s is for %s, not for %s", file, program.Machine, platform)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return target{}, fmt.Errorf("%s needs a dynamic linker; build it with CGO_ENABLED=0", file)
		}
	}
	return target{v1.Platform{OS: system, Architecture: arch}, binary}, nil
}

// image is the binary and nothing else.
func (t target) image() (v1.Image, error) {
	layer, err := layerOf(t.binary)
	if err != nil {
		return nil, err
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "the binary " + entry},
	})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = t.platform.OS, t.platform.Architecture
	config.Created = v1.Time{Time: epoch}
	config.Config = v1.Config{
		Entrypoint: []string{"/" + entry}, User: user, WorkingDir: "/",
		Labels: map[string]string{"org.opencontainers.image.title": entry, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	return mutate.ConfigFile(img, config)
}

func layerOf(binary []byte) (v1.Layer, error) {
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	header := &tar.Header{Name: entry, Mode: 0o755, Size: int64(len(binary)), ModTime: epoch, Format: tar.FormatPAX}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(binary); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data.Bytes())), nil })
}
