"""The images: bases that the project makes, and what is built on them."""

from sandboxes.base import ensure_base
from sandboxes.build import BuildResult, build_image, image_exists

__all__ = ["BuildResult", "build_image", "ensure_base", "image_exists"]
