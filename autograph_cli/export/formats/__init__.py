"""Pictures written down: SVG, PNG, PDF, DOT, Mermaid."""
