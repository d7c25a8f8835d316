package inplace

import (
	"strings"

	"github.com/distribution/reference"
)

// sameImage says that the status of a container shows the image of its spec: equal after filling in registry, folder
// and the tag latest; a digest in the spec must be that of the status, whatever the tag.
func sameImage(spec, status, statusID string) bool {
	if spec == status {
		return true
	}
	wanted, err := reference.ParseNormalizedNamed(spec)
	if err != nil {
		return false
	}
	if digested, ok := wanted.(reference.Digested); ok {
		digest := "@" + digested.Digest().String()
		if strings.HasSuffix(statusID, digest) && sameRepository(wanted, statusID) {
			return true
		}
		return strings.HasSuffix(status, digest) && sameRepository(wanted, status)
	}
	shown, err := reference.ParseNormalizedNamed(status)
	if err != nil {
		return false
	}
	_, digested := shown.(reference.Digested)
	return wanted.Name() == shown.Name() && tagOf(wanted, false) == tagOf(shown, digested)
}

// tagOf is the tag of an image, by default latest unless a digest stands in its place.
func tagOf(image reference.Named, digested bool) string {
	if tagged, ok := image.(reference.Tagged); ok {
		return tagged.Tag()
	}
	if digested {
		return ""
	}
	return "latest"
}

func sameRepository(wanted reference.Named, image string) bool {
	if i := strings.Index(image, "://"); i >= 0 {
		image = image[i+len("://"):]
	}
	shown, err := reference.ParseNormalizedNamed(image)
	return err == nil && shown.Name() == wanted.Name()
}
