"""Small skews of scanned pages, by the projection profile of their ink."""

from __future__ import annotations

import numpy as np
from PIL import Image

from ingest_svc.parsing.ocr.pixels import ink

# Scanners skew by a few degrees; beyond, the page was photographed.
_MAX_ANGLE = 10.0
_WORKING_SIDE = 1000
# Skews below this do not disturb engines, and turning blurs letters.
_MIN_ANGLE = 0.3
# The profile of a straight page must be clearly sharper; noise and photographs have no preferred angle.
_MIN_GAIN = 1.1


def deskewed(image: Image.Image) -> Image.Image:
    """A grey image with its lines of text level, or the same image when they are already."""
    angle = skew(image)
    if abs(angle) < _MIN_ANGLE:
        return image
    return image.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=255)


def skew(image: Image.Image) -> float:
    """Degrees by which a grey image must be turned counter-clockwise to be level, -10 to 10; 0 when unclear.

    The rows of a level page are full or empty, so the squared differences of neighbouring rows' ink peak at
    the right angle (Postl, ICPR 1986).
    """
    scale = min(1.0, _WORKING_SIDE / max(image.size))
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    small = Image.fromarray(ink(image.resize(size, Image.Resampling.BOX)).astype(np.uint8) * 255)
    straight = sharpness(small, 0.0)
    if straight == 0.0:
        return 0.0
    coarse = max(np.arange(-_MAX_ANGLE, _MAX_ANGLE + 0.01, 1.0), key=lambda angle: sharpness(small, angle))
    middle = max(np.arange(coarse - 0.8, coarse + 0.81, 0.2), key=lambda angle: sharpness(small, angle))
    fine = max(np.arange(middle - 0.15, middle + 0.16, 0.05), key=lambda angle: sharpness(small, angle))
    # The first turn alone blurs the profile, so the comparison is with a turn that leads nowhere.
    return float(fine) if sharpness(small, float(fine)) > _MIN_GAIN * straight else 0.0


def sharpness(small: Image.Image, angle: float) -> float:
    """Sharpness of the row profile after turning by `angle` degrees counter-clockwise."""
    turned = small.rotate(angle, Image.Resampling.NEAREST, fillcolor=0) if angle else small
    rows = np.asarray(turned, dtype=np.float64).sum(axis=1)
    return float((np.diff(rows) ** 2).sum())
