package image

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
)

// few are images enough to see how they are made.
var few = []Image{shellMarked("docker.io/library/busybox:1"), idleMarked("docker.io/lab/app:1"), idleMarked("docker.io/lab/app:2")}

func shellMarked(n string) Image { i := shell(n); i.Marker = n; return i }
func idleMarked(n string) Image  { i := idle(n); i.Marker = n; return i }

func needBusybox(t *testing.T) {
	t.Helper()
	if err := CheckBusybox(); err != nil {
		t.Skipf("images are made of a static busybox: %v", err)
	}
}

func digests(t *testing.T, images []Image) map[string]string {
	t.Helper()
	set, err := Build(images)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for tag, img := range set {
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		out[tag.String()] = digest.String()
	}
	return out
}

func TestBuildIsDeterministic(t *testing.T) {
	t.Parallel()
	needBusybox(t)
	first, second := digests(t, few), digests(t, few)
	for n, d := range first {
		if second[n] != d {
			t.Errorf("%s: %s, then %s", n, d, second[n])
		}
	}
}

func TestCatalogTagsHaveContentsOfTheirOwn(t *testing.T) {
	t.Parallel()
	needBusybox(t)
	const alias, original = "docker.io/library/nginx:mainline-alpine", "docker.io/library/nginx:alpine"
	got := digests(t, Catalog())
	if len(got) != len(Catalog()) {
		t.Errorf("%d images of %d entries: a name is there twice", len(got), len(Catalog()))
	}
	if got[alias] != got[original] {
		t.Errorf("%s and %s are not the same image", alias, original)
	}
	delete(got, alias)
	seen := map[string]string{}
	for n, d := range got {
		if other := seen[d]; other != "" {
			t.Errorf("%s and %s are the same image", n, other)
		}
		seen[d] = n
	}
	apps := 0
	for n := range got {
		if strings.HasPrefix(n, "docker.io/lab/app:") {
			apps++
		}
	}
	if apps < 24 {
		t.Errorf("%d tags of lab/app, want 24 at least", apps)
	}
}

func TestArchiveGivesBackWhatWasSaved(t *testing.T) {
	t.Parallel()
	needBusybox(t)
	set, err := Build(few)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "images.tar")
	if err := set.Save(file); err != nil {
		t.Fatal(err)
	}
	got, done, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for tag, img := range set {
		want, err := img.ConfigName()
		if err != nil {
			t.Fatal(err)
		}
		opened, ok := got[tag]
		if !ok {
			t.Errorf("%s is not in the archive", tag)
			continue
		}
		if id, err := opened.ConfigName(); err != nil || id != want {
			t.Errorf("%s: image id %s (%v), want %s", tag, id, err, want)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no archive ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty.tar")
	data, err := pack([]file{{"readme", "hello", 0o644}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(empty, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{text: "is no archive", empty: "is no image archive", filepath.Join(dir, "none"): "no such file"} {
		if _, _, err := Open(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %v, want %q in it", file, err, want)
		}
	}
}

func TestExtractStaysInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, err := pack([]file{{"../escaped", "x", 0o644}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "a.tar")
	if err := os.WriteFile(archive, data, 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "target")
	if err := extract(archive, target); err == nil {
		t.Error("an entry that leads out of the archive is extracted")
	}
	if _, err := os.Stat(filepath.Join(dir, "escaped")); err == nil {
		t.Error("a file was written outside of the target")
	}
}

func TestFoldersComeBeforeTheirContents(t *testing.T) {
	t.Parallel()
	got := withParents([]string{"usr/share/nginx", "bin", "usr/bin", "."})
	if want := []string{"bin", "usr", "usr/bin", "usr/share", "usr/share/nginx"}; !slices.Equal(got, want) {
		t.Errorf("withParents = %v, want %v", got, want)
	}
}

func TestCatalogNamesAreFull(t *testing.T) {
	t.Parallel()
	for _, i := range Catalog() {
		tag, err := name.NewTag(i.Name)
		if err != nil {
			t.Errorf("%s: %v", i.Name, err)
			continue
		}
		if tag.String() != i.Name || !strings.Contains(strings.Split(i.Name, "/")[0], ".") {
			t.Errorf("%s does not name its registry", i.Name)
		}
	}
}
