package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Busybox is where Debian's busybox-static puts its program.
const Busybox = "/bin/busybox"

// CheckBusybox says whether the machine's busybox can serve as the contents of images: it must need no libraries.
func CheckBusybox() error {
	f, err := elf.Open(Busybox)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is not static", Busybox)
		}
	}
	return nil
}

type file struct {
	path string
	data string
	mode int64
}

type link struct{ path, target string }

// baseLayer holds busybox under all its names and the folders that programs expect.
func baseLayer() (v1.Layer, error) {
	program, err := os.ReadFile(Busybox)
	if err != nil {
		return nil, err
	}
	list, err := exec.Command(Busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", Busybox, err)
	}
	links := []link{{"usr/bin/env", "/bin/busybox"}}
	for _, applet := range strings.Fields(string(list)) {
		if applet != "busybox" {
			links = append(links, link{"bin/" + applet, "busybox"})
		}
	}
	files := []file{
		{"bin/busybox", string(program), 0o755},
		{"bin/bash", "#!/bin/sh\nexec /bin/sh \"$@\"\n", 0o755},
		{"etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n", 0o644},
		{"etc/group", "root:x:0:\nnobody:x:65534:\n", 0o644},
	}
	return layer(files, links, "tmp", "var/tmp", "root", "proc", "sys", "dev", "var/run")
}

// layer packs files, links and empty folders. Entries are ordered and carry no time, so equal input gives equal bytes.
func layer(files []file, links []link, dirs ...string) (v1.Layer, error) {
	data, err := pack(files, links, dirs)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
}

func pack(files []file, links []link, dirs []string) ([]byte, error) {
	need := slices.Clone(dirs)
	for _, f := range files {
		need = append(need, path.Dir(f.path))
	}
	for _, l := range links {
		need = append(need, path.Dir(l.path))
	}
	var headers []tar.Header
	for _, d := range withParents(need) {
		mode := int64(0o755)
		if path.Base(d) == "tmp" {
			mode = 0o1777
		}
		headers = append(headers, tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: mode})
	}
	contents := map[string]string{}
	for _, f := range files {
		headers = append(headers, tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.data))})
		contents[f.path] = f.data
	}
	for _, l := range links {
		headers = append(headers, tar.Header{Typeflag: tar.TypeSymlink, Name: l.path, Linkname: l.target, Mode: 0o777})
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for i := range headers {
		if err := w.WriteHeader(&headers[i]); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, contents[headers[i].Name]); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), w.Close()
}

// withParents returns the folders and all folders above them, each once, parents first.
func withParents(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		for ; d != "." && d != "/"; d = path.Dir(d) {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
