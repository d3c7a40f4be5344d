"""A bisection as text: its points, and the causes of the step."""
