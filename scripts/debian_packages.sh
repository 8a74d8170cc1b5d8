#!/usr/bin/env bash
# Debian packages that tests need. Installs what is missing where that is allowed, else says what is missing:
# the tests that need it skip.
set -euo pipefail
packages=(
  fonts-dejavu-core                                        # Cyrillic glyphs for PDFs and images that tests make
  tesseract-ocr tesseract-ocr-rus                          # OCR; English comes with it
  libreoffice-writer libreoffice-calc libreoffice-impress  # RTF, DOC, ODT, PPT, XLS
  postgresql                                               # the registry on PostgreSQL; tests start their own server
  prometheus                                               # promtool tests the alerts; a test starts its own server
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  apt-get update --quiet --quiet || return 1
  DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends "${missing[@]}"
}
install || echo "missing Debian packages: ${missing[*]} (tests that need them skip)" >&2
