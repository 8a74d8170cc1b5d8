"""Any image mode to grey on white, and grey to ink."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter, ImageOps

Ink = npt.NDArray[np.bool_]
_DEEP_MODES = ("I", "F")
# Opaque pixels brighter than this on average are light lettering, which vanishes on a white ground.
_LIGHT = 170.0
# Shadows are looked for in squares of this many pixels, over this many squares (about 2 cm at 300 dpi).
_SHADE_STEP = 24
_SHADE_REACH = 9
_PAPER = 96.0
_UNEVEN = 0.85


def grey(image: Image.Image) -> Image.Image:
    """An 8-bit grey image ("L"): EXIF orientation applied, transparency on a ground that shows letters."""
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith(_DEEP_MODES):
        return _deep(image)
    if image.mode in {"RGBA", "LA", "PA", "RGBa", "La"} or "transparency" in image.info:
        return _composed(image.convert("RGBA"))
    return image.convert("L")


def _deep(image: Image.Image) -> Image.Image:
    """16- and 32-bit greys, stretched to the range that is used: their unit is unknown."""
    values = np.asarray(image, dtype=np.float32)
    values = np.nan_to_num(values)
    low, high = float(values.min()), float(values.max())
    if high <= low:
        return Image.new("L", image.size, 255)
    return Image.fromarray(((values - low) * (255.0 / (high - low))).astype(np.uint8))


def _composed(image: Image.Image) -> Image.Image:
    alpha = image.getchannel("A")
    shades = image.convert("L")
    opaque = np.asarray(alpha) > 127
    light = opaque.any() and not opaque.all() and float(np.asarray(shades)[opaque].mean()) > _LIGHT
    ground = Image.new("L", image.size, 0 if light else 255)
    return Image.composite(shades, ground, alpha)


def evened(image: Image.Image) -> Image.Image:
    """A grey image without the shadows of a photographed page: every pixel relative to the paper around it.

    Evenly lit pages come back as they are.
    """
    small = image.resize(
        (max(1, image.width // _SHADE_STEP), max(1, image.height // _SHADE_STEP)), Image.Resampling.BOX
    )
    # The lightest of a neighbourhood is paper; the blur keeps edges of shadows soft.
    paper = small.filter(ImageFilter.MaxFilter(_SHADE_REACH)).filter(ImageFilter.GaussianBlur(2))
    shades = np.asarray(paper)
    dark, light = (float(value) for value in np.percentile(shades, (2, 98)))
    if light < _PAPER or dark > _UNEVEN * light:
        return image
    ground = np.asarray(paper.resize(image.size, Image.Resampling.BILINEAR), dtype=np.float32)
    values = np.asarray(image, dtype=np.float32)
    return Image.fromarray((values * (255.0 / np.maximum(ground, 32.0))).clip(0, 255).astype(np.uint8))


def ink(image: Image.Image) -> Ink:
    """Where a grey image carries ink, shape (height, width); by Otsu's threshold (IEEE SMC 1979).

    On dark pages the light pixels are the ink. An image without contrast has none.
    """
    values = np.asarray(image)
    counts = np.bincount(values.ravel(), minlength=256).astype(np.float64)
    total = counts.sum()
    below = np.cumsum(counts)
    sums = np.cumsum(counts * np.arange(256))
    above = total - below
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.nan_to_num(
            below * above * (sums / below - (sums[-1] - sums) / above) ** 2, posinf=0.0, neginf=0.0
        )
    best = int(between.argmax())
    if between[best] <= 0:
        return np.zeros(values.shape, dtype=np.bool_)
    dark: Ink = values <= best
    return ~dark if dark.mean() > 0.5 else dark


def contrast(image: Image.Image) -> float:
    """Steps of grey, 0 to 255, between the medians of ink and ground; 0 for one shade."""
    values, marks = np.asarray(image), ink(image)
    if not marks.any() or marks.all():
        return 0.0
    return abs(float(np.median(values[marks])) - float(np.median(values[~marks])))
