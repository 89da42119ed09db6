"""Figures and tables of five papers, compared with ours."""
