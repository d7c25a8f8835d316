package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// program writes the head of a static program for a platform and returns PLATFORM=FILE.
func program(t *testing.T, arch string) string {
	t.Helper()
	head := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machines[arch]), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56, Shentsize: 64}
	copy(head.Ident[:], elf.ELFMAG)
	head.Ident[elf.EI_CLASS], head.Ident[elf.EI_DATA], head.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var data bytes.Buffer
	if err := binary.Write(&data, binary.LittleEndian, head); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(out, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return "linux/" + arch + "=" + out
}

// shape is what matters about an image.
type shape struct {
	Platform, User string
	Entrypoint     []string
	Files          []string
}

func shapeOf(t *testing.T, img v1.Image) shape {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	s := shape{Platform: config.OS + "/" + config.Architecture, User: config.Config.User, Entrypoint: config.Config.Entrypoint}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		r, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for files := tar.NewReader(r); ; {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			s.Files = append(s.Files, h.FileInfo().Mode().String()+" "+h.Name)
		}
	}
	return s
}

func want(arch string) shape {
	return shape{
		Platform: "linux/" + arch, User: "65532:65532", Entrypoint: []string{"/kruise-agent"}, Files: []string{"-rwxr-xr-x kruise-agent"},
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New())
	defer server.Close()
	image := strings.TrimPrefix(server.URL, "http://") + "/kruise/agent:v1"
	digest, err := push(image, []string{program(t, "amd64"), program(t, "arm64")})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(digest)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		img, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		if err != nil {
			t.Fatalf("%s: %v", arch, err)
		}
		if diff := cmp.Diff(want(arch), shapeOf(t, img)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arch, diff)
		}
	}
}

func TestSaveIsReproducible(t *testing.T) {
	t.Parallel()
	arg := program(t, "amd64")
	one, two := filepath.Join(t.TempDir(), "one.tar"), filepath.Join(t.TempDir(), "two.tar")
	for _, file := range []string{one, two, two} { // over a file that is there too
		if err := run([]string{"save", file, "kruise/agent:v1", arg}); err != nil {
			t.Fatal(err)
		}
	}
	tag, err := name.NewTag("kruise/agent:v1")
	if err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(one, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want("amd64"), shapeOf(t, img)); diff != "" {
		t.Errorf("image (-want +got):\n%s", diff)
	}
	a, err1 := os.ReadFile(one)
	b, err2 := os.ReadFile(two)
	if err1 != nil || err2 != nil || !cmp.Equal(a, b) {
		t.Errorf("two archives of one binary differ (%v, %v)", err1, err2)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, arm, _ := strings.Cut(program(t, "arm64"), "=")
	for _, tc := range []struct{ name, arg, want string }{
		{"another system", "windows/amd64=x", `"windows/amd64=x": want linux/amd64=BINARY or linux/arm64=BINARY`},
		{"another architecture", "linux/s390x=x", `"linux/s390x=x": want linux/amd64=BINARY or linux/arm64=BINARY`},
		{"no program", "linux/amd64=" + text, "text is no Linux program"},
		{"a program for another architecture", "linux/amd64=" + arm, "is for EM_AARCH64, not for linux/amd64"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := run([]string{"save", filepath.Join(t.TempDir(), "x.tar"), "kruise/agent:v1", tc.arg})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if err := run(nil); !errors.Is(err, errUsage) {
		t.Errorf("without arguments: %v", err)
	}
}
