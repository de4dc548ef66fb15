"""Two reports of one judge at two times (or of two judges): may they be compared, and what changed between them."""
