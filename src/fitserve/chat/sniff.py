"""What a file really is, by its first bytes, where people often take it for a picture."""

from __future__ import annotations

_SIGNATURES = (  # (offset, bytes, reason in the catalogue as chat.picture_REASON)
    (0, b"%PDF", "is_pdf"),
    (0, b"PK\x03\x04", "is_archive"),
    (0, b"Rar!", "is_archive"),
    (0, b"\x1f\x8b", "is_archive"),
    (4, b"ftypmp4", "is_video"),
    (4, b"ftypisom", "is_video"),
    (4, b"ftypqt", "is_video"),
    (0, b"\x1aE\xdf\xa3", "is_video"),
)
_HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")


def foreign_format(data: bytes) -> str:
    """`is_pdf`, `is_video`, `is_svg`, `is_archive`, or nothing where it may be a picture."""
    for offset, signature, reason in _SIGNATURES:
        if data[offset : offset + len(signature)] == signature:
            return reason
    head = data[:512].lstrip().lower()
    return "is_svg" if head.startswith((b"<svg", b"<?xml")) and b"<svg" in data[:4096].lower() else ""


def is_heif(data: bytes) -> bool:
    """A telephone's HEIC. AVIF looks much the same, but Pillow reads it itself."""
    return data[4:8] == b"ftyp" and data[8:12] in _HEIF_BRANDS and b"avif" not in data[8:64]
