"""Reading text from page images: scans, photographs, pages of a PDF without a usable text layer."""
