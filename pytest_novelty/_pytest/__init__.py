"""The pytest shell: thin hooks around the plain objects of the packages above."""
